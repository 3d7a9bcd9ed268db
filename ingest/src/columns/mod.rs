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
//! The feature `tables`, which is on by default, has the decoders of both formats. Without it their inputs are
//! recognized, and refused.
//!
//! # Damaged files
//!
//! The decoders of the `parquet` and `arrow-ipc` crates trust lengths and counts, and panic on some damage. Therefore
//! `tables` reads the frames of both formats itself: it checks all claimed sizes before these crates allocate
//! memory for them. It also turns their panics into errors.
//!
//! | module | contents |
//! | --- | --- |
//! | `tables` | decoders of both formats |
//! | `absent` | stand-ins for them without the feature `tables` |
//! | `prefix` | first bytes, by which inputs are recognized |
//! | `error` | errors |

#[cfg(not(feature = "tables"))]
mod absent;
mod error;
mod prefix;
#[cfg(feature = "tables")]
mod tables;

#[cfg(not(feature = "tables"))]
pub(crate) use absent::{MessageDecoder, body_len, is_schema};
pub use error::{ArrowFileError, ColumnsError, ParquetError, SchemaError};
pub(crate) use error::{RowsError, SkippedRows, found};
pub(crate) use prefix::{PARQUET_MAGIC, PREFIX_LEN, STREAM_START, metadata_len};
#[cfg(feature = "tables")]
pub use tables::silence_guarded_panics;
#[cfg(feature = "tables")]
pub(crate) use tables::{ArrowFile, MessageDecoder, ParquetFile, body_len, is_schema};

/// Reason why Parquet files and Arrow IPC are refused where the feature `tables` is off.
pub(crate) const ABSENT: &str = "a table of Parquet or Arrow, which this build does not read (feature `tables`)";
