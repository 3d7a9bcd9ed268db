//! Blocks have the first and last time of each series within their window, rounded outwards.

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::num::NonZeroU64;
use std::path::Path;

use chronoxide_format::column::{ColumnMerge, ValueType};
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_ingest::input::{Format, Source};
use chronoxide_ingest::prometheus::wal::HeadChunk;
use chronoxide_ingest::{AssembleOptions, Ingest, IngestOptions};
use chronoxide_testkit::random::Random;
use chronoxide_workload::{Options, Workload, encode};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;

use crate::canonical::{Labels, Times, block_times};
use crate::prometheus_remote_write as remote_write;
use crate::prometheus_wal::{head_chunks, samples_record, segment, series_record};
use crate::tsdb_folder::{Data as Folder, series};

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// Times of the series of each window, by the start of the window.
type Windows = BTreeMap<Option<i64>, BTreeMap<Labels, Times>>;

fn options(step: u64) -> AssembleOptions {
    AssembleOptions { time_step: NonZeroU64::new(step), ..AssembleOptions::default() }
}

fn ingested(content: &[u8], format: Option<Format>, assemble: AssembleOptions) -> Vec<Vec<u8>> {
    let mut ingest = Ingest::new(IngestOptions { format, assemble, ..IngestOptions::default() }, Vec::new());
    ingest.read(Source::new("capture".to_owned(), Cursor::new(content.to_vec())).unwrap()).unwrap();
    ingest.finish().unwrap().1
}

/// Times of the series of blocks. Those of a series in several blocks of a window are combined.
fn times_of(blocks: &[Vec<u8>]) -> Windows {
    let mut windows = Windows::new();
    for block in blocks {
        let window = BlockView::open(block).unwrap().meta().unwrap().window().map(|window| window.start);
        for (labels, (first, last)) in block_times(block) {
            let known = windows.entry(window).or_default().entry(labels).or_insert((first, last));
            *known = (known.0.into_iter().chain(first).min(), known.1.into_iter().chain(last).max());
        }
    }
    windows
}

/// Returns the multiples of `step` around two times.
fn outwards(first: i64, last: i64, step: u64) -> Times {
    let step = i128::from(step);
    let (first, last) = (i128::from(first), i128::from(last));
    let (down, up) = (first - first.rem_euclid(step), last + (-last).rem_euclid(step));
    (i64::try_from(down).ok(), i64::try_from(up).ok())
}

/// Points of series, and what blocks must have of them.
#[derive(Default)]
struct Model(Vec<(Labels, i64)>);

impl Model {
    fn windows(&self, window: Option<u64>, step: u64) -> Windows {
        let mut all: BTreeMap<Option<i64>, BTreeMap<Labels, Vec<i64>>> = BTreeMap::new();
        for (labels, time) in &self.0 {
            let start = window.map(|window| time.div_euclid(window as i64) * window as i64);
            all.entry(start).or_default().entry(labels.clone()).or_default().push(*time);
        }
        let ends = |times: Vec<i64>| outwards(*times.iter().min().unwrap(), *times.iter().max().unwrap(), step);
        let series = |all: BTreeMap<Labels, Vec<i64>>| all.into_iter().map(|(labels, times)| (labels, ends(times)));
        all.into_iter().map(|(window, all)| (window, series(all).collect())).collect()
    }
}

/// Gives each point of a request a random time, and returns these times in their order.
fn set_times(request: &mut ExportMetricsServiceRequest, random: &mut Random, start: u64) -> Vec<i64> {
    let mut times = Vec::new();
    let mut next = |place: &mut u64| {
        *place = start + random.below(3 * HOUR as usize) as u64;
        times.push(*place as i64);
    };
    let resources = request.resource_metrics.iter_mut();
    let metrics = resources.flat_map(|resource| &mut resource.scope_metrics).flat_map(|scope| &mut scope.metrics);
    for data in metrics.filter_map(|metric| metric.data.as_mut()) {
        match data {
            Data::Gauge(data) => data.data_points.iter_mut().for_each(|point| next(&mut point.time_unix_nano)),
            Data::Sum(data) => data.data_points.iter_mut().for_each(|point| next(&mut point.time_unix_nano)),
            Data::Histogram(data) => data.data_points.iter_mut().for_each(|point| next(&mut point.time_unix_nano)),
            Data::ExponentialHistogram(data) => {
                data.data_points.iter_mut().for_each(|point| next(&mut point.time_unix_nano));
            }
            Data::Summary(data) => data.data_points.iter_mut().for_each(|point| next(&mut point.time_unix_nano)),
        }
    }
    times
}

