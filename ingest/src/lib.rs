//! Turns OTLP and Prometheus captures into blocks.
//!
//! A capture is a file of records: requests of OTLP, or series of Prometheus. Each is decoded into labels, which go into a
//! labelset store; the store is sealed into a block, which is published. The command is `chronoxide-ingest`; this
//! library is what it is made of, and what fuzzers and benches call. What is dropped, shadowed, cut or skipped is
//! counted by reason.
//!
//! Data flows from the top of this table to its end:
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`input`] | inputs opened, decompressed, recognised, cut into records |
//! | [`otlp`] | a request of OTLP as JSON: its parts, and the text of its attributes |
//! | [`series_json`] | an object of label to value |
//! | [`error`] | what stops it |

pub mod error;
pub mod input;
pub mod otlp;
pub mod series_json;

pub use error::{BrokenRecord, DecodeError, IngestError};
