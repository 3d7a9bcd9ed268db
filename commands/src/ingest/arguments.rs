//! Arguments and help of the command.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use chronoxide_format::view::TimeRange;
use chronoxide_ingest::assemble::{DEFAULT_MAX_BLOCKS, DEFAULT_MAX_WINDOWS};
use chronoxide_ingest::input::Format;
use clap::{ArgGroup, Parser, ValueEnum};
use jiff::SignedDuration;

use crate::argument::{count, external_label, instant, pair, positive, size};
use crate::ingest::path_labels::PathLabel;
use crate::{Exit, Failure, FormatVersion, Layout, Quiet};

/// Turns captures of metrics into blocks
///
/// Reads OTLP requests (JSON or protobuf, from the Collector's file exporter, object stores or queues), Prometheus
/// exposition text and protobuf, OpenMetrics, remote-write requests, Prometheus data folders, blocks and write-ahead
/// logs, responses of the series API, and tables of series as Parquet files, Arrow IPC or CSV. Inputs may be compressed
/// with zstd or gzip. Writes the labels of each distinct series to one or more blocks.
#[derive(Debug, Parser)]
#[command(name = "chronoxide-ingest", version, after_long_help = AFTER_HELP)]
#[command(group(ArgGroup::new("timed").multiple(true)))]
pub(crate) struct Arguments {
    /// Captures to read: files, tar archives, folders (with subfolders) or patterns; `-` reads standard input. URLs
    /// such as s3://BUCKET/PREFIX/, gs:// and az:// read the blocks of Prometheus's TSDB below them
    #[arg(required = true, value_name = "CAPTURE")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Block to write, or folder for one or more blocks, each named by its id; end the path of a new folder with `/`.
    /// URLs of object stores are supported: s3://BUCKET/BLOCK.cx or s3://BUCKET/PREFIX/, gs://, az://
    #[arg(short, long, value_name = "FILE|DIR/|URL")]
    pub(crate) output: PathBuf,

    /// Replace existing outputs
    #[arg(long)]
    pub(crate) force: bool,

    /// Format of the captures; auto detects it by their first bytes
    #[arg(long, value_enum, default_value_t = FormatChoice::Auto)]
    pub(crate) format: FormatChoice,

    /// Layout of the blocks
    #[arg(long, value_enum, default_value_t = Layout::Factored)]
    pub(crate) layout: Layout,

    /// Write archive blocks, whose strings are stored as one zstd frame. Writing takes about 0.1 s more per MB of
    /// strings; opening a block decodes them, at about 1 ms per MB, and holds them in memory
    #[arg(long)]
    pub(crate) archive: bool,

    #[command(flatten)]
    pub(crate) format_version: FormatVersion,

    /// Skip malformed records, rows, texts and compressed frames instead of stopping at the first (exit code 6)
    #[arg(long)]
    pub(crate) skip_bad_records: bool,

    /// Also read deleted series (tombstones) and deleted blocks (deletion-mark.json) of Prometheus, Thanos and Mimir
    #[arg(long, help_heading = "Prometheus")]
    pub(crate) ignore_deletions: bool,

    /// Exit with code 0 instead of 6 if a capture ends within a record or a compressed stream; complete records are
    /// kept in both cases
    #[arg(long)]
    pub(crate) allow_truncated: bool,

    /// Maximum size of a record, such as 512KiB [default: 64MiB, or a 32nd of --memory-limit if that is less]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_record_size: Option<usize>,

    /// Cut blocks by time, such as 1h or 30m; a series is in each window in which it has a point
    #[arg(long, value_name = "DURATION", value_parser = window, help_heading = "Cutting")]
    pub(crate) window: Option<NonZeroU64>,

    /// Time of series without timestamps: a time or a range, such as 2025-11-11T09:00:00Z or
    /// 2025-11-11T09:00:00Z/2025-11-11T10:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Cutting")]
    pub(crate) time: Option<TimeRange>,