/// A stream whose series have several points, as protobuf and as JSON, and its points.
fn stream(series: u64, seed: u64) -> ([Vec<u8>; 2], Model) {
    let workload = Workload::new(Options { series, windows: 0..2, scrapes: 4, ..Options::default() }).unwrap();
    let (mut random, mut model) = (Random::new(seed), Model::default());
    let [mut proto, mut json] = [Vec::new(), Vec::new()];
    for mut request in workload.requests() {
        let times = set_times(&mut request, &mut random, 1_735_689_600 * SECOND);
        encode::write_otlp_proto(&request, &mut proto).unwrap();
        encode::write_otlp_json(&request, &mut json).unwrap();
        let mut times = times.into_iter();
        chronoxide_workload::visit_labelsets(&request, |labels| {
            let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
            model.0.push((labels, times.next().unwrap()));
        });
        assert_eq!(times.next(), None);
    }
    ([proto, json], model)
}

#[test]
fn otlp_gives_the_first_and_last_time_of_each_series_and_window() {
    let (contents, model) = stream(400, 1);
    for content in contents {
        for (window, step) in [(None, MINUTE), (Some(HOUR), MINUTE), (Some(HOUR), 7 * SECOND + 1), (None, 1)] {
            let assemble = AssembleOptions { window: window.and_then(NonZeroU64::new), ..options(step) };
            let blocks = ingested(&content, None, assemble);
            assert_eq!(times_of(&blocks), model.windows(window, step), "{window:?} {step}");
            for block in &blocks {
                let view = BlockView::open(block).unwrap();
                let columns = view.series_columns().map(|column| {
                    let column = column.unwrap();
                    (column.name(), column.value_type(), column.merge(), column.unit())
                });
                assert_eq!(
                    columns.collect::<Vec<_>>(),
                    [
                        ("chronoxide.first_time", ValueType::I64, ColumnMerge::Min, step),
                        ("chronoxide.last_time", ValueType::I64, ColumnMerge::Max, step)
                    ]
                );
            }
        }
    }
}

#[test]
fn cuts_lose_no_time() {
    let ([content, _], model) = stream(500, 2);
    for (max_series, max_memory) in [(30, None), (200, None), (u32::MAX, Some(5 << 18))] {
        let window = NonZeroU64::new(HOUR);
        let assemble = AssembleOptions { window, max_series, max_memory, ..options(SECOND) };
        let blocks = ingested(&content, None, assemble);
        assert!(blocks.len() > 4, "{max_series} {max_memory:?}: {} blocks", blocks.len());
        assert_eq!(times_of(&blocks), model.windows(Some(HOUR), SECOND), "{max_series} {max_memory:?}");
    }
}

#[test]
fn layouts_have_the_same_times() {
    let ([content, _], model) = stream(300, 3);
    for layout in chronoxide_labels::Layout::ALL {
        for archive in [false, true] {
            let blocks = ingested(&content, None, AssembleOptions { layout, archive, ..options(MINUTE) });
            let mut arena = Vec::new();
            let view = BlockView::open_unpacked(&blocks[0], &mut arena).unwrap();
            view.verify().unwrap();
            if !archive {
                assert_eq!(times_of(&blocks), model.windows(None, MINUTE), "{layout:?}");
            }
        }
    }
}

