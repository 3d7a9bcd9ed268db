//! Arguments of the command `export`.

use std::path::{Path, PathBuf};

use chronoxide_compactor::KeptColumns;
use chronoxide_inspect::export::Format;
use chronoxide_text::escape::Escaped;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::inspect::choices::ExportFormat;
use crate::inspect::commands::arguments::Asked;
use crate::{Exit, Failure, warn_of_extension};

pub(crate) const EXPORT: &str = "\
Examples:
  chronoxide-inspect export week.cx -o week.parquet
  chronoxide-inspect export week.cx -o pods.csv --match '{job=\"api\"}' --columns __name__,pod,zone
  chronoxide-inspect export week.cx --format jsonl | jq -r .instance
  chronoxide-inspect export week.cx -o week.csv --csv-safe
  chronoxide-inspect export week.cx -o week.arrow --map
  chronoxide-inspect export week.cx -o times.csv --columns __name__,pod,chronoxide.last_time
  chronoxide-inspect export day.cx -o hour.parquet --min-time 2025-11-11T09:00:00Z --max-time 2025-11-11T10:00:00Z
  chronoxide-inspect export labels.cx --format tsdb-index -o data/01K9S5Q980V63QXKKD6T5AR6KF/index
  duckdb -c \"SELECT job, count(*) FROM 'week.parquet' GROUP BY job\"

`series_ref` is the number of the series in the block. If a label has this name, the column of refs is named \
`_series_ref`. A series column whose name another column has gets underscores in the same way.

parquet and arrow have the series columns of the block behind the labels, with their ways to merge and units as \
metadata of the fields; `chronoxide-inspect columns` lists them. csv and jsonl have those that --columns or \
--keep-column names: times as RFC 3339, bytes as hexadecimal digits.";

#[derive(Args)]
pub(crate) struct ExportArguments {
    /// The block; `-` is standard input
    #[arg(value_name = "BLOCK")]
    pub(crate) block: PathBuf,
    /// File to write; `-`, the default, is standard output (csv, jsonl, and arrow as a stream)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Format; by default, that of the extension of FILE: .parquet, .arrow, .csv or .jsonl
    #[arg(long, value_enum)]
    pub(crate) format: Option<ExportFormat>,
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Columns in this order: names of labels and of series columns, and `series_ref`; by default all, `series_ref`
    /// first
    ///
    /// Names are separated by commas, or the option is repeated. A label that the block does not have is an empty
    /// column, with a note.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub(crate) columns: Vec<String>,
    /// Write, besides the labels, only this series column, or another --keep-column. `*` at the end stands for any
    /// text: 'chronoxide.*'
    #[arg(long = "keep-column", value_name = "COLUMN", conflicts_with = "columns")]
    pub(crate) keep_columns: Vec<String>,
    /// Leave out a series column, which may end in `*`; may be repeated
    #[arg(long = "drop-column", value_name = "COLUMN", conflicts_with = "columns")]
    pub(crate) drop_columns: Vec<String>,
    /// Write all labels as a map in the column `labels`, after `series_ref`; not for csv
    #[arg(long, conflicts_with = "columns")]
    pub(crate) map: bool,
    /// Write a `'` before each csv cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return
    ///
    /// Senders of metrics choose names and values of labels, and spreadsheets compute cells that begin so. Without this
    /// option, csv has the labels unchanged: do not open it in a spreadsheet if you do not trust the senders.
    #[arg(long)]
    pub(crate) csv_safe: bool,
    /// Sort series by their labels; takes 20 bytes of memory per series
    #[arg(long)]
    pub(crate) sort: bool,
    /// With tsdb-index, the id of the block of Prometheus; by default, that of the folder of FILE, or the only one
    #[arg(long, value_name = "ULID")]
    pub(crate) tsdb_block: Option<String>,
    /// Replace FILE if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

impl ExportArguments {
    /// Returns the file to write, or `None` for standard output.
    pub(super) fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }

    /// Returns the choice of series columns beside all labels, or `None` for no columns. Text has no types: its readers
    /// would take a column for a label, unless the caller knows which ones come.
    pub(super) fn kept_columns(&self, format: Format) -> Option<KeptColumns> {
        let is_typed = matches!(format, Format::Parquet | Format::Arrow | Format::ArrowStream);
        let kept = KeptColumns { keep: self.keep_columns.clone(), drop: self.drop_columns.clone() };
        (is_typed || !kept.keep.is_empty()).then_some(kept)
    }

    /// Warns of an extension that is that of another format.
    pub(super) fn warn_of_extension(&self, format: Format) {
        let (what, extensions): (_, &[&str]) = match format {
            Format::Parquet => ("a Parquet file", &["parquet"]),
            Format::Arrow | Format::ArrowStream => ("an Arrow file", &["arrow", "ipc", "feather"]),
            Format::Csv | Format::SafeCsv => ("a CSV file", &["csv"]),
            Format::Jsonl => ("JSON lines", &["jsonl", "ndjson", "json"]),
            _ => return,
        };
        if let Some(file) = self.file() {
            warn_of_extension("chronoxide-inspect", file, what, extensions);
        }
    }

    /// Returns the format, and checks that it can be written to the output.
    pub(super) fn checked_format(&self, is_terminal: bool) -> Result<Format, Failure> {
        let usage = |message: String| Err(Failure::new(Exit::Usage, message));
        let Some(format) = self.format.and_then(ExportFormat::table).or_else(|| Format::from_path(self.file()?)) else {
            return usage("name a format: --format parquet, arrow, csv or jsonl".to_owned());
        };
        if let Some(twice) = first_repeated(&self.columns) {
            return usage(format!("--columns has {} more than once", Escaped(twice)));
        }
        if self.tsdb_block.is_some() {
            return usage("--tsdb-block is for tsdb-index".to_owned());
        }
        if self.csv_safe && format != Format::Csv {
            return usage("--csv-safe is for csv: the other formats have no formulas".to_owned());
        }
        if self.map && format == Format::Csv {
            return usage("csv has no maps: leave out --map, or use jsonl, arrow or parquet".to_owned());
        }
        match (self.file(), format) {
            (Some(file), _) if crate::is_folder(file) => {
                usage(format!("{}: the output must be a file, not a folder", file.display()))
            }
            (_, Format::Csv) if self.csv_safe => Ok(Format::SafeCsv),
            (Some(_), format) => Ok(format),
            (None, Format::Parquet) => usage("parquet needs a file: name it with -o".to_owned()),
            (None, Format::Arrow) if is_terminal => {
                usage("arrow is not text: name a file with -o, or redirect standard output".to_owned())
            }
            (None, Format::Arrow) => Ok(Format::ArrowStream),
            (None, format) => Ok(format),
        }
    }
}

fn first_repeated(names: &[String]) -> Option<&str> {
    names.iter().enumerate().find(|(position, name)| names[..*position].contains(name)).map(|(_, name)| name.as_str())
}
