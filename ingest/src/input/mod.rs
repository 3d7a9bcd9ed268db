//! Inputs: opened, decompressed, recognised, and cut into records.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `source` | [`Source`], a file or standard input, decompressed, that knows its position |
//! | `detect` | what the first bytes say: compression, [`Format`], framing |
//! | `record` | [`Records`], one record after the other |
//! | `lines` | records that are lines |
//! | `elements` | records that are elements of a JSON array |
//!
//! Nothing is kept of an input but the current record, and a record is bounded: memory does not depend on how
//! much there is, or how much a small compressed file expands to.

mod detect;
mod elements;
mod lines;
mod record;
mod source;

pub use detect::Format;
pub use record::{Record, RecordContent, Records};
pub use source::{Compression, Source};
