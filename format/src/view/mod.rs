//! Reading of blocks: symbols, tables, keysets, series, lookups.
//!
//! [`BlockView::open`] checks header, directory and the extent of each section. Every later access is checked against
//! its section, for any bytes. Nothing is allocated, except for the order of refs in [`Resolver::resolve_many`].
//! [`BlockView::verify`] checks every rule of the spec.
//!
//! | module | contents |
//! |---|---|
//! | `block` | [`BlockView`]: counts, tables, series |
//! | `key` | label keys and their dictionaries |
//! | `find` | search for the series with given labels |
//! | `series` | [`Series`]: labels of a series |
//! | `resolver` | [`Resolver`]: labels of many series |
//! | `fields` | where the codes of labels are stored, cached |
//! | `values` | names and values of labels, cached |
//! | `walk` | the labels of a row, each with the column that holds it |
//! | `label` | labels as ids, bytes and text |
//! | `text` | [`Text`]: labels as `&str` |
//! | `keyset` | keysets and their anchors |
//! | `leaves` | [`Leaves`]: the keys of a table |
//! | `table` | [`Table`]: rows of codes |
//! | `rows` | codes of many rows at once |
//! | `pool` | lists of rows |
//! | `symbol` | [`Symbols`]: symbols by id, ids by symbol |
//! | `meta` | [`Meta`]: counts, times, origin, annotations |
//! | `metrics` | [`Metrics`]: type, unit and description of metrics |
//! | `owned_meta` | [`OwnedMeta`]: a copy of both that was checked against the block's id |
//! | `frame` | [`Frame`]: the place of each section and array |
//! | `record` | arrays of bit-packed records |
//! | `shape` | columns and leaves of a table |
//! | `until_error` | iteration that ends after an error |

mod block;
mod fields;
mod find;
mod frame;
mod key;
mod keyset;
mod label;
mod leaves;
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
mod values;
mod walk;

pub use block::{BlockView, ReadOnly, Section, Sections};
pub use find::FindError;
pub use frame::Frame;
pub use keyset::Keyset;
pub use label::{Label, LabelIds, TextLabel};
pub use leaves::Leaves;
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
