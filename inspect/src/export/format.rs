//! [`Format`]: formats of exports.

use std::path::Path;

use chronoxide_arrow::Strings;

/// Format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Parquet: zstd, dictionary pages, strings
    Parquet,
    /// Arrow IPC file: zstd, one dictionary per label; on standard output a stream
    Arrow,
    /// Arrow IPC stream.
    ArrowStream,
    /// Comma-separated values with a header; an absent label is an empty field
    Csv,
    /// CSV in which no cell is a formula: one that begins with `=`, `+`, `-`, `@`, a tab or a carriage return gets an
    /// apostrophe before it, which spreadsheets take for the mark of text. Other readers see it as part of the value.
    SafeCsv,
    /// One JSON object per line; absent labels are left out
    Jsonl,
}

impl Format {
    /// Returns the format that the extension of a file name stands for.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "parquet" => Some(Self::Parquet),
            "arrow" | "feather" => Some(Self::Arrow),
            "arrows" => Some(Self::ArrowStream),
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            _ => None,
        }
    }

    /// Returns the type of columns of labels. Arrow files keep dictionaries; the other writers take strings faster.
    pub(super) const fn strings(self) -> Strings {
        match self {
            Self::Arrow | Self::ArrowStream => Strings::Dictionary,
            _ => Strings::View,
        }
    }

    /// Returns the memory that a batch takes per series and column, in bytes.
    pub(super) const fn bytes_per_cell(self) -> usize {
        match self.strings() {
            Strings::Dictionary => 4,
            Strings::View => 16,
        }
    }
}
