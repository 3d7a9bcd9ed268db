//! Meaning as a block's bytes.
//!
//! [`BlockBuilder`] takes symbols, dictionaries, tables, lists and keysets in the order of the file and packs each at
//! once. Besides the bytes it holds one fingerprint per row of dictionaries and inner tables. It rejects items that
//! break the order or the limits of the format. [`crate::verify`] checks that every item is used.
//!
//! | module | contents |
//! |---|---|
//! | `builder` | [`BlockBuilder`] |
//! | `limits` | [`Limits`]: largest counts and lengths |
//! | `symbols` | the arena and the starts of its symbols |
//! | `graph` | tables and pools that were pushed, as later tables need them |
//! | `members` | lists and anchors |
//! | `table` | columns, widths and rows of a table |
//! | `catalogue` | records of the catalogue |
//! | `meta` | [`BlockMeta`]: metadata from the writer |
//! | `metrics` | packing of metric metadata |
//! | `numbers`, `values` | packing of number arrays, and of series columns |
//! | `series_values` | [`SeriesValues`]: values in any order of series |
//! | `prepared` | [`PreparedBlock`]: a block whose rows are written later |
//! | `file` | sections and their checksums |
//! | `assemble` | [`assemble`]: a file from complete sections, and its id |

mod assemble;
mod builder;
mod catalogue;
mod error;
mod file;
mod graph;
mod limits;
mod members;
mod meta;
mod metrics;
mod numbers;
mod prepared;
mod series_values;
mod symbols;
mod table;
mod values;

pub use assemble::{SectionBytes, assemble};
pub use builder::BlockBuilder;
pub use catalogue::{Records, ShapeRecord};
pub use error::BuildError;
pub use limits::Limits;
pub use meta::{BlockMeta, CarriedSections};
pub use metrics::MetricRecords;
pub use prepared::{PackedRows, PreparedBlock, RowSink};
pub use series_values::SeriesValues;
pub use table::{KeysetOutline, RowPacker};
pub use values::{ColumnWriter, PackedColumn};