    /// Start a new block after this many series
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroU32>, help_heading = "Cutting")]
    pub(crate) max_series_per_block: Option<NonZeroU32>,

    /// Maximum number of windows; guards against wrong timestamps, which would produce a block each
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_WINDOWS, value_parser = count::<usize>, help_heading = "Cutting")]
    pub(crate) max_windows: usize,

    /// Maximum number of blocks to write
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_BLOCKS, value_parser = count::<u64>, help_heading = "Cutting")]
    pub(crate) max_blocks: u64,

    /// Maximum memory to use, such as 512MiB. Near the limit, a new block begins; if the output is a file, the blocks
    /// are merged at the end [default: half of the memory available to the process, at most 1GiB for folders]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Cutting")]
    pub(crate) memory_limit: Option<usize>,

    /// Maximum number of threads that decode, and that plan blocks [default: number of cores, at most 8]. One more
    /// reads an input, one assembles series, and one seals blocks; with 1, all but reading is on one thread. Blocks do
    /// not depend on it
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Store the first and last time of each series as columns of the blocks (chronoxide.first_time and
    /// chronoxide.last_time); a series without any time has none. Takes 16 bytes of memory per series and window, and
    /// 0.03 bytes of a block per series if all have points throughout; up to 2 bytes if each begins and ends at a
    /// time of its own
    #[arg(long, group = "timed", help_heading = "Columns")]
    pub(crate) times: bool,

    /// Store where the chunks of each series of Prometheus's TSDB are, as columns, and the times of series as --times
    /// does: Prometheus's engine needs no `index` then. Each block of Prometheus gives a block of its own, or with a
    /// file as output all of them one. Write-ahead logs are left out
    #[arg(long, conflicts_with = "window", group = "timed", help_heading = "Prometheus")]
    pub(crate) chunks: bool,

    /// Store no columns of Parquet and Arrow inputs: by default, integers, timestamps, and bytes that an export of
    /// `chronoxide-inspect` marks become series columns of the blocks, such as times
    #[arg(long, help_heading = "Columns")]
    pub(crate) no_columns: bool,

    /// With --times or --chunks, round first times down and last times up to multiples of this duration; a shorter one
    /// takes more bytes
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "1m",
        value_parser = time_step,
        requires = "timed",
        help_heading = "Columns"
    )]
    pub(crate) time_step: NonZeroU64,

    /// Store histograms and summaries of OTLP as classic Prometheus series: _bucket with le, _sum, _count, quantile
    #[arg(long, help_heading = "Prometheus")]
    pub(crate) classic_histograms: bool,

    /// Keep le and quantile of exposition text as written; by default they are stored like in Prometheus 3: le="1"
    /// becomes le="1.0"
    #[arg(long, help_heading = "Prometheus")]
    pub(crate) keep_float_labels: bool,

    /// Give series of OTLP the names and labels of Prometheus's OTLP receiver: units and _total, job and instance,
    /// otel_scope_*; other resource attributes become labels of target_info
    #[arg(long, help_heading = "Prometheus")]
    pub(crate) prometheus_names: bool,

    /// With --prometheus-names, resource attributes to add to each series, such as k8s.pod.name,service.version
    #[arg(
        long,
        value_name = "ATTRIBUTE,...",
        value_delimiter = ',',
        requires = "prometheus_names",
        help_heading = "Prometheus"
    )]
    pub(crate) promote_resource_attributes: Vec<String>,

    /// Add the labels __type__ and __unit__ to series whose type and unit are known
    #[arg(long, help_heading = "Prometheus")]
    pub(crate) type_and_unit_labels: bool,

    /// External label of the blocks, such as cluster=eu-1; repeatable
    #[arg(long = "external-label", value_name = "NAME=VALUE", value_parser = external_label)]
    pub(crate) external_labels: Vec<(String, String)>,

    /// Label of each series of a capture, from the capture's path: {1} is the text of the first `*` of the pattern that
    /// found the capture, {2} of the second. Repeatable; labels that a series has itself win. Quote the pattern:
    /// 'scrapes/*/*.prom' --path-label 'job={1}' --path-label 'instance={2}:9100'
    #[arg(long = "path-label", value_name = "NAME=TEMPLATE", value_parser = PathLabel::parse)]
    pub(crate) path_labels: Vec<PathLabel>,

    /// Do not read folders called NAME=VALUE as labels of the series in them
    #[arg(long)]
    pub(crate) no_folder_labels: bool,

    /// Annotation of the blocks, such as ticket=1234; repeatable
    #[arg(long = "annotation", value_name = "KEY=VALUE", value_parser = annotation)]
    pub(crate) annotations: Vec<(String, String)>,

    /// Do not store metadata of metrics: type, unit, description, temporality, monotonicity
    #[arg(long)]
    pub(crate) no_metadata: bool,

    /// Write a report as Markdown: labels, cardinalities, bytes by section, times
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Print the summary as JSON on standard output instead of as text on standard error
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) quiet: Quiet,
}

