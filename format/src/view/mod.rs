//! A block's bytes as meaning: symbols, tables, keysets, series, lookups.
//!
//! [`BlockView::open`] checks header, directory and the extent of each section; from then on every access is checked
//! against its section, whatever the bytes say, and nothing is allocated. What the bytes *should* say is checked by
//! [`BlockView::verify`].
//!
//! | module | what it is for |
//! |---|---|
//! | `frame` | where everything lies, checked once |
//! | `block` | the view: counts, series, lookups |
//! | `record` | the catalogue's arrays of bit-packed records |
//! | `shape` | the columns of a table and the order of its leaves |
//! | `symbol` | symbols by id, ids by symbol |
//! | `table` | rows of codes |
//! | `rows` | many of them at a time |
//! | `pool` | lists of rows |
//! | `keyset` | keysets and their anchors |
//! | `series` | from a series ref to labels |
//! | `resolver` | the same for many series, remembering what they share |
//! | `find` | from labels to a series ref |
//! | `meta` | what the block says of itself |
//! | `metrics` | what it says of its metrics |
//! | `owned_meta` | both in memory of their own, proved to be what the id was derived from |
//! | `text` | the same labels as `&str` |

mod block;
mod find;
mod frame;
mod key;
mod keyset;
mod label;
mod meta;
mod metrics;
mod owned_meta;
mod pool;
mod record;
mod resolver;
mod rows;
mod series;
mod shape;
mod symbol;
mod table;
mod text;
mod until_error;

pub use block::{BlockView, Section, Sections};
pub use find::FindError;
pub use frame::Frame;
pub use keyset::{Keyset, Leaves};
pub use label::{Label, LabelIds, TextLabel};
pub use meta::{Job, Meta, Pairs, TimeRange};
pub use metrics::{MetricRows, Metrics};
pub use owned_meta::OwnedMeta;
pub use pool::{List, Pool};
pub(crate) use record::Records;
pub use resolver::Resolver;
pub(crate) use rows::BLOCK_ROWS;
pub use series::{KeysetSeries, LabelIdsIter, Labels, Series, SeriesIter};
pub use symbol::Symbols;
pub use table::{Column, Domain, Table};
pub use text::{Text, TextLabels};
