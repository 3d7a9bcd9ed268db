//! Streams are cut into blocks by time, count and memory, without loss.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::num::NonZeroU64;

use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_ingest::input::{Format, Source};
use chronoxide_ingest::{AssembleOptions, Ingest, IngestError, IngestOptions, Report};
use chronoxide_labels::Layout;
use chronoxide_workload::{Options, Workload, encode};

use crate::canonical::{self, Labels};

const HOUR: u64 = 3_600_000_000_000;

fn ingested(content: Vec<u8>, assemble: AssembleOptions) -> Result<(Report, Vec<Vec<u8>>), IngestError> {
    let mut ingest = Ingest::new(IngestOptions { assemble, ..IngestOptions::default() }, Vec::new());
    ingest.read(Source::new("capture".to_owned(), Cursor::new(content))?)?;
    ingest.finish()
}

/// The series of blocks by their windows; and that each block holds to the window that it names.
fn by_window(blocks: &[Vec<u8>]) -> BTreeMap<Option<i64>, BTreeSet<Labels>> {
    let mut windows: BTreeMap<Option<i64>, BTreeSet<Labels>> = BTreeMap::new();
    for block in blocks {
        let meta = BlockView::open(block).unwrap().meta().unwrap();
        if let (Some(window), Some(time)) = (meta.window(), meta.time()) {
            assert!(window.start <= time.start && time.end <= window.end, "{window:?} {time:?}");
        }
        windows.entry(meta.window().map(|window| window.start)).or_default().extend(canonical::block_series(block));
    }
    windows
}

/// A stream of windows, and the series of each of them by the library of the workload.
fn windows(series: u64, windows: std::ops::Range<u32>) -> (Vec<u8>, BTreeMap<Option<i64>, BTreeSet<Labels>>) {
    let workload = Workload::new(Options { series, windows, scrapes: 2, ..Options::default() }).unwrap();
    let (mut bytes, mut expected) = (Vec::new(), BTreeMap::<_, BTreeSet<Labels>>::new());
    let mut requests = workload.requests();
    while let Some(request) = requests.next() {
        encode::write_otlp_proto(&request, &mut bytes).unwrap();
        let start = workload.options().window_nanos(requests.window()).start as i64;
        chronoxide_workload::visit_labelsets(&request, |labels| {
            let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
            expected.entry(Some(start)).or_default().insert(labels);
        });
    }
    (bytes, expected)
}

#[test]
fn a_series_is_in_the_block_of_each_window_in_which_it_had_a_point() {
    let (bytes, expected) = windows(2_000, 0..4);
    let assemble = AssembleOptions { window: NonZeroU64::new(HOUR), ..AssembleOptions::default() };
    let (report, blocks) = ingested(bytes.clone(), assemble).unwrap();
    assert_eq!((blocks.len(), report.blocks), (4, 4));
    assert_eq!(by_window(&blocks), expected);
    for block in &blocks {
        let window = BlockView::open(block).unwrap().meta().unwrap().window().unwrap();
        assert_eq!(window.end - window.start, HOUR as i64);
    }
    // Without windows it is one block.
    let (report, blocks) = ingested(bytes, AssembleOptions::default()).unwrap();
    let all: BTreeSet<Labels> = expected.into_values().flatten().collect();
    assert_eq!((blocks.len(), report.series), (1, all.len() as u64));
    assert_eq!(by_window(&blocks), BTreeMap::from([(None, all)]));
}

