//! Series in columns: Parquet files and Arrow IPC.
//!
//! Each row is a series. A column of text is the label of that name; columns that map texts to texts hold labels too.
//! NULL and the empty text are no label.
//!
//! # Columns
//!
//! | column | meaning |
//! | --- | --- |
//! | text (`Utf8`, `LargeUtf8`, `Utf8View`, or a dictionary of these) | the label with the name of the column |
//! | binary | the same, if most values of the first batch are text |
//! | map from text to text, list of pairs of texts, struct of texts | its entries are labels; a column of text wins over an entry of its name, and the last entry wins over earlier ones. If one is called `labels`, the others are ignored |
//! | `timestamp`, with an Arrow `Timestamp` type | time of the row |
//! | integers | a series column of the blocks: `i64` if signed, and otherwise `u64`; not `series_ref` of exports |
//! | other `Timestamp` types | a series column, in nanoseconds since 1970 |
//! | binary with the metadata `chronoxide.merge` | a series column of bytes |
//! | others | ignored, and named in a warning |
//!
//! The [metadata](chronoxide_format::column::field_key) of a field gives the way to merge and the unit of a series
//! column. Without it, the last row of a series wins. The columns of times of the registry have theirs always.
//!
//! Tables of some programs are recognized by the names of their columns, which then have another meaning: see `layout`.
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
//! | `layout` | meaning of columns in tables of other programs |
//! | `texts` | texts of a column |
//! | `values` | series columns and their values |
//! | `entries` | entries of a column of maps |
//! | `rows` | rows of a batch to series |
//! | `ipc` | messages of Arrow IPC |
//! | `arrow_file` | Arrow files by their footers |
//! | `body` | sizes that a message claims |
//! | `parquet` | Parquet files |
//! | `guard` | panics of decoders as errors |
//! | `error` | errors |

mod arrow_file;
mod body;
mod entries;
mod error;
mod guard;
mod ipc;
mod layout;
pub(crate) mod parquet;
mod rows;
mod schema;
mod texts;
mod values;

pub(crate) use arrow_file::ArrowFile;
pub(crate) use error::found;
pub use error::{ArrowFileError, ColumnsError, ParquetError, SchemaError};
pub use guard::silence_guarded_panics;
pub(crate) use ipc::{MessageDecoder, STREAM_START, body_len, is_schema, metadata_len};
pub(crate) use rows::{RowsError, SkippedRows};
