//! Choices of arguments, with their help: the libraries know no clap.

use chronoxide_dump::series::Format as Series;
use chronoxide_dump::tables::TableKind;
use chronoxide_inspect::export::Format as Export;
use clap::ValueEnum;

/// `--format` of series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SeriesFormat {
    /// `name="value"` for each label, after the ref if the only argument is a file
    Table,
    /// One JSON object of labels per line, as `chronoxide-ingest` reads it (series-json)
    SeriesJson,
    /// Prometheus's notation: `name{label="value"}`
    Prometheus,
}

impl From<SeriesFormat> for Series {
    fn from(format: SeriesFormat) -> Self {
        match format {
            SeriesFormat::Table => Self::Table,
            SeriesFormat::SeriesJson => Self::SeriesJson,
            SeriesFormat::Prometheus => Self::Prometheus,
        }
    }
}

/// `--format` of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Parquet: zstd, dictionary pages, strings
    Parquet,
    /// Arrow IPC file: zstd, one dictionary per label; on standard output a stream
    Arrow,
    /// Comma-separated values with a header; an absent label is an empty field. See --csv-safe for spreadsheets
    Csv,
    /// One JSON object per line; absent labels are left out
    #[value(alias = "ndjson")]
    Jsonl,
    /// The index of a block of Prometheus, of a block with chunk lists; and beside it `tombstones`, if samples are
    /// deleted
    TsdbIndex,
}

impl ExportFormat {
    /// Returns the format of a table, or `None` for an index.
    pub(crate) fn table(self) -> Option<Export> {
        match self {
            Self::Parquet => Some(Export::Parquet),
            Self::Arrow => Some(Export::Arrow),
            Self::Csv => Some(Export::Csv),
            Self::Jsonl => Some(Export::Jsonl),
            Self::TsdbIndex => None,
        }
    }
}

/// `--kind` of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// The values of a label key
    Dictionary,
    /// Some of the rows of another table
    Map,
    /// Rows of several columns that other tables, or lists, refer to
    Shared,
    /// The series of a keyset, or their prefixes
    Keyset,
}

impl From<Kind> for TableKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Dictionary => Self::Dictionary,
            Kind::Map => Self::Map,
            Kind::Shared => Self::Shared,
            Kind::Keyset => Self::Keyset,
        }
    }
}
