//! Errors of Parquet and Arrow inputs.

use std::io;

use chronoxide_text::human::size;

/// Error of a schema whose columns cannot be labels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// No column holds labels.
    #[error(
        "no column holds labels: expected columns of text, or a map `labels` from text to text; found {}",
        found(columns)
    )]
    NoLabels {
        /// Columns with their types.
        columns: Vec<String>,
    },
    /// A file of parquet-common has chunks only.
    #[error("chunks of series without their labels, which are in the labels file beside it")]
    ChunksOnly,
    /// Two columns of text have the same name.
    #[error("two columns are called {name:?}")]
    DuplicateColumn {
        /// Name of the columns.
        name: String,
    },
}

/// Lists columns for a message. Shows at most 5.
pub(crate) fn found(columns: &[String]) -> String {
    const SHOWN: usize = 5;
    match columns {
        [] => "no columns".to_owned(),
        columns if columns.len() <= SHOWN => columns.join(", "),
        columns => format!(
            "{} and {} more",
            columns.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", "),
            columns.len() - SHOWN
        ),
    }
}

/// Error of a batch of rows, or of a message of Arrow IPC.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnsError {
    /// The schema has no labels, or ambiguous ones.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The message does not follow Arrow's rules of encapsulation.
    #[error("{0}")]
    Message(&'static str),
    /// A decoder refuses the data.
    #[error("{0}")]
    Data(String),
    /// A decoder panics on the data.
    #[error("cannot be decoded: {0}")]
    Panic(String),
    /// Decoded data would take too much memory.
    #[error("{what} would take {} of memory, more than {} (--max-record-size)", size(*len), size(*limit))]
    TooLarge {
        /// The part that is too large.
        what: &'static str,
        /// Claimed length in bytes.
        len: u64,
        /// Maximum length in bytes.
        limit: u64,
    },
    /// A label name or value is not UTF-8.
    #[error("row {row}: the {part} in column {column:?} is not valid UTF-8")]
    Utf8 {
        /// Row within the batch or row group, from 1.
        row: u64,
        /// `value` or `key`.
        part: &'static str,
        /// Name of the column.
        column: String,
    },
    /// A record of CSV has another number of fields than the header.
    #[error("{found} field{}, but the header has {expected}", if *found == 1 { "" } else { "s" })]
    Fields {
        /// Number of fields, or one more than expected if there are more.
        found: usize,
        /// Number of names in the header.
        expected: usize,
    },
    /// The last record of CSV is a part of one.
    #[error("the record is cut off")]
    CutOff,
    /// A key of a map is NULL.
    #[error("row {row}: a key in column {column:?} is NULL")]
    NullKey {
        /// Row within the batch or row group, from 1.
        row: u64,
        /// Name of the column.
        column: String,
    },
}

impl ColumnsError {
    /// Returns true if the input is sound, but not one that can be read.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::Schema(_))
    }

    /// Adds the number of rows before the batch to the row of the error.
    pub(crate) fn after_rows(mut self, before: u64) -> Self {
        if let Self::Utf8 { row, .. } | Self::NullKey { row, .. } = &mut self {
            *row += before;
        }
        self
    }
}

/// Error of reading rows. `E` is the error of the sink.
pub(crate) enum RowsError<E> {
    Columns(ColumnsError),
    Sink(E),
}

impl<E> From<ColumnsError> for RowsError<E> {
    fn from(error: ColumnsError) -> Self {
        Self::Columns(error)
    }
}

/// Rows that were skipped because of a bad value.
#[derive(Debug, Default)]
pub(crate) struct SkippedRows {
    /// Number of rows.
    pub(crate) count: u64,
    /// Reasons of the first rows.
    pub(crate) reasons: Vec<ColumnsError>,
}

/// Error of a Parquet file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParquetError {
    /// An input without random access cannot be copied to a temporary file.
    #[error("cannot copy the input to a temporary file; give Parquet files by their path, not compressed")]
    Copy(#[source] io::Error),
    /// The file cannot be read.
    #[error("cannot read at byte {offset}")]
    Read {
        /// Position in the file.
        offset: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file does not end with a footer.
    #[error("the file has no footer at its end, without which no row can be found: it is truncated or damaged")]
    NoFooter,
    /// The file is encrypted.
    #[error("the file is encrypted, which is not supported")]
    Encrypted,
    /// The footer is damaged.
    #[error("the footer is damaged")]
    Footer(#[source] ColumnsError),
    /// The columns are not labels.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A row group is damaged, or exceeds a limit.
    #[error("row group {number} cannot be read after {rows} of its rows")]
    RowGroup {
        /// Number of the row group, from 1.
        number: u64,
        /// Rows of the group that were read.
        rows: u64,
        /// Reason.
        source: ColumnsError,
    },
}

/// Error of an Arrow file that is read by its footer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArrowFileError {
    /// An input without random access cannot be copied to a temporary file.
    #[error("cannot copy the input to a temporary file; give Arrow files by their path, not compressed")]
    Copy(#[source] io::Error),
    /// The file cannot be read.
    #[error("cannot read")]
    Read(#[source] io::Error),
    /// The file does not end with a footer.
    #[error("the stream in the file has no schema, and the file has no footer at its end: it is truncated or damaged")]
    NoFooter,
    /// The footer is damaged, or its columns are not labels.
    #[error("the footer cannot be used")]
    Footer(#[from] ColumnsError),
}
