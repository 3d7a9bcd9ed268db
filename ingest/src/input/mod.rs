//! Inputs: opened, decompressed, recognised, and cut into records.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `source` | [`Source`], a file or standard input, decompressed, that knows its position |
//! | `detect` | what the first bytes say: compression, [`Format`], framing |
//! | `record` | [`Records`], one record after the other |
//! | `found` | results of reading a record |
//! | `ahead` | reading on a thread of its own |
//! | `lines` | records that are lines |
//! | `frames` | records with their length before them, and the one that is a whole input |
//! | `values` | records that are values of JSON over many lines |
//! | `elements` | records that are elements of a JSON array |
//! | `depth` | where values of JSON begin and end |
//!
//! Nothing is kept of an input but the current record, and a record is bounded: memory does not depend on how
//! much there is, or how much a small compressed file expands to.

mod ahead;
mod depth;
mod detect;
mod elements;
mod found;
mod frames;
mod lines;
mod record;
mod source;
mod values;

pub(crate) use ahead::{Ahead, ReadAhead};
pub use detect::Format;
pub use record::{Record, RecordContent, Records};
pub use source::{Compression, Position, Source};