const AFTER_HELP: &str = "\
Labels of an OTLP data point, by precedence: __name__ (the metric name), attributes of the point, otel_scope_name, \
otel_scope_version and attributes of the scope, attributes of the resource. If two have the same name, the first in this \
list wins. Labels with empty values are dropped. Names of more than 1,024 bytes and values of more than 2,048 bytes are \
truncated; they end with ~s and 16 hexadecimal digits, a hash of the whole text, so that different texts stay different.

The rows of Parquet files and Arrow IPC are series. Each column of text is the label of its name, and the entries of \
columns of maps are labels too; a column wins over an entry. NULL and the empty text are no label. A column \
`timestamp` of timestamps is the time of the row. Other columns are ignored with a warning.

Folders called NAME=VALUE, as DuckDB, Spark and Polars write partitions, are labels of each series in them that lacks \
that label (unless --no-folder-labels). Names and values are decoded like URLs; __HIVE_DEFAULT_PARTITION__ is not a label.

A data folder of Prometheus gives one block for each of its blocks, with the same window, and one block for its \
write-ahead log and head chunks. lock, queries.active, *.tmp* folders and chunk_snapshot.* are skipped, and so are \
deleted series and blocks (--ignore-deletions reads them). The members of tar archives are read as files of a folder. \
Other files of a folder with an unrecognized format are skipped with a warning.

Near --memory-limit, a new block begins. With a folder as output, a series that recurs later is in two blocks, and \
chronoxide-compact merges them. With a file as output, the blocks wait in a temporary file beside it and are merged at \
the end. If the merge could exceed the limit, or with --report, or a limit below 224MiB, the run fails and writes \
nothing. After Ctrl-C, a run with a folder as output keeps the data so far. Blocks are never partially written.

Exit codes: 0 success; 1 a file cannot be read or written; 2 invalid arguments, or a limit is exceeded (--memory-limit, --max-windows, \
--max-blocks); 3 a capture is damaged; 4 the format of a \
capture is not recognized, or the data does not fit into a block; 6 success, but records were skipped, or a capture ends \
within a record or a compressed stream (0 with --allow-truncated); 130 interrupted.

Examples:
  chronoxide-ingest metrics.jsonl -o metrics.cx
  zstd -dc capture.zst | chronoxide-ingest - -o capture.cx
  chronoxide-ingest exports/ -o blocks/ --window 1h
  chronoxide-ingest exports/ -o s3://metrics/blocks/ --window 1h
  chronoxide-ingest /var/lib/prometheus/data -o blocks/
  chronoxide-ingest --chunks /var/lib/prometheus/data -o labels/
  chronoxide-ingest 'scrapes/*.prom' --path-label 'instance={1}:9100' -o scrapes.cx
  chronoxide-ingest 'spool/*.binpb*' -o blocks/ --memory-limit 512MiB --json
  curl -sG http://localhost:9090/api/v1/series --data-urlencode 'match[]={job=~\".+\"}' | chronoxide-ingest - -o series.cx";

