//! Answers about the series of one block: their values and counts, labels and groups, pages and order.
//!
//! | module | content |
//! |---|---|
//! | `label_values` | values of a label |
//! | `tally` | [`Tally`]: series per keyset, key and value; names of labels |
//! | `pages` | [`Pages`]: selected series in parts of bounded memory |
//! | `find`, `find_many` | searches for one labelset, and for many at once |
//! | `project` | [`Projection`], [`Groups`], [`SeriesProducts`], [`StoredBytes`], [`TextBytes`] and fingerprints: labels of many series, on codes |
//! | `label_order` | [`LabelOrder`]: series in the order of their labels |

mod find;
mod find_many;
mod label_order;
mod label_values;
mod pages;
pub(crate) mod project;
mod tally;

pub use find_many::FindManyError;
pub use label_order::LabelOrder;
pub use label_values::{ValueCounts, ValueRange};
pub use pages::Pages;
pub use project::{Groups, Labels, Projection, SeriesProducts, StoredBytes, TextBytes};
pub use tally::Tally;
