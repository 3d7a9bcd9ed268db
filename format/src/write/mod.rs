//! Meaning as a block's bytes.
//!
//! [`BlockBuilder`] takes symbols, dictionaries, tables, lists and keysets in the order of the file and packs each at once, so that what it
//! holds besides the bytes is one fingerprint per row of dictionaries and inner tables. It refuses what would break the order or the limits of
//! the format; that everything given is also used, [`crate::verify`] checks.
//!
//! | module | what it is for |
//! |---|---|
//! | `builder` | the builder, and what it refuses |
//! | `symbols` | the arena and the starts of its symbols |
//! | `graph` | tables and pools built already, and what later ones make of them |
//! | `members` | lists and anchors |
//! | `table` | columns, widths and rows of a table |
//! | `catalogue` | the catalogue's records, packed |
//! | `meta` | what the writer says of the block |
//! | `metrics` | what is known about metrics |
//! | `prepared` | a block of which all is known but rows that are written later |
//! | `file` | sections to a file with its checksums |
//! | `assemble` | the same for sections that are there already |

mod assemble;
mod builder;
mod catalogue;
mod error;
mod file;
mod graph;
mod members;
mod meta;
mod metrics;
mod prepared;
mod symbols;
mod table;

pub use assemble::{SectionBytes, assemble};
pub use builder::BlockBuilder;
pub use catalogue::{Records, ShapeRecord};
pub use error::BuildError;
pub use meta::BlockMeta;
pub use metrics::MetricRecords;
pub use prepared::{PackedRows, PreparedBlock, RowSink};
pub use table::{KeysetOutline, RowPacker};
