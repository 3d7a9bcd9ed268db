//! Queries of a block: selection until the last ref is listed, counts, values of a label, groups and projections.
//!
//! ```sh
//! cargo bench -p chronoxide-commands --bench select
//! CHRONOXIDE_BENCH_LARGE=1 cargo bench -p chronoxide-commands --bench select
//! ```
//!
//! The data are the generated workload: 100,000 series, or a million if `CHRONOXIDE_BENCH_LARGE` is set. The baseline
//! `filter` asks the matchers for each series.

use std::hint::black_box;

use chronoxide_format::SeriesRef;
use chronoxide_format::column::{ColumnMerge, FIRST_TIME, LAST_TIME, Value, ValueType};
use chronoxide_format::view::{BlockView, Paths, TimeRange};
use chronoxide_format::write::{BlockMeta, ColumnWriter, SeriesValues};
use chronoxide_ingest::{AssembleOptions, Assembler};
use chronoxide_labels::{KeysetStore, LabelSetStore, Layout};
use chronoxide_select::{Index, Labels, Matcher, Searcher, Selector};
use chronoxide_workload::{Options, Workload};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use prost::Message;

/// Selectors by kind. The values are those of the workload's first seed.
const SELECTORS: [(&str, &str); 8] = [
    ("name", r#"{__name__="http.server.request.duration"}"#),
    ("presence", r#"{"k8s.pod.uid"!=""}"#),
    ("absence", r#"{"k8s.pod.uid"="",__name__!=""}"#),
    ("prefix", r#"{"k8s.pod.name"=~"f.*"}"#),
    ("contains", r#"{"k8s.pod.name"=~".*kv4.*"}"#),
    ("regex", r#"{"k8s.pod.name"=~".*[0-9]+[a-c].*"}"#),
    ("negation", r#"{"k8s.pod.name"!="x"}"#),
    ("name and prefix", r#"{__name__="http.server.request.duration","k8s.pod.name"=~"f.*"}"#),
];

fn block(series: u64, layout: Layout) -> Vec<u8> {
    let workload = Workload::new(Options { series, ..Options::default() }).expect("valid options");
    let mut assembler = Assembler::new(AssembleOptions { layout, ..AssembleOptions::default() }, Vec::new());
    for request in workload.requests() {
        assembler.otlp_proto(&request.encode_to_vec()).expect("valid requests");
    }
    let (_, blocks) = assembler.finish().expect("within limits");
    blocks.into_iter().next().expect("one block")
}

/// A metric with 43,603 series of a million.
const METRIC: &str = r#"{__name__="http.client.request.duration"}"#;

/// Returns the matchers of a selector with the first pod of the block.
fn equal_to_first(view: &BlockView<'_>, name: &str) -> Vec<Matcher> {
    let key = view.key(name).expect("sound").expect("the workload has the label");
    let value = view.label_values(key).expect("sound").expect("a key").next().expect("a value").expect("sound");
    let value = std::str::from_utf8(value).expect("UTF-8");
    vec![Matcher::new(name, chronoxide_select::Operator::Equal, value).expect("no pattern")]
}

/// Asks the matchers for each series, as code without this crate does.
fn filter(view: &BlockView<'_>, matchers: &[Matcher]) -> u64 {
    let text = view.text().expect("sound");
    let mut count = 0;
    for series in view.series_iter() {
        let series = series.expect("sound");
        let labels: Vec<_> = text.labels(&series).map(|label| label.expect("sound")).collect();
        let value = |name: &str| labels.iter().find(|label| label.name == name).map_or("", |label| label.value);
        count += u64::from(matchers.iter().all(|matcher| matcher.matches(value(matcher.name()))));
    }
    count
}

fn select(criterion: &mut Criterion) {
    let series = if std::env::var_os("CHRONOXIDE_BENCH_LARGE").is_some() { 1_000_000 } else { 100_000 };
    for layout in [Layout::Factored, Layout::BitPacked] {
        let bytes = block(series, layout);
        let paths = Paths::new();
        let view = BlockView::open(&bytes).expect("sound").with_paths(&paths);
        let index = Index::new(&view).expect("sound");
        let searcher = Searcher::new(&view, &index);
        let mut selectors: Vec<(String, Vec<Matcher>)> = SELECTORS
            .iter()
            .map(|(name, text)| ((*name).to_owned(), Selector::parse_any(text).expect("valid").matchers().to_vec()))
            .collect();
        selectors.push(("pod".to_owned(), equal_to_first(&view, "k8s.pod.name")));

        let mut group = criterion.benchmark_group(format!("select/{}/{}", series, layout.name()));
        group.bench_function("index", |bencher| bencher.iter(|| Index::new(&view).expect("sound").allocated()));
        for (name, matchers) in &selectors {
            let expected = searcher.count(matchers).expect("sound");
            assert!(expected > 0 || name == "contains", "{name} selects series");
            group.bench_function(format!("list {name}"), |bencher| {
                bencher.iter(|| {
                    let selection = searcher.select(matchers).expect("sound");
                    selection.iter().map(|series| u64::from(black_box(series).0)).sum::<u64>()
                });
            });
            group.bench_function(format!("count {name}"), |bencher| {
                bencher.iter(|| searcher.count(matchers).expect("sound"));
            });
        }
        let (_, pod) = selectors.last().expect("there are selectors");
        assert_eq!(filter(&view, pod), searcher.count(pod).expect("sound"));
        group.sample_size(10);
        group.bench_function("filter pod", |bencher| bencher.iter(|| filter(&view, pod)));
        group.finish();
        labels(criterion, &searcher, layout, series);
        times(criterion, &view, layout, series);
    }
}

/// Minutes of a day, and of the life of a pod in [`times`].
const DAY: i64 = 1440;
const LIFE: i64 = 14;

/// Time ranges of a day in which pods live for 14 minutes each: one that 1% of the series meet, and most of the day.
/// The baseline `read all labels` reads the series of the day.
fn times(criterion: &mut Criterion, view: &BlockView<'_>, layout: Layout, series: u64) {
    const MINUTE: i64 = 60_000_000_000;
    let column = |name, merge| {
        let writer = ColumnWriter::with_unit(name, ValueType::I64, merge, MINUTE as u64).expect("a column");
        SeriesValues::new(writer)
    };
    let mut first = column(FIRST_TIME, ColumnMerge::Min);
    let mut last = column(LAST_TIME, ColumnMerge::Max);
    let mut store = KeysetStore::new();
    for resolved in view.series_iter() {
        let text = view.text().expect("sound");
        let labels: Vec<_> = text.labels(&resolved.expect("sound")).map(|label| label.expect("sound")).collect();
        let pod = labels.iter().find(|label| label.name == "k8s.pod.name").map_or("", |label| label.value);
        let hash = pod.bytes().fold(0_i64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        let start = if pod.is_empty() { 0 } else { hash.rem_euclid(DAY - LIFE) };
        let end = if pod.is_empty() { DAY } else { start + LIFE };
        let pairs: Vec<(&str, &str)> = labels.iter().map(|label| (label.name, label.value)).collect();
        let (number, _) = store.insert(&pairs).expect("within limits");
        first.set(number.0, Value::I64(start * MINUTE)).expect("a time");
        last.set(number.0, Value::I64(end * MINUTE)).expect("a time");
    }
    let time = Some(TimeRange { start: 0, end: (DAY + 1) * MINUTE });
    let meta = BlockMeta { time, ..BlockMeta::default() };
    let bytes = store.seal_with(layout, &meta, &[first, last]).expect("within limits").block;
    let view = BlockView::open(&bytes).expect("sound");
    let index = Index::new(&view).expect("sound");
    let searcher = Searcher::new(&view, &index);
    let mut group = criterion.benchmark_group(format!("times/{}/{}", series, layout.name()));
    group.sample_size(20);
    let minutes = |from: i64, to: i64| searcher.within(TimeRange { start: from * MINUTE, end: to * MINUTE });
    let part = minutes(700, 701);
    let found = part.count(&[]).expect("sound");
    assert!(found * 25 < series && found * 500 > series, "{found} of {series}");
    for (name, searcher) in [("1% of a day", part), ("a day but a minute", minutes(1, DAY)), ("any time", searcher)] {
        group.bench_function(format!("select in {name}"), |bencher| {
            bencher.iter(|| searcher.select(&[]).expect("sound").count());
        });
        group.bench_function(format!("values of pod in {name}"), |bencher| {
            bencher.iter(|| searcher.label_values("k8s.pod.name", &[], None).expect("sound").len());
        });
    }
    group.bench_function("read all labels", |bencher| {
        let all = SeriesRef(0)..SeriesRef(u32::try_from(series).expect("few"));
        let mut resolver = view.resolver();
        bencher.iter(|| {
            let labels = |series: u32| resolver.labels(SeriesRef(series)).expect("sound").map_or(0, <[_]>::len);
            (all.start.0..all.end.0).map(labels).sum::<usize>()
        });
    });
    group.finish();
}

/// Values, groups, projections and fingerprints.
fn labels(criterion: &mut Criterion, searcher: &Searcher<'_, '_>, layout: Layout, series: u64) {
    let metric: Selector = METRIC.parse().expect("valid");
    let mut group = criterion.benchmark_group(format!("labels/{}/{}", series, layout.name()));
    group.sample_size(20);
    group.bench_function("values of pod, of a metric", |bencher| {
        bencher.iter(|| searcher.label_values("k8s.pod.name", metric.matchers(), None).expect("sound").len());
    });
    group.bench_function("values of names, of a namespace", |bencher| {
        let namespace: Selector = r#"{"k8s.namespace.name"="search"}"#.parse().expect("valid");
        bencher.iter(|| searcher.label_values("__name__", namespace.matchers(), None).expect("sound").len());
    });
    group.bench_function("select a metric and project two labels", |bencher| {
        bencher.iter(|| {
            let refs: Vec<SeriesRef> = searcher.select(metric.matchers()).expect("sound").iter().collect();
            searcher.project(&refs, &["k8s.pod.name", "http.response.status_code"]).expect("sound").codes(0).len()
        });
    });
    group.bench_function("select a metric and walk all labels", |bencher| {
        let mut resolver = searcher.view().resolver();
        bencher.iter(|| {
            let selection = searcher.select(metric.matchers()).expect("sound");
            let mut bytes = 0;
            for series in &selection {
                let labels = resolver.labels(series).expect("sound").expect("in range");
                bytes += labels.iter().map(|label| label.value.len()).sum::<usize>();
            }
            bytes
        });
    });
    find(&mut group, searcher, series);
    let all = searcher.select(&[]).expect("sound");
    group.throughput(Throughput::Elements(series));
    for (name, kept) in [
        ("group by one", Labels::By(&["k8s.namespace.name"])),
        ("group by three", Labels::By(&["k8s.namespace.name", "__name__", "service.name"])),
        ("group without two", Labels::Without(&["k8s.pod.name", "service.instance.id"])),
    ] {
        assert_eq!(searcher.group(&all, kept).expect("sound").numbers().len() as u64, series);
        group.bench_function(name, |bencher| bencher.iter(|| searcher.group(&all, kept).expect("sound").count()));
    }
    let two = Labels::Without(&["k8s.pod.name", "service.instance.id"]);
    let groups = searcher.group(&all, two).expect("sound").count() as u64;
    assert_eq!(searcher.count_groups(two).expect("sound"), groups);
    group.bench_function("count groups without two", |bencher| {
        bencher.iter(|| searcher.count_groups(two).expect("sound"));
    });
    let name = searcher.view().key("__name__").expect("sound").expect("the workload has names");
    group.bench_function("text bytes by name", |bencher| {
        bencher.iter(|| searcher.text_bytes(name).expect("sound").absent());
    });
    group.bench_function("fingerprints", |bencher| {
        bencher.iter(|| searcher.fingerprints(&all, Labels::All).expect("sound").len());
    });
    let random: Vec<SeriesRef> = (0..100_000_u64).map(|n| SeriesRef(((n * 2_654_435_761) % series) as u32)).collect();
    group.throughput(Throughput::Elements(random.len() as u64));
    group.bench_function("project two keys, at random", |bencher| {
        bencher.iter(|| searcher.project(&random, &["k8s.pod.name", "__name__"]).expect("sound").codes(0).len());
    });
    group.bench_function("resolve, at random", |bencher| {
        let mut resolver = searcher.view().resolver();
        bencher.iter(|| {
            let labels = |series: &SeriesRef| resolver.labels(*series).expect("sound").expect("in range").len();
            random.iter().map(labels).sum::<usize>()
        });
    });
    group.finish();
}

/// Searches for labelsets at random, and for such that the block lacks.
fn find(group: &mut BenchmarkGroup<'_, WallTime>, searcher: &Searcher<'_, '_>, series: u64) {
    type Labelset = Vec<(Vec<u8>, Vec<u8>)>;
    let labelset = |number: u64| -> Labelset {
        let random = SeriesRef(((number * 2_654_435_761) % series) as u32);
        let labels = searcher.view().series(random).expect("sound").expect("in range");
        labels.labels().map(|label| label.expect("sound")).map(|l| (l.name.to_vec(), l.value.to_vec())).collect()
    };
    let known: Vec<Labelset> = (0..1000).map(labelset).collect();
    let mut unknown_pod = known.clone();
    let mut unknown_name = known.clone();
    for labels in &mut unknown_pod {
        labels.iter_mut().filter(|(name, _)| name == b"k8s.pod.name").for_each(|(_, value)| value.push(b'x'));
    }
    for labels in &mut unknown_name {
        labels.push((b"no such name".to_vec(), b"x".to_vec()));
    }
    group.throughput(Throughput::Elements(known.len() as u64));
    for (name, labelsets) in [("find", &known), ("miss a pod", &unknown_pod), ("miss a name", &unknown_name)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| labelsets.iter().filter(|labels| searcher.find(labels).expect("sound").is_some()).count());
        });
    }
    group.bench_function("find, without the index", |bencher| {
        let find = |labels: &Labelset| {
            let labels = labels.iter().map(|(name, value)| (name, value));
            searcher.view().find(labels).expect("sound").is_some()
        };
        bencher.iter(|| known.iter().filter(|labels| find(labels)).count());
    });
}

criterion_group!(benches, select);
criterion_main!(benches);