/// Format of the captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatChoice {
    /// Detect the format by the first bytes
    Auto,
    /// OTLP requests as JSON
    OtlpJson,
    /// OTLP requests as protobuf
    OtlpProto,
    /// JSON objects of label names and values
    SeriesJson,
    /// Exposition text
    PrometheusText,
    /// Exposition text with timestamps in seconds
    Openmetrics,
    /// Metric families as protobuf, each after its length as a varint
    PrometheusProto,
    /// A set of metrics of OpenMetrics as protobuf
    OpenmetricsProto,
    /// Remote-write requests
    RemoteWrite,
    /// Parquet files: a column of text per label, or a map `labels`
    Parquet,
    /// Arrow IPC, files or streams: a column of text per label, or a map `labels`
    Arrow,
    /// CSV with a header: a column per label
    Csv,
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
            Self::OpenmetricsProto => Some(Format::OpenMetricsProto),
            Self::RemoteWrite => Some(Format::RemoteWrite),
            Self::Parquet => Some(Format::Parquet),
            Self::Arrow => Some(Format::Arrow),
            Self::Csv => Some(Format::Csv),
        }
    }
}

/// Parses the length of a window.
fn window(text: &str) -> Result<NonZeroU64, String> {
    duration(text)?.ok_or_else(|| "the window must be longer than zero and shorter than 584 years".to_owned())
}

/// Parses the step of times, which are signed.
fn time_step(text: &str) -> Result<NonZeroU64, String> {
    let step = duration(text)?.filter(|step| i64::try_from(step.get()).is_ok());
    step.ok_or_else(|| "the step must be longer than zero and shorter than 292 years".to_owned())
}

/// Parses a duration such as `1h` or `90m`, in nanoseconds. Returns `None` if it is not a nonzero `u64`.
fn duration(text: &str) -> Result<Option<NonZeroU64>, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && text.bytes().any(|byte| byte != b'0') {
        return Err(format!("a duration has a unit, such as {text}h or {text}m"));
    }
    let text = if is_number { "0s" } else { text };
    let duration: SignedDuration = text.parse().map_err(|_| "expected a duration, such as 1h or 30m".to_owned())?;
    Ok(u64::try_from(duration.as_nanos()).ok().and_then(NonZeroU64::new))
}

/// Parses a time, or a half-open range of two times separated by `/`.
fn time(text: &str) -> Result<TimeRange, String> {
    let (start, end) = match text.split_once('/') {
        Some((start, end)) => (instant(start)?, instant(end)?),
        None => {
            let time = instant(text)?;
            (time, time.checked_add(1).ok_or("the time is not between the years 1677 and 2262")?)
        }
    };
    if start < end { Ok(TimeRange { start, end }) } else { Err("the end must be after the start".to_owned()) }
}

/// Sorts pairs by key, and refuses duplicate keys.
pub(crate) fn sorted(option: &str, mut pairs: Vec<(String, String)>) -> Result<Vec<(String, String)>, Failure> {
    pairs.sort();
    if let Some([(key, _), _]) = pairs.array_windows().find(|[left, right]| left.0 == right.0) {
        return Err(Failure::new(Exit::Usage, format!("{option}: duplicate key {key}")));
    }
    Ok(pairs)
}

/// Parses `key=value`, and refuses reserved keys (LIFECYCLE.md, section 2).
fn annotation(text: &str) -> Result<(String, String), String> {
    let (key, value) = pair(text)?;
    match key.starts_with(RESERVED_PREFIX) {
        true => Err(format!("keys that begin with `{RESERVED_PREFIX}` are reserved for programs")),
        false => Ok((key, value)),
    }
}

/// Prefix of the keys of annotations that programs write.
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
    fn steps_of_times_are_durations_that_fit_signed_nanoseconds() {
        assert_eq!(time_step("1ns"), Ok(NonZeroU64::MIN));
        assert_eq!(time_step("1m"), Ok(NonZeroU64::new(60_000_000_000).unwrap()));
        let message = "the step must be longer than zero and shorter than 292 years";
        // 2^63 ns are 2562047 h and 47 minutes.
        assert!(time_step("2562047h").is_ok());
        for text in ["0s", "-1m", "2562048h"] {
            assert_eq!(time_step(text), Err(message.to_owned()), "{text}");
        }
        assert_eq!(time_step("1"), Err("a duration has a unit, such as 1h or 1m".to_owned()));
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
