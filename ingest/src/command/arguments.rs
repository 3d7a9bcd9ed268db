//! What the command understands.

use chronoxide_cli::{Exit, Failure, Layout};
use chronoxide_ingest::input::Format;
use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// Turns captures of metrics into a block
///
/// Reads OTLP requests as JSON, one per line, as the OpenTelemetry Collector's file exporter writes them, or series as
/// Prometheus's API lists them, plain or compressed with zstd or gzip. Keeps the labels of each distinct series, and
/// writes them as one block.
#[derive(Debug, Parser)]
#[command(name = "chronoxide-ingest", version, after_long_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Captures to read, all into one block; `-` is standard input
    #[arg(required = true, value_name = "CAPTURE")]
    pub(crate) inputs: Vec<PathBuf>,

    /// The block to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Replace the output if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// What the captures hold; auto looks at their first bytes
    #[arg(long, value_enum, default_value_t = FormatChoice::Auto)]
    pub(crate) format: FormatChoice,

    /// How the rows of the block are laid out: bitpacked is smaller
    #[arg(long, value_enum, default_value_t = Layout::Bitpacked)]
    pub(crate) layout: Layout,

    /// Leave broken records out instead of stopping (exit code 6)
    #[arg(long)]
    pub(crate) skip_bad_records: bool,

    /// Exit with code 6 if a capture ends within a record or a compressed stream
    #[arg(long)]
    pub(crate) strict: bool,

    /// The most bytes of a record, such as 512KiB or 64MiB
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64MiB")]
    pub(crate) max_record_size: usize,

    /// A label of the block as a whole, such as cluster=eu-1; may be repeated
    #[arg(long = "external-label", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) external_labels: Vec<(String, String)>,

    /// A note to keep in the block, such as ticket=1234; may be repeated
    #[arg(long = "user-pair", value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) user_pairs: Vec<(String, String)>,

    /// Print a summary as JSON on standard output instead of one for people on standard error
    #[arg(long)]
    pub(crate) json: bool,
}

const AFTER_HELP: &str = "\
Labels of a data point: __name__ (the metric's name), the point's attributes, otel_scope_name, otel_scope_version and \
the scope's attributes, the resource's attributes. Where two have one name, the one named first here wins. Empty values \
are no labels. Names are cut at 1,024 bytes and values at 2,048.

Exit codes: 0 done; 1 a file cannot be read or written; 2 usage; 3 a capture is damaged; 4 a capture is of an unknown \
format, or too large for a block; 6 done, but something was left out.

Examples:
  chronoxide-ingest metrics.jsonl -o metrics.cx
  zstd -dc capture.zst | chronoxide-ingest - -o capture.cx
  curl -s 'http://localhost:9090/api/v1/series?match[]={job=~\".+\"}' | chronoxide-ingest - -o series.cx";

/// What the captures hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatChoice {
    Auto,
    OtlpJson,
    SeriesJson,
}

impl FormatChoice {
    pub(crate) fn format(self) -> Option<Format> {
        match self {
            Self::Auto => None,
            Self::OtlpJson => Some(Format::OtlpJson),
            Self::SeriesJson => Some(Format::SeriesJson),
        }
    }
}

/// Reads `key=value`. The value may be empty and may hold `=`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("a key, `=` and a value are expected".to_owned()),
    }
}

/// Reads a number of bytes: `4096`, `512KiB`, `64MiB`, `1GiB`.
fn size(text: &str) -> Result<usize, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let (number, shift) = units
        .iter()
        .find_map(|&(unit, shift)| text.strip_suffix(unit).map(|number| (number.trim_end(), shift)))
        .unwrap_or((text, 0));
    let bytes = number.parse::<usize>().ok().and_then(|number| number.checked_mul(1 << shift));
    match bytes {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => Err("a number of bytes is expected, such as 4096 or 64MiB".to_owned()),
    }
}

/// Pairs in the order of their keys, each key once.
pub(crate) fn sorted(option: &str, mut pairs: Vec<(String, String)>) -> Result<Vec<(String, String)>, Failure> {
    pairs.sort();
    if let Some([(key, _), _]) = pairs.array_windows().find(|[left, right]| left.0 == right.0) {
        return Err(Failure::new(Exit::Usage, format!("{option} has {key} twice")));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_consistent() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("512KiB"), Ok(512 << 10));
        assert_eq!(size("64 MiB"), Ok(chronoxide_ingest::DEFAULT_MAX_RECORD_LEN));
        for text in ["", "0", "-1", "1.5MiB", "MiB", "64MB", "99999999999999999GiB"] {
            assert!(size(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn pairs_have_keys() {
        assert_eq!(pair("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(pair("a="), Ok(("a".to_owned(), String::new())));
        assert!(pair("=b").is_err() && pair("ab").is_err());
    }
}
