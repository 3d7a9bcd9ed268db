//! What the command understands.

use chronoxide_cli::argument::{instant, pair, size};
use chronoxide_cli::{Exit, Failure, Layout, Quiet};
use chronoxide_format::view::TimeRange;
use chronoxide_ingest::assemble::{DEFAULT_MAX_BLOCKS, DEFAULT_MAX_WINDOWS};
use chronoxide_ingest::input::Format;
use clap::{Parser, ValueEnum};
use jiff::SignedDuration;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

/// Turns captures of metrics into blocks
///
/// Reads what the OpenTelemetry Collector's file exporter writes (OTLP requests as JSON or protobuf, its zstd framing
/// included), single requests as exports to object stores and queues have them, exposition text, OpenMetrics and metric
/// families as protobuf, requests of remote write, data folders, blocks and write-ahead logs of Prometheus's TSDB, and
/// series as its API lists them; plain or compressed with zstd or gzip. Keeps the labels of each distinct series, and
/// writes them as one block, or as many.
#[derive(Debug, Parser)]
#[command(name = "chronoxide-ingest", version, after_long_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Captures to read: files, folders with all that is in them, patterns; `-` is standard input
    #[arg(required = true, value_name = "CAPTURE")]
    pub(crate) inputs: Vec<PathBuf>,

    /// The block to write; a folder, which ends in `/` if it is not there yet, for as many blocks as are needed, each
    /// named after its id
    #[arg(short, long, value_name = "FILE|DIR/")]
    pub(crate) output: PathBuf,

    /// Replace outputs that exist
    #[arg(long)]
    pub(crate) force: bool,

    /// What the captures hold; auto looks at their first bytes
    #[arg(long, value_enum, default_value_t = FormatChoice::Auto)]
    pub(crate) format: FormatChoice,

    /// How the block is laid out
    #[arg(long, value_enum, default_value_t = Layout::Factored)]
    pub(crate) layout: Layout,

    /// Leave broken records out instead of stopping (exit code 6)
    #[arg(long)]
    pub(crate) skip_bad_records: bool,

    /// Exit with code 0 although a capture ends within a record or a compressed stream; it is 6 otherwise, and what is
    /// whole is kept in both cases
    #[arg(long)]
    pub(crate) allow_truncated: bool,

    /// The most bytes of a record, such as 512KiB [default: 64MiB, or a 32nd of --memory-limit if that is given and less]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_record_size: Option<usize>,

    /// Cut blocks by time, such as 1h or 30m: a series is in each window in which it had a point
    #[arg(long, value_name = "DURATION", value_parser = window, help_heading = "Cutting")]
    pub(crate) window: Option<NonZeroU64>,

    /// When series were seen whose capture does not say so: a time or a range, such as 2025-11-11T09:00:00Z or
    /// 2025-11-11T09:00:00Z/2025-11-11T10:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Cutting")]
    pub(crate) time: Option<TimeRange>,

    /// Begin a new block after so many series
    #[arg(long, value_name = "N", help_heading = "Cutting")]
    pub(crate) max_series_per_block: Option<NonZeroU32>,

    /// The most windows that points may lie in, so that wrong times do not make thousands of blocks
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_WINDOWS, help_heading = "Cutting")]
    pub(crate) max_windows: usize,

    /// The most blocks to write
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_BLOCKS, help_heading = "Cutting")]
    pub(crate) max_blocks: u64,

    /// The most memory to use, such as 512MiB: blocks in a folder are cut to keep to it, and one file that needs more is
    /// refused [default: half of what the process may use, for folders at most 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Cutting")]
    pub(crate) memory_limit: Option<usize>,

    /// Store histograms and summaries of OTLP as the series that Prometheus has for them: _bucket with le, _sum, _count,
    /// quantile
    #[arg(long, help_heading = "Prometheus")]
    pub(crate) classic_histograms: bool,

    /// Keep le and quantile of exposition text as they are written; otherwise they are stored as Prometheus 3 stores them:
    /// le="1" as le="1.0"
    #[arg(long, help_heading = "Prometheus")]
    pub(crate) keep_float_labels: bool,

    /// Give series of OTLP the names and labels that Prometheus's OTLP receiver gives them: units and _total, job and instance,
    /// otel_scope_*; other resource attributes become labels of target_info
    #[arg(long, help_heading = "Prometheus")]
    pub(crate) prometheus_names: bool,

    /// Resource attributes that become labels of each series with --prometheus-names, such as k8s.pod.name,service.version
    #[arg(
        long,
        value_name = "ATTRIBUTE,...",
        value_delimiter = ',',
        requires = "prometheus_names",
        help_heading = "Prometheus"
    )]
    pub(crate) promote_resource_attributes: Vec<String>,

    /// Add the labels __type__ and __unit__ where these are known
    #[arg(long, help_heading = "Prometheus")]
    pub(crate) type_and_unit_labels: bool,

    /// A label of the block as a whole, such as cluster=eu-1; may be repeated
    #[arg(long = "external-label", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) external_labels: Vec<(String, String)>,

    /// A note to keep in the block, such as ticket=1234; may be repeated
    #[arg(long = "annotation", value_name = "KEY=VALUE", value_parser = annotation)]
    pub(crate) annotations: Vec<(String, String)>,

    /// Leave out what is known of metrics beside their labels: type, unit, description, temporality, monotonicity
    #[arg(long)]
    pub(crate) no_metadata: bool,

    /// Write tables of what was read and written to a Markdown file: labels, cardinalities, bytes by section, times
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Print a summary as JSON on standard output instead of one for people on standard error
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) quiet: Quiet,
}