#[test]
fn blocks_have_no_more_series_than_allowed_and_lose_none() {
    let (bytes, expected) = windows(1_500, 0..3);
    for (max_series, window) in [(1, None), (7, NonZeroU64::new(HOUR)), (999, None), (1_000_000, None)] {
        let assemble = AssembleOptions { max_series, window, ..AssembleOptions::default() };
        let bytes = if max_series < 10 { windows(60, 0..3).0 } else { bytes.clone() };
        let expected = if max_series < 10 { &windows(60, 0..3).1 } else { &expected };
        let (report, blocks) = ingested(bytes, assemble).unwrap();
        let counts = blocks.iter().map(|block| BlockView::open(block).unwrap().series_count().unwrap());
        let counts: Vec<u32> = counts.collect();
        assert!(counts.iter().all(|&count| count > 0 && count <= max_series), "{max_series}: {counts:?}");
        assert!(window.is_some() || u64::from(counts.iter().sum::<u32>()) == report.series, "{max_series}");
        let found = by_window(&blocks);
        if window.is_some() {
            assert_eq!(&found, expected, "{max_series}");
        } else {
            let all: BTreeSet<Labels> = expected.values().flatten().cloned().collect();
            assert_eq!(found, BTreeMap::from([(None, all)]), "{max_series}");
        }
    }
}

/// No test can push 2^32 symbols, so the limit is lowered.
#[test]
fn a_store_is_cut_before_its_symbols_are_exhausted() {
    let (bytes, expected) = windows(600, 0..2);
    let all: BTreeSet<Labels> = expected.into_values().flatten().collect();
    let most_labels = all.iter().map(BTreeMap::len).max().unwrap() as u32;
    let mut counts = Vec::new();
    for max_symbols in [1, 100, 300, u32::MAX] {
        let assemble = AssembleOptions { max_symbols, ..AssembleOptions::default() };
        let (report, blocks) = ingested(bytes.clone(), assemble.clone()).unwrap();
        assert_eq!(by_window(&blocks), BTreeMap::from([(None, all.clone())]), "{max_symbols}");
        assert_eq!(report.blocks, blocks.len() as u64);
        for block in &blocks {
            let view = BlockView::open(block).unwrap();
            let (symbols, series) = (view.symbols().count(), view.series_count().unwrap());
            // A block of a single series has the symbols of that.
            let limit = if series == 1 { 2 * most_labels } else { max_symbols };
            assert!(symbols <= limit, "{max_symbols}: {symbols} symbols of {series} series");
        }
        counts.push(blocks.len());
        // One block has no place for the rest: it takes all, up to the limit of the store.
        let (_, blocks) = ingested(bytes.clone(), AssembleOptions { one_block: true, ..assemble }).unwrap();
        assert_eq!(blocks.len(), 1);
    }
    assert!(counts.is_sorted_by(|more, fewer| more > fewer) && counts[3] == 1, "{counts:?}");
}

#[test]
fn a_stream_of_known_series_is_not_cut() {
    let (bytes, _) = windows(500, 0..1);
    let exact = AssembleOptions { max_series: 500, ..AssembleOptions::default() };
    let (_, blocks) = ingested(bytes.repeat(3), exact).unwrap();
    assert_eq!(blocks.len(), 1);
}

#[test]
fn memory_is_held_by_cutting() {
    let (bytes, expected) = windows(40_000, 0..1);
    let max_memory = 2 << 20;
    let assemble = AssembleOptions { max_memory: Some(max_memory), ..AssembleOptions::default() };
    let (report, blocks) = ingested(bytes, assemble).unwrap();
    assert!(blocks.len() > 2, "{} blocks", blocks.len());
    assert_eq!(report.blocks, blocks.len() as u64);
    let all: BTreeSet<Labels> = expected.into_values().flatten().collect();
    assert_eq!(by_window(&blocks), BTreeMap::from([(None, all)]));
}