fn labels(text: &str) -> Labels {
    let pairs = text.split(' ').map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Asserts the times of series of one block, in seconds.
#[track_caller]
fn assert_seconds(blocks: &[Vec<u8>], expected: &[(&str, Option<(i64, i64)>)]) {
    let [block] = blocks else { panic!("{} blocks", blocks.len()) };
    let nanoseconds = |time: i64| time * SECOND as i64;
    let times =
        |times: &Option<(i64, i64)>| (times.map(|times| nanoseconds(times.0)), times.map(|times| nanoseconds(times.1)));
    let expected = expected.iter().map(|(text, seconds)| (labels(text), times(seconds))).collect();
    assert_eq!(block_times(block), expected);
}

#[test]
fn exposition_gives_the_times_of_its_samples() {
    let text = "up{job=\"a\"} 1 1700000030000\nup{job=\"b\"} 1\nup{job=\"a\"} 1 1699999990500\nold 1 -61\n";
    assert_seconds(
        &ingested(text.as_bytes(), Some(Format::PrometheusText), options(MINUTE)),
        &[
            ("__name__=up job=a", Some((1_699_999_980, 1_700_000_040))),
            ("__name__=up job=b", None),
            ("__name__=old", Some((-120, -60))),
        ],
    );
    let open = "up{job=\"a\"} 1 1700000030.25\nup{job=\"b\"} 1\n# EOF\n";
    assert_seconds(
        &ingested(open.as_bytes(), Some(Format::OpenMetrics), options(SECOND)),
        &[("__name__=up job=a", Some((1_700_000_030, 1_700_000_031))), ("__name__=up job=b", None)],
    );
    // A family `up` with a gauge at 90,500 ms, as protobuf, after its length.
    let gauge = [&[0x12, 9, 9][..], &1.0_f64.to_le_bytes(), &[0x30, 0x84, 0xc3, 0x05]].concat();
    let family = [&[0x0a, 2, b'u', b'p', 0x18, 1, 0x22, gauge.len() as u8][..], &gauge].concat();
    let message = [&[family.len() as u8][..], &family].concat();
    assert_seconds(
        &ingested(&message, Some(Format::PrometheusProto), options(MINUTE)),
        &[("__name__=up", Some((60, 120)))],
    );
}

#[test]
fn remote_write_gives_the_times_of_samples_and_histograms() {
    let named = |name: &str| vec![("__name__".to_owned(), name.to_owned())];
    // The last of these lies within a step of the greatest time, and the first within one of the least.
    let ends = [i64::MIN / 1_000_000, i64::MAX / 1_000_000];
    let all = [
        (named("up"), vec![3_000, -1, 59_999], vec![60_001]),
        (named("silent"), vec![], vec![]),
        (named("edges"), ends.to_vec(), vec![]),
        (named("latest"), vec![ends[1]], vec![]),
    ];
    let first_of_latest = outwards(ends[1] * 1_000_000, 0, MINUTE).0;
    let minute = MINUTE as i64;
    let expected = BTreeMap::from([
        (labels("__name__=up"), (Some(-minute), Some(2 * minute))),
        (labels("__name__=silent"), (None, None)),
        (labels("__name__=edges"), (None, None)),
        (labels("__name__=latest"), (first_of_latest, None)),
    ]);
    assert!(first_of_latest.is_some());
    for body in
        [remote_write::body(&remote_write::in_version_1(&all)), remote_write::body(&remote_write::in_version_2(&all))]
    {
        let blocks = ingested(&body, Some(Format::RemoteWrite), options(MINUTE));
        assert_eq!(block_times(&blocks[0]), expected);
    }
}

#[test]
fn blocks_of_prometheus_give_the_times_of_their_chunks() {
    let data = Folder::new();
    let model = [
        series("a", &[(-5, 7), (8, 8), (500, 61_001)]),
        series("b", &[(60_000, 120_000)]),
        series("c", &[]),
        series("d", &[(i64::MAX / 1_000_000 - 1, i64::MAX / 1_000_000)]),
        // A time that does not fit is none.
        series("e", &[(i64::MAX - 1, i64::MAX)]),
    ];
    data.block("A", &model.into(), 2, "{}");
    let mut ingest = Ingest::new(IngestOptions { assemble: options(MINUTE), ..IngestOptions::default() }, Vec::new());
    ingest.read_tsdb_block(&data.path("A")).unwrap();
    let found = block_times(&ingest.finish().unwrap().1[0]);
    let minute = MINUTE as i64;
    let expected = BTreeMap::from([
        (labels("__name__=a"), (Some(-minute), Some(2 * minute))),
        (labels("__name__=b"), (Some(minute), Some(2 * minute))),
        (labels("__name__=c"), (None, None)),
        (labels("__name__=d"), (Some(i64::MAX / minute * minute), None)),
        (labels("__name__=e"), (None, None)),
    ]);
    assert_eq!(found, expected);
}

#[test]
fn logs_give_the_times_of_samples_and_head_chunks_within_windows() {
    let data = Folder::new();
    let (a, b, c) = ([("__name__", "a")], [("__name__", "b")], [("__name__", "c")]);
    let hour = HOUR as i64 / 1_000_000;
    let records = [
        (0, series_record(&[(1, &a), (2, &b), (3, &c)])),
        (0, samples_record(&[(1, hour + 90_000), (1, 1_000), (1, hour + 30_000), (2, 5_000)])),
    ];
    data.write("wal/00000000", &segment(&records));
    // A chunk of three hours.
    let chunk = HeadChunk { reference: 3, first: 1_500, last: 2 * hour + 61_000 };
    data.write("chunks_head/000001", &head_chunks(&[chunk]));
    let read = |window| {
        let assemble = AssembleOptions { window, ..options(MINUTE) };
        let mut ingest = Ingest::new(IngestOptions { assemble, ..IngestOptions::default() }, Vec::new());
        ingest.read_wal(&data.path("wal")).unwrap();
        times_of(&ingest.finish().unwrap().1)
    };
    let minutes = |first: i64, last: i64| (Some(first * MINUTE as i64), Some(last * MINUTE as i64));
    let series = |all: &[(&str, Times)]| all.iter().map(|(name, times)| (labels(name), *times)).collect();
    let a = |first, last| ("__name__=a", minutes(first, last));
    let b = ("__name__=b", minutes(0, 1));
    let c = |first, last| ("__name__=c", minutes(first, last));
    assert_eq!(read(None), Windows::from([(None, series(&[a(0, 62), b, c(0, 122)]))]));
    let start = |hours: i64| Some(hours * HOUR as i64);
    let expected = [
        (start(0), series(&[a(0, 1), b, c(0, 60)])),
        (start(1), series(&[a(60, 62), c(60, 120)])),
        (start(2), series(&[c(120, 122)])),
    ];
    assert_eq!(read(NonZeroU64::new(HOUR)), Windows::from(expected));
}

/// Series as Prometheus's own TSDB lists it (`testdata/captures/tools/tsdb`), with times in milliseconds.
#[derive(serde::Deserialize)]
struct Listed {
    labels: Labels,
    first: i64,
    last: i64,
}

#[test]
fn data_folders_have_the_times_that_prometheus_lists() {
    for name in ["prometheus-data", "prometheus-data-st"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures").join(name);
        for step in [MILLISECOND, MINUTE] {
            let options = IngestOptions { assemble: options(step), ..IngestOptions::default() };
            let mut ingest = Ingest::new(options, Vec::new());
            for entry in fs::read_dir(folder.join("data")).unwrap() {
                let path = entry.unwrap().path();
                if path.join("meta.json").is_file() {
                    ingest.read_tsdb_block(&path).unwrap();
                }
            }
            ingest.read_wal(&folder.join("data/wal")).unwrap();
            let blocks = ingest.finish().unwrap().1;
            let mut found = BTreeMap::new();
            for (labels, times) in times_of(&blocks).into_values().flatten() {
                assert_eq!(found.insert(labels, times), None, "it is one block");
            }
            let text = fs::read_to_string(folder.join("series.jsonl")).unwrap();
            let listed = text.lines().map(|line| serde_json::from_str::<Listed>(line).unwrap());
            let expected = listed.map(|Listed { labels, first, last }| {
                (labels, outwards(first * MILLISECOND as i64, last * MILLISECOND as i64, step))
            });
            let expected: BTreeMap<Labels, Times> = expected.collect();
            assert!(expected.len() > 20, "{name}: {} series", expected.len());
            assert_eq!(found, expected, "{name} {step}");
        }
    }
}

#[test]
fn blocks_without_times_have_no_columns_unless_the_options_give_one() {
    let lines = b"{\"__name__\":\"up\"}\n{\"__name__\":\"down\"}\n";
    let columns = |blocks: &[Vec<u8>]| {
        let view = BlockView::open(&blocks[0]).unwrap();
        view.series_columns().map(|column| column.unwrap().name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(columns(&ingested(lines, None, options(MINUTE))), [""; 0]);
    assert_eq!(columns(&ingested(b"", Some(Format::SeriesJson), options(MINUTE))), [""; 0]);
    let range = TimeRange { start: 30 * SECOND as i64, end: 120 * SECOND as i64 + 1 };
    let blocks = ingested(lines, None, AssembleOptions { time: Some(range), ..options(MINUTE) });
    assert_seconds(&blocks, &[("__name__=up", Some((0, 120))), ("__name__=down", Some((0, 120)))]);
    // Without the option, there are none either.
    let blocks = ingested(lines, None, AssembleOptions { time: Some(range), ..AssembleOptions::default() });
    assert_eq!(columns(&blocks), [""; 0]);
}