const AFTER_HELP: &str = "\
Labels of a data point: __name__ (the metric's name), the point's attributes, otel_scope_name, otel_scope_version and \
the scope's attributes, the resource's attributes. Where two have one name, the one named first here wins. Empty values \
are no labels. A name of more than 1,024 bytes or a value of more than 2,048 is cut: it keeps its beginning, and ends in \
~s and 16 hexadecimal digits, a hash of the whole text, so that different texts stay different.

A data folder of Prometheus gives a block with its window for each of its blocks, and one for its write-ahead log and head \
chunks. lock, queries.active, *.tmp* and chunk_snapshot.* are passed over, and so is, with a warning, any other file of a \
folder whose format is unknown.

In a folder, --memory-limit is held by cutting blocks; a series that comes again after a cut is in two blocks, which \
chronoxide-compact makes one. One file is one block: what does not fit into the memory then is an error, and nothing is \
written. Ended by Ctrl-C, a run \
into a folder keeps what it has read; no block is ever half-written.

Exit codes: 0 done; 1 a file cannot be read or written; 2 usage; 3 a capture is damaged; 4 a capture is of an unknown \
format, or too large for a block; 6 done, but something was left \
out, or a capture ends within a record or a compressed stream (0 with --allow-truncated); 130 interrupted.

Examples:
  chronoxide-ingest metrics.jsonl -o metrics.cx
  zstd -dc capture.zst | chronoxide-ingest - -o capture.cx
  chronoxide-ingest exports/ -o blocks/ --window 1h
  chronoxide-ingest /var/lib/prometheus/data -o blocks/
  chronoxide-ingest 'spool/*.binpb*' -o blocks/ --memory-limit 512MiB --json
  curl -s 'http://localhost:9090/api/v1/series?match[]={job=~\".+\"}' | chronoxide-ingest - -o series.cx";

/// What the captures hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatChoice {
    /// What the first bytes say
    Auto,
    /// OTLP requests as JSON
    OtlpJson,
    /// OTLP requests as protobuf
    OtlpProto,
    /// Objects of label to value
    SeriesJson,
    /// Exposition text
    PrometheusText,
    /// The same, with timestamps in seconds
    Openmetrics,
    /// Metric families as protobuf, each with its length before it as a varint
    PrometheusProto,
    /// Requests of remote write
    RemoteWrite,
    /// Folders of Prometheus's TSDB: blocks, write-ahead logs, or data folders with both
    TsdbBlock,
}

