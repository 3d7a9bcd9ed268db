//! The parts of a block: sections, symbols, keys, tables, lists and keysets.
//!
//! | module | contents |
//! |---|---|
//! | `until_error` | iteration that ends after an error |
//! | `record`, `shape` | arrays of bit-packed records; columns and leaves of a table |
//! | `symbol` | [`Symbols`]: symbols by id, ids by symbol |
//! | `meta`, `metrics` | [`Meta`]: counts, times, origin, annotations; [`Metrics`]: type, unit and description of metrics |
//! | `frame` | [`Frame`]: the place of each section and array |
//! | `block` | [`BlockView`]: sections, counts, tables and keysets |
//! | `owned_meta` | [`OwnedMeta`]: a copy of meta and metrics that was checked against the block's id |
//! | `table`, `columns` | [`Table`]: rows of codes; codes of many rows at once |
//! | `map` | tables of one column over a dictionary |
//! | `key` | label keys and their dictionaries |
//! | `pool` | lists of rows |
//! | `keyset` | keysets and their anchors |
//! | `paths` | [`Paths`]: entries of the catalogue and paths to labels, kept |

mod block;
mod columns;
mod frame;
mod key;
mod keyset;
mod map;
mod meta;
mod metrics;
mod owned_meta;
mod paths;
mod pool;
mod record;
mod shape;
mod symbol;
mod table;
mod until_error;

pub use block::{BlockView, ReadOnly, Section, Sections};
pub(crate) use columns::BLOCK_ROWS;
pub use frame::Frame;
pub use keyset::Keyset;
pub(crate) use map::Map;
pub use meta::{Job, Meta, Pairs, TimeRange};
pub use metrics::{MetricRows, Metrics};
pub use owned_meta::OwnedMeta;
pub use paths::Paths;
pub(crate) use paths::{DIRECT_CODES, LabelPath, PartSource, PathField, PathPart, ROW_IS_CODE};
pub use pool::{List, Pool};
pub(crate) use record::Records;
pub(crate) use shape::{ColumnWalk, LeafWalk};
pub use symbol::Symbols;
pub(crate) use symbol::binary_search;
pub(crate) use table::code;
pub use table::{Column, Domain, Table};
