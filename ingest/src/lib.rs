//! Turns captures of OTLP and Prometheus, and tables of series, into blocks.
//!
//! A capture is a file of records, such as OTLP requests or lines of exposition text. Records are decoded to labels,
//! which a labelset store interns; the store is sealed into blocks. Dropped, shadowed, truncated and skipped data is
//! counted by reason. The command `chronoxide-ingest` is built on this library.
//!
//! Data flows from the top of this table to its end:
//!
//! | module | contents |
//! | --- | --- |
//! | [`input`] | inputs: decompression, detection of formats, records |
//! | [`otlp`] | requests of OTLP, as JSON or protobuf |
//! | [`prometheus`] | formats of Prometheus: exposition formats, remote write, TSDB |
//! | [`protobuf`] | messages of protobuf, field by field |
//! | [`series`] | the sink of series with labels |
//! | [`series_json`] | JSON objects of label names and values |
//! | `series_csv` | records of CSV |
//! | [`columns`] | rows of Parquet files and Arrow IPC |
//! | `surrogates` | escapes of JSON that are half of a character |
//! | `invalid` | texts of JSON that are not UTF-8 |
//! | `decoded` | decoded records as arrays, which threads give to each other |
//! | `decode` | decoding of records of any format |
//! | [`assemble`] | points to labels, series to windows and blocks |
//! | [`ingest`] | a run over inputs |
//! | [`publish`] | files of blocks, verified before they get their names |
//! | [`names`] | translation of OpenTelemetry names to Prometheus names |
//! | [`report`] | counts and warnings of a run |
//! | [`timings`] | times of records and points |
//! | [`error`] | errors |
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
pub mod columns;
mod decode;
mod decoded;
pub mod error;
pub mod ingest;
pub mod input;
mod invalid;
pub mod names;
pub mod otlp;
pub mod prometheus;
pub mod protobuf;
pub mod publish;
pub mod report;
pub mod series;
mod series_csv;
pub mod series_json;
mod surrogates;
pub mod timings;

pub use assemble::{AssembleError, AssembleOptions, Assembler, BlockSink, SealedBlock};
pub use error::{BrokenRecord, DecodeError, IngestError};
pub use ingest::{DEFAULT_MAX_RECORD_LEN, Ingest, IngestOptions, Progress};
pub use report::{Report, Warning};
pub use series::SeriesSink;
pub use timings::Timings;