impl FormatChoice {
    pub(crate) fn format(self) -> Option<Format> {
        match self {
            Self::Auto | Self::TsdbBlock => None,
            Self::OtlpJson => Some(Format::OtlpJson),
            Self::OtlpProto => Some(Format::OtlpProto),
            Self::SeriesJson => Some(Format::SeriesJson),
            Self::PrometheusText => Some(Format::PrometheusText),
            Self::Openmetrics => Some(Format::OpenMetrics),
            Self::PrometheusProto => Some(Format::PrometheusProto),
            Self::RemoteWrite => Some(Format::RemoteWrite),
        }
    }
}

/// Reads a duration: `1h`, `90m`.
fn window(text: &str) -> Result<NonZeroU64, String> {
    let duration: SignedDuration = text.parse().map_err(|_| "a duration is expected, such as 1h or 30m".to_owned())?;
    let nanoseconds = u64::try_from(duration.as_nanos()).ok().and_then(NonZeroU64::new);
    nanoseconds.ok_or_else(|| "a window is longer than nothing and shorter than 584 years".to_owned())
}

/// Reads a time, or two with a `/` between them, the second of which is not in the range.
fn time(text: &str) -> Result<TimeRange, String> {
    let (start, end) = match text.split_once('/') {
        Some((start, end)) => (instant(start)?, instant(end)?),
        None => {
            let time = instant(text)?;
            (time, time.checked_add(1).ok_or("this is too far from 1970")?)
        }
    };
    if start < end { Ok(TimeRange { start, end }) } else { Err("the end comes after the start".to_owned()) }
}

/// Pairs in the order of their keys, each key once.
pub(crate) fn sorted(option: &str, mut pairs: Vec<(String, String)>) -> Result<Vec<(String, String)>, Failure> {
    pairs.sort();
    if let Some([(key, _), _]) = pairs.array_windows().find(|[left, right]| left.0 == right.0) {
        return Err(Failure::new(Exit::Usage, format!("{option} has {key} twice")));
    }
    Ok(pairs)
}

/// Reads `key=value`, whose key is not reserved for programs (spec, section 10).
fn annotation(text: &str) -> Result<(String, String), String> {
    let (key, value) = pair(text)?;
    match key.starts_with(RESERVED_PREFIX) {
        true => Err(format!("keys that begin with {RESERVED_PREFIX} are reserved for programs")),
        false => Ok((key, value)),
    }
}

/// Beginning of the keys of user pairs that programs write.
const RESERVED_PREFIX: &str = "chronoxide.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_consistent() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn windows_are_durations() {
        assert_eq!(window("1h"), Ok(NonZeroU64::new(3_600_000_000_000).unwrap()));
        assert_eq!(window("1h30m"), Ok(NonZeroU64::new(5_400_000_000_000).unwrap()));
        for text in ["", "0s", "-1h", "1", "hour", "9999999h"] {
            assert!(window(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn times_are_instants_or_ranges() {
        let start = 1_762_851_600_000_000_000;
        assert_eq!(time("2025-11-11T09:00:00Z"), Ok(TimeRange { start, end: start + 1 }));
        let end = start + 3_600_000_000_000;
        assert_eq!(time("2025-11-11T09:00:00Z/2025-11-11T10:00:00Z"), Ok(TimeRange { start, end }));
        assert_eq!(time("2025-11-11T10:00:00+01:00/2025-11-11T10:00:00Z"), Ok(TimeRange { start, end }));
        for text in ["", "now", "2025-11-11", "2025-11-11T09:00:00Z/2025-11-11T09:00:00Z", "/", "9999-01-01T00:00:00Z"]
        {
            assert!(time(text).is_err(), "{text:?}");
        }
    }
}
