//! Inputs: opening, decompression, detection of formats, and reading of records.
//!
//! | module | contents |
//! | --- | --- |
//! | `source` | [`Source`], a file or standard input, decompressed, that knows its position |
//! | `detect` | detection of [`Format`] and framing |
//! | `content` | decompression, frame by frame |
//! | `start` | first record of content that begins with cut or damaged bytes |
//! | `record` | [`Records`], the records of an input |
//! | `found` | results of reading a record |
//! | `ahead` | reading on a separate thread, and decoding on others |
//! | `batch` | records between threads |
//! | `gate` | bound of the bytes between threads |
//! | `workers` | threads that decode |
//! | `lines` | records that are lines of text |
//! | `csv_records` | records of CSV |
//! | `frames` | length-prefixed records, and inputs that are one record |
//! | `values` | records that are JSON values over many lines |
//! | `elements` | records that are elements of a JSON array |
//! | `depth` | nesting of JSON values |
//! | `messages` | records that are messages of Arrow IPC |
//! | `chunks` | parts of a file that needs random access |
//!
//! Memory is bounded by the maximum length of a record, whatever the length of an input or the ratio of its
//! compression.

mod ahead;
mod batch;
mod chunks;
mod content;
mod csv_records;
mod depth;
mod detect;
mod elements;
mod found;
mod frames;
mod gate;
mod lines;
mod messages;
mod record;
mod source;
mod start;
mod values;
mod workers;

pub(crate) use ahead::{Ahead, Decoding, ReadAhead};
pub(crate) use batch::BatchRecord;
pub use content::decompress;
pub use detect::Format;
pub use record::{Record, RecordContent, Records};
pub use source::{Compression, Position, Source};
