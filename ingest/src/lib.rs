//! Turns OTLP and Prometheus captures into blocks.
//!
//! A capture is a file of records: requests of OTLP, or series of Prometheus. Each is decoded into labels, which go
//! into a labelset store; the store is sealed into a block, which is published. The command is `chronoxide-ingest`;
//! this library is what it is made of, and what fuzzers and benches call. What is dropped, shadowed, cut or skipped is
//! counted by reason.
//!
//! Data flows from the top of this table to its end:
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`input`] | inputs opened, decompressed, recognised, cut into records |
//! | [`otlp`] | a request of OTLP, as JSON or protobuf: its parts, and the text of its attributes |
//! | [`prometheus`] | what Prometheus writes: text, requests of remote write, blocks of its TSDB |
//! | [`protobuf`] | messages of protobuf, field by field |
//! | [`series`] | what takes series that come as labels |
//! | [`series_json`] | an object of label to value |
//! | `decode` | records of every format, given to one sink |
//! | [`assemble`] | the labels of a point, and which attribute wins; series to windows and blocks |
//! | [`ingest`] | a run over inputs, with what is broken or torn |
//! | [`names`] | names of OpenTelemetry as names of Prometheus |
//! | [`report`] | what a run did and left out |
//! | [`timings`] | how long records and points took |
//! | [`error`] | what stops it |
//!
//! ```
//! use chronoxide_ingest::{Ingest, IngestOptions, input::Source};
//!
//! let capture = br#"{"resourceMetrics":[{
//!     "resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}}]},
//!     "scopeMetrics":[{"metrics":[{"name":"up","gauge":{"dataPoints":[{"timeUnixNano":"1732919138215841244"}]}}]}]}]}"#;
//! let line = capture.iter().copied().filter(|&byte| byte != b'\n').collect::<Vec<u8>>();
//!
//! let mut ingest = Ingest::new(IngestOptions::default(), Vec::new());
//! ingest.read(Source::new("capture".to_owned(), std::io::Cursor::new(line))?)?;
//! let (report, blocks) = ingest.finish()?;
//! assert_eq!((report.points, report.series, blocks.len()), (1, 1, 1));
//! # Ok::<(), chronoxide_ingest::IngestError>(())
//! ```

pub mod assemble;
mod decode;
pub mod error;
pub mod ingest;
pub mod input;
pub mod names;
pub mod otlp;
pub mod prometheus;
pub mod protobuf;
pub mod report;
pub mod series;
pub mod series_json;
pub mod timings;

pub use assemble::{AssembleError, AssembleOptions, Assembler, BlockSink, SealedBlock};
pub use error::{BrokenRecord, DecodeError, IngestError};
pub use ingest::{DEFAULT_MAX_RECORD_LEN, Ingest, IngestOptions, Progress};
pub use report::{Report, Warning};
pub use series::SeriesSink;
pub use timings::Timings;