#[test]
fn attributes_without_points_do_not_fill_the_memory() {
    // Each request has a resource with a new megabyte of attributes and one known point.
    let mut bytes = Vec::new();
    for request in 0..24 {
        let attributes: Vec<String> = (0..500)
            .map(|number| {
                let value = format!("{request:04}-{number:04}-").repeat(200);
                format!(r#"{{"key":"k{number}","value":{{"stringValue":"{value}"}}}}"#)
            })
            .collect();
        let unused = format!(r#"{{"resource":{{"attributes":[{}]}},"scopeMetrics":[]}}"#, attributes.join(","));
        let used = r#"{"scopeMetrics":[{"metrics":[{"name":"up","gauge":{"dataPoints":[{"timeUnixNano":"7"}]}}]}]}"#;
        bytes.extend(format!("{{\"resourceMetrics\":[{unused},{used}]}}\n").into_bytes());
    }
    let assemble = AssembleOptions { max_memory: Some(4 << 20), ..AssembleOptions::default() };
    let (report, blocks) = ingested(bytes, assemble).unwrap();
    assert!(blocks.len() > 1, "the memory was looked at between records");
    assert_eq!(report.points, 24);
    let expected = Labels::from([("__name__".to_owned(), "up".to_owned())]);
    assert!(blocks.iter().all(|block| canonical::block_series(block) == [expected.clone()]));
}

#[test]
fn series_without_times_get_those_that_were_said() {
    let lines = b"{\"__name__\":\"up\"}\n".to_vec();
    let range = TimeRange { start: 0, end: 2 * HOUR as i64 };
    let said = AssembleOptions { time: Some(range), ..AssembleOptions::default() };
    let (_, blocks) = ingested(lines.clone(), said.clone()).unwrap();
    assert_eq!(BlockView::open(&blocks[0]).unwrap().meta().unwrap().time(), Some(range));
    let (_, blocks) = ingested(lines.clone(), AssembleOptions::default()).unwrap();
    assert_eq!(BlockView::open(&blocks[0]).unwrap().meta().unwrap().time(), None);

    let cut = AssembleOptions { window: NonZeroU64::new(HOUR), ..said };
    let (_, blocks) = ingested(lines.clone(), cut).unwrap();
    let starts: Vec<_> = by_window(&blocks).into_keys().collect();
    assert_eq!(starts, [Some(0), Some(HOUR as i64)]);

    // Points with times keep them.
    let text = b"a 1 1699999200007\nb 1\n".to_vec();
    let (_, blocks) =
        ingested(text, AssembleOptions { window: NonZeroU64::new(HOUR), ..AssembleOptions::default() }).unwrap();
    let series = |name: &str| BTreeSet::from([Labels::from([("__name__".to_owned(), name.to_owned())])]);
    assert_eq!(
        by_window(&blocks),
        BTreeMap::from([(None, series("b")), (Some(1_699_999_200_000_000_000), series("a"))])
    );
}

#[test]
fn a_last_line_without_a_line_break_counts_unless_its_time_may_be_cut_off() {
    let time = 1_732_919_138_215_000_000;
    for (text, untimed) in [
        ("up 1 1732919138215\ndown 1 17329191", 1),
        ("up 1 1732919138215\ndown 1 173291913821", 1),
        ("up 1 1732919138215\ndown 1 173291913", 1),
        ("up 1 1732919138.215\ndown 1 1732919138215", 0),
        ("up 1 1732919138.215\ndown 1 1732919138.215", 0),
    ] {
        let (report, blocks) = ingested(text.into(), AssembleOptions::default()).unwrap();
        let range = BlockView::open(&blocks[0]).unwrap().meta().unwrap().time();
        assert_eq!(range, Some(TimeRange { start: time, end: time + 1 }), "{text}");
        assert_eq!((report.series, report.points_without_time, report.torn_records), (2, untimed, 0), "{text}");
    }
    // Without a time there is nothing to be mistaken about.
    let (report, _) = ingested(b"up 1\ndown 17".to_vec(), AssembleOptions::default()).unwrap();
    assert_eq!((report.series, report.torn_records), (2, 0));
    let (_, blocks) = ingested(b"up 1 9223372036.854775807\n".to_vec(), AssembleOptions::default()).unwrap();
    assert!(BlockView::open(&blocks[0]).unwrap().meta().unwrap().time().is_some());
}

#[test]
fn a_time_out_of_range_costs_no_labels() {
    let text = b"a_total 1 99999999999999999999\na_total{b=\"c\"} 1 1e300\nup 1 1732919138215\n".to_vec();
    let (report, blocks) = ingested(text, AssembleOptions::default()).unwrap();
    assert_eq!((report.series, report.points, report.points_without_time), (3, 3, 2));
    let time = BlockView::open(&blocks[0]).unwrap().meta().unwrap().time().unwrap();
    assert_eq!((time.start, time.end), (1_732_919_138_215_000_000, 1_732_919_138_215_000_001));
}

#[test]
fn a_family_that_is_cut_is_known_in_all_its_blocks() {
    let text = "# TYPE f gauge\nf{a=\"1\"} 1\nf{a=\"2\"} 1\nf{a=\"3\"} 1\n";
    let assemble = AssembleOptions { max_series: 1, ..AssembleOptions::default() };
    let (_, blocks) = ingested(text.as_bytes().to_vec(), assemble).unwrap();
    assert_eq!(blocks.len(), 3);
    assert!(blocks.iter().all(|block| metadata_of(block) == [r#"f gauge unspecified "" """#]));
}

#[test]
fn resources_with_too_many_attributes_cost_little_and_lose_only_their_points() {
    let attributes: Vec<String> =
        (0..30_000).map(|n| format!(r#"{{"key":"k{n}","value":{{"intValue":"1"}}}}"#)).collect();
    let points = "{},".repeat(50_000) + "{}";
    let of = |attributes: &str, points: &str| {
        let metrics = format!(r#"[{{"name":"m","gauge":{{"dataPoints":[{points}]}}}}]"#);
        format!(r#"{{"resource":{{"attributes":[{attributes}]}},"scopeMetrics":[{{"metrics":{metrics}}}]}}"#)
    };
    let (hostile, sound) = (of(&attributes.join(","), &points), of(&attributes[..3].join(","), "{}"));
    let line = format!("{{\"resourceMetrics\":[{hostile},{sound}]}}\n");
    let (report, blocks) = ingested(line.into_bytes(), AssembleOptions::default()).unwrap();
    assert_eq!((report.points, report.skipped.too_many_labels), (50_002, 50_001));
    let labels = [("__name__", "m"), ("k0", "1"), ("k1", "1"), ("k2", "1")];
    let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(canonical::block_series(&blocks[0]), [Labels::from(labels)]);
}

#[test]
fn a_time_of_too_many_windows_is_refused() {
    let lines = b"{\"__name__\":\"up\"}\n".to_vec();
    let assemble = AssembleOptions {
        time: Some(TimeRange { start: 0, end: i64::MAX }),
        window: NonZeroU64::new(1_000),
        ..AssembleOptions::default()
    };
    let error = ingested(lines, assemble).unwrap_err().to_string();
    let expected = "points lie in more than 10000 windows, from 1970-01-01T00:00:00Z to 2262-04-11T23:47:16.854775Z: \
                    use a longer window (--window), or allow more windows (--max-windows)";
    assert_eq!(error, expected);
}

#[test]
fn cuts_do_not_depend_on_the_form_of_rows_or_the_framing() {
    let (bytes, _) = windows(800, 0..2);
    let options = |layout| AssembleOptions {
        layout,
        window: NonZeroU64::new(HOUR),
        max_series: 300,
        ..AssembleOptions::default()
    };
    let (_, packed) = ingested(bytes.clone(), options(Layout::BitPacked)).unwrap();
    let (_, fixed) = ingested(bytes.clone(), options(Layout::FixedWidth)).unwrap();
    let (_, compressed) = ingested(zstd::encode_all(&*bytes, 1).unwrap(), options(Layout::BitPacked)).unwrap();
    let series = |blocks: &[Vec<u8>]| blocks.iter().map(|block| canonical::block_series(block)).collect::<Vec<_>>();
    assert_eq!(series(&packed), series(&fixed));
    assert_eq!(packed, compressed);
}

#[test]
fn a_stream_larger_than_a_buffer_is_read_like_its_parts() {
    // Large enough to be read on another thread, in several batches.
    let (bytes, expected) = windows(12_000, 0..1);
    assert!(bytes.len() > 4 << 20, "{}", bytes.len());
    let mut ingest =
        Ingest::new(IngestOptions { format: Some(Format::OtlpProto), ..IngestOptions::default() }, Vec::new());
    ingest.read(Source::new("capture".to_owned(), Cursor::new(bytes.clone())).unwrap()).unwrap();
    let (_, whole) = ingest.finish().unwrap();
    let mut ingest = Ingest::new(IngestOptions::default(), Vec::new());
    let mut rest = bytes.as_slice();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let message = &after[..u32::from_be_bytes(*length) as usize];
        ingest.read(Source::new("object".to_owned(), Cursor::new(message.to_vec())).unwrap()).unwrap();
        rest = &after[message.len()..];
    }
    let (report, parts) = ingest.finish().unwrap();
    assert!(report.inputs > 50);
    assert_eq!(whole, parts);
    assert_eq!(canonical::block_series(&whole[0]).len(), expected[expected.keys().next().unwrap()].len());
}

/// Name, type, temporality, monotonicity, unit and description of the metrics of a block.
fn metadata_of(block: &[u8]) -> Vec<String> {
    let view = BlockView::open(block).unwrap();
    let metrics = view.metric_metadata().unwrap();
    let text = |row: chronoxide_format::metadata::MetricMetadata<'_>| {
        let sign = if row.monotonicity.code() == 1 { "+" } else { "" };
        let (kind, temporality) = (row.metric_type.name(), row.temporality.name());
        format!("{} {kind}{sign} {temporality} {:?} {:?}", row.name, row.unit, row.description)
    };
    metrics.iter().map(|row| text(row.unwrap())).collect()
}

fn metric(name: &str, unit: &str, hour: u64) -> String {
    let data = format!(
        r#"{{"dataPoints":[{{"timeUnixNano":"{}"}}],"isMonotonic":true,"aggregationTemporality":2}}"#,
        hour * HOUR + 7
    );
    let metric = format!(r#"{{"name":"{name}","description":"of {name}","sum":{data},"unit":"{unit}"}}"#);
    format!("{{\"resourceMetrics\":[{{\"scopeMetrics\":[{{\"metrics\":[{metric}]}}]}}]}}\n")
}

#[test]
fn metadata_without_series_is_in_the_empty_block() {
    let text = b"# HELP up Whether it is up\n# TYPE up gauge\n".to_vec();
    let (report, blocks) = ingested(text, AssembleOptions::default()).unwrap();
    assert_eq!((report.series, report.blocks, blocks.len()), (0, 1, 1));
    assert_eq!(BlockView::open(&blocks[0]).unwrap().verify().unwrap().series_count, 0);
    let metadata = metadata_of(&blocks[0]).concat();
    assert!(metadata.starts_with("up gauge ") && metadata.ends_with("\"Whether it is up\""), "{metadata}");
}

#[test]
fn metadata_is_in_the_blocks_of_the_windows_of_its_metrics() {
    let lines = [metric("a", "s", 1), metric("b", "", 1), metric("a", "ms", 2), metric("a", "s", 2)].concat();
    let assemble = AssembleOptions { window: NonZeroU64::new(HOUR), ..AssembleOptions::default() };
    let (_, blocks) = ingested(lines.clone().into_bytes(), assemble).unwrap();
    let found: Vec<_> = blocks.iter().map(|block| metadata_of(block)).collect();
    assert_eq!(
        found,
        [
            [r#"a sum+ cumulative "s" "of a""#, r#"b sum+ cumulative "" "of b""#],
            [r#"a sum+ cumulative "ms" "of a""#, r#"a sum+ cumulative "s" "of a""#],
        ]
    );
    let without = AssembleOptions { keep_metadata: false, ..AssembleOptions::default() };
    let (_, blocks) = ingested(lines.into_bytes(), without).unwrap();
    assert_eq!(metadata_of(&blocks[0]), [""; 0]);

    // A metric without points is not known of. One whose points were left out is: it was reported, with labels that are
    // too many for a series.
    let point = format!(r#"{{"timeUnixNano":"{}"}}"#, HOUR + 7);
    let without_points = metric("b", "", 1).replace(&point, "");
    let attributes: Vec<String> =
        (0..600).map(|key| format!(r#"{{"key":"{key}","value":{{"stringValue":"v"}}}}"#)).collect();
    let wide_point = format!(r#"{{"attributes":[{}],{}"#, attributes.join(","), &point[1..]);
    let with_wide_points = metric("c", "", 1).replace(&point, &wide_point);
    let lines = [metric("a", "s", 1), without_points, with_wide_points].concat();
    let (report, blocks) = ingested(lines.into_bytes(), AssembleOptions::default()).unwrap();
    assert_eq!((report.metrics, report.metrics_without_points), (3, 1));
    assert_eq!(metadata_of(&blocks[0]), [r#"a sum+ cumulative "s" "of a""#, r#"c sum+ cumulative "" "of c""#]);

    let text = "# HELP up Whether.\n# TYPE up gauge\nup 1\n# TYPE gone counter\n# a comment\nplain 1\n";
    let (_, blocks) = ingested(text.as_bytes().to_vec(), AssembleOptions::default()).unwrap();
    let expected = [r#"gone sum+ cumulative "" """#, r#"up gauge unspecified "" "Whether.""#];
    assert_eq!(metadata_of(&blocks[0]), expected);
}

#[test]
fn long_metadata_are_cut_as_values_are() {
    let long = "u".repeat(100_000);
    let (_, blocks) = ingested(metric("a", &long, 1).into_bytes(), AssembleOptions::default()).unwrap();
    let policy = chronoxide_format::policy::LabelPolicy::default();
    let cut = policy.value(&long);
    assert_eq!(cut.len(), 2_048);
    assert_eq!(metadata_of(&blocks[0]), [format!("a sum+ cumulative {cut:?} \"of a\"")]);
}

#[test]
fn very_many_windows_are_cut_some_at_a_time() {
    let lines: Vec<String> =
        (0..9_000_u64).map(|hour| format!("up{{n=\"{}\"}} 1 {}", hour % 7, (500_000 + hour) * 3_600_000)).collect();
    let assemble = AssembleOptions { window: NonZeroU64::new(HOUR), ..AssembleOptions::default() };
    let (report, blocks) = ingested((lines.join("\n") + "\n").into_bytes(), assemble).unwrap();
    assert_eq!((report.points, report.blocks), (9_000, 9_000));
    let windows = by_window(&blocks);
    assert_eq!(windows.len(), 9_000);
    assert!(windows.values().all(|series| series.len() == 1));
}

#[test]
fn metadata_survives_a_cut_within_its_metric() {
    let points: Vec<String> =
        (0..5).map(|n| format!(r#"{{"attributes":[{{"key":"n","value":{{"intValue":"{n}"}}}}]}}"#)).collect();
    let metric = format!(r#"{{"name":"a","unit":"s","gauge":{{"dataPoints":[{}]}}}}"#, points.join(","));
    let line = format!("{{\"resourceMetrics\":[{{\"scopeMetrics\":[{{\"metrics\":[{metric}]}}]}}]}}\n");
    let assemble = AssembleOptions { max_series: 2, ..AssembleOptions::default() };
    let (_, blocks) = ingested(line.into_bytes(), assemble).unwrap();
    assert_eq!(blocks.len(), 3);
    // Metadata is known when the metric has ended; two blocks were sealed before that.
    assert_eq!(metadata_of(&blocks[2]), [r#"a gauge unspecified "s" """#]);
}
