//! From a row to its labels.
//!
//! | module | contents |
//! |---|---|
//! | `walk` | the labels of a row, each with the column that holds it |
//! | `table_keys` | [`TableKeys`]: the keys of a table |
//! | `path` | the paths to the labels of a keyset |
//! | `label` | labels as ids, bytes and text |
//! | `series` | [`Series`]: labels of a series |
//! | `text` | [`Text`]: labels as `&str` |
//! | `resolver` | [`Resolver`]: labels of many series |

mod label;
mod path;
mod resolver;
mod series;
mod table_keys;
mod text;
mod walk;

pub use label::{Label, LabelIds, TextLabel};
pub use resolver::Resolver;
pub(crate) use series::compare_keys;
pub use series::{KeysetSeries, LabelIdsIter, Labels, Series, SeriesIter};
pub use table_keys::TableKeys;
pub use text::{Text, TextLabels};
