//! Series in columns: Parquet files and Arrow IPC.
//!
//! Each row is a series. A column of text is the label of that name; a column that maps texts to texts holds labels
//! too. NULL and the empty text are no label.
//!
//! # Columns
//!
//! | column | meaning |
//! | --- | --- |
//! | text (`Utf8`, `LargeUtf8`, `Utf8View`, or a dictionary of these) | the label with the name of the column |
//! | map from text to text called `labels`, or the only such map | its entries are labels; a column of text wins over an entry of its name, and the last entry wins over earlier ones |
//! | `timestamp`, with an Arrow `Timestamp` type | time of the row |
//! | others, binary columns included | ignored, and named in a warning |
//!
//! Several rows of one series are samples of it: the store keeps the series once.
//!
//! # Damaged files
//!
//! The decoders of the `parquet` and `arrow-ipc` crates trust lengths and counts, and panic on some damage. Therefore
//! this module reads the frames of both formats itself: it checks all claimed sizes before these crates allocate
//! memory for them. It also turns their panics into errors.
//!
//! | module | contents |
//! | --- | --- |
//! | `schema` | columns of a schema that are labels |
//! | `texts` | texts of a column |
//! | `rows` | rows of a batch to series |
//! | `ipc` | messages of Arrow IPC |
//! | `arrow_file` | Arrow files by their footers |
//! | `body` | sizes that a message claims |
//! | `parquet` | Parquet files |
//! | `guard` | panics of decoders as errors |
//! | `error` | errors |

mod arrow_file;
mod body;
mod error;
mod guard;
mod ipc;
pub(crate) mod parquet;
mod rows;
mod schema;
mod texts;

pub(crate) use arrow_file::ArrowFile;
pub(crate) use error::found;
pub use error::{ArrowFileError, ColumnsError, ParquetError, SchemaError};
pub use guard::silence_guarded_panics;
pub(crate) use ipc::{MessageDecoder, STREAM_START, body_len, is_schema, metadata_len};
pub(crate) use rows::RowsError;
