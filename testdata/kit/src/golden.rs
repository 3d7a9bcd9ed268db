//! The golden blocks: small, and together everything that the format can say.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_format::identity::{BlockId, BlockIdHasher, SectionHasher};
use chronoxide_format::layout::{LOSS_MATTERS, OPTIONAL, PRIVATE, RowForm, SectionKind};
use chronoxide_format::metadata::{MetricMetadata, MetricType, Monotonicity, Temporality};
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::{Job, TimeRange};
use chronoxide_format::write::{BlockMeta, SectionBytes};
use chronoxide_labels::{KeysetStore, LabelSetStore, Layout};

use crate::columns;
use crate::editor::{BlockEditor, reseal};
use crate::plan::{KeysetPlan, Labelset, Plan, Source, build, key};

/// A block and the name of its files.
#[derive(Clone, Debug)]
pub struct Golden {
    /// File name without ending.
    pub name: &'static str,
    /// The block.
    pub bytes: Vec<u8>,
    /// Description of the content.
    pub series: BTreeSet<Labelset>,
}

/// All golden blocks, in the order of their names.
#[must_use]
pub fn goldens() -> Vec<Golden> {
    let bit_packed = RowForm::BitPacked;
    let fixed_width = RowForm::FixedWidth;
    let mut goldens = vec![
        golden("chain-bitpacked", pods(), &chain(), bit_packed),
        golden("chain-fixedwidth", pods(), &chain(), fixed_width),
        golden("empty", BTreeSet::new(), &Plan::default(), bit_packed),
        golden("limit-depth", deep_labels(), &deep(), bit_packed),
        golden("limit-labels", many_labels(), &Plan::default(), bit_packed),
        golden("limit-symbols", long_symbols(), &Plan::default(), bit_packed),
        golden("lists-bitpacked", histograms(), &lists(), bit_packed),
        golden("lists-fixedwidth", histograms(), &lists(), fixed_width),
        golden("lists-split", jobs(), &job_lists(), bit_packed),
        golden("many-chunks", many_series(), &Plan::default(), bit_packed),
        golden("many-fixedwidth", few_chunks(), &Plan::default(), fixed_width),
        everything_in_meta(),
        metrics(),
        ignored_metrics(),
        later_metrics(),
        later_minor(),
        loss_matters(),
        golden("one-series", series(&[&[("__name__", "up"), ("job", "api")]]), &Plan::default(), bit_packed),
        golden("plain-bitpacked", small(), &Plan::default(), bit_packed),
        golden("plain-fixedwidth", small(), &Plan::default(), fixed_width),
        planned(),
        planned_small(),
        read_only(),
        golden("shared-table", pods(), &shared(), bit_packed),
        golden("strings", strings(), &Plan::default(), bit_packed),
        golden("unicode", unicode(), &Plan::default(), bit_packed),
        with_meta(
            "from-1970",
            small(),
            &BlockMeta { time: Some(TimeRange { start: 0, end: 1 }), ..BlockMeta::default() },
        ),
        before_1970(),
        long_front(),
    ];
    goldens.extend(columns::goldens());
    goldens.sort_by_key(|golden| golden.name);
    goldens
}

fn golden(name: &'static str, series: BTreeSet<Labelset>, plan: &Plan, form: RowForm) -> Golden {
    let bytes = build(&series, plan, form, &BlockMeta::default()).expect("golden blocks are sound");
    Golden { name, bytes, series }
}

/// A block with plain rows.
pub(crate) fn with_meta(name: &'static str, series: BTreeSet<Labelset>, meta: &BlockMeta) -> Golden {
    let bytes = build(&series, &Plan::default(), RowForm::BitPacked, meta).expect("golden blocks are sound");
    Golden { name, bytes, series }
}

/// A block that is taken apart, changed and put together again.
fn edited(golden: Golden, change: impl FnOnce(&mut BlockEditor)) -> Golden {
    let mut editor = BlockEditor::open(&golden.bytes);
    change(&mut editor);
    Golden { bytes: editor.close(), ..golden }
}

/// Times before 1970, which are not in the id of the block.
fn before_1970() -> Golden {
    let time = Some(TimeRange { start: -1_500_000, end: -1 });
    let window = Some(TimeRange { start: -3_600_000_000_000, end: 0 });
    with_meta("before-1970", small(), &BlockMeta { time, window, ..BlockMeta::default() })
}

/// A front of more than a chunk, so that the first chunk of the grid is empty.
fn long_front() -> Golden {
    let parents = (0..600_u32).map(|number| BlockId(u128::from(number).to_be_bytes())).collect();
    let job = Some(Job { id: *b"job of many days", output: 0, output_count: 1 });
    with_meta("long-front", small(), &BlockMeta { parents, job, ..BlockMeta::default() })
}

/// Text that is easily taken for other text: U+0000 first, within and last, also in names; characters whose order in
/// UTF-16 is not that of their bytes; two encodings of one glyph.
fn strings() -> BTreeSet<Labelset> {
    series(&[
        &[("\0", "\0"), ("zero", "\0")],
        &[("\0reserved", "a"), ("zero", "a\0b")],
        &[("na\0me", "a"), ("zero", "b\0")],
        &[("na", "a"), ("zero", "b")],
        &[("order", "\u{ff5e}")],
        &[("order", "\u{fffd}")],
        &[("order", "\u{10000}")],
        &[("order", "\u{d7ff}")],
        &[("glyph", "\u{e9}")],
        &[("glyph", "e\u{301}")],
    ])
}

fn labelset(labels: &[(&str, &str)]) -> Labelset {
    labels.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn series(labelsets: &[&[(&str, &str)]]) -> BTreeSet<Labelset> {
    labelsets.iter().map(|labels| labelset(labels)).collect()
}

/// Three keysets, one within another, one of a single key; a key whose value never changes.
pub(crate) fn small() -> BTreeSet<Labelset> {
    series(&[
        &[("__name__", "up"), ("job", "api"), ("pod", "api-1")],
        &[("__name__", "up"), ("job", "api"), ("pod", "api-2")],
        &[("__name__", "up"), ("job", "db"), ("pod", "db-1")],
        &[("__name__", "requests_total"), ("job", "api"), ("pod", "api-1")],
        &[("__name__", "up"), ("job", "api")],
        &[("__name__", "build_info"), ("job", "db")],
        &[("__name__", "up")],
        &[("job", "api"), ("zone", "a")],
        &[("job", "api"), ("zone", "b")],
        &[("job", "api"), ("zone", "c")],
    ])
}

fn unicode() -> BTreeSet<Labelset> {
    series(&[
        &[("__name__", "größe"), ("stadt", "Zürich")],
        &[("__name__", "größe"), ("stadt", "東京")],
        &[("__name__", "größe"), ("stadt", "🦀 crab\u{200d}")],
        &[("quoted \"name\"", "back\\slash\n\t\u{7f}\u{202e}\u{feff}"), ("stadt", "e\u{301}")],
        &[("http.status_code", "200"), ("stadt", "\u{10ffff}")],
    ])
}

/// Five pods on three nodes in two zones; two metrics that all have and one that only two have.
pub(crate) fn pods() -> BTreeSet<Labelset> {
    let pods = [
        ("api-1", "node-a", "zone-1"),
        ("api-2", "node-b", "zone-1"),
        ("db-1", "node-b", "zone-1"),
        ("db-2", "node-c", "zone-2"),
        ("web-1", "node-c", "zone-2"),
    ];
    let mut series = BTreeSet::new();
    for (pod, node, zone) in pods {
        let place = [("node", node), ("pod", pod), ("zone", zone)];
        for (metric, core) in [("cpu", "0"), ("cpu", "1"), ("load", "0")] {
            let own = [("__name__", metric), ("core", core)];
            series.insert(labelset(&[&place[..], &own].concat()));
        }
        series.insert(labelset(&[&place[..], &[("__name__", "up")]].concat()));
        if pod.starts_with("db") {
            series.insert(labelset(&[&place[..], &[("__name__", "pages"), ("table", "users")]].concat()));
        }
    }
    series
}

fn keyset(names: &[&str], columns: &[Source], list: Option<Source>) -> (Vec<String>, KeysetPlan) {
    let names = names.iter().map(|&name| name.to_owned()).collect();
    (names, KeysetPlan { columns: columns.to_vec(), list })
}

/// Labels that describe a pod are one row of a shared table.
pub(crate) fn shared() -> Plan {
    Plan {
        tables: vec![vec![key("node"), key("pod"), key("zone")]],
        keysets: BTreeMap::from([
            keyset(
                &["__name__", "core", "node", "pod", "zone"],
                &[key("__name__"), key("core"), Source::Table(0)],
                None,
            ),
            keyset(&["__name__", "node", "pod", "zone"], &[key("__name__"), Source::Table(0)], None),
        ]),
    }
}

/// Pod, node and zone are a chain of tables; the keyset that two pods have goes through a map.
pub(crate) fn chain() -> Plan {
    let (node, pod, databases) = (Source::Table(0), Source::Table(1), Source::Table(2));
    Plan {
        tables: vec![vec![key("node"), key("zone")], vec![node, key("pod")], vec![pod.clone()], vec![key("__name__")]],
        keysets: BTreeMap::from([
            keyset(&["__name__", "core", "node", "pod", "zone"], &[Source::Table(3), key("core"), pod.clone()], None),
            keyset(&["__name__", "node", "pod", "zone"], &[key("__name__"), pod], None),
            keyset(&["__name__", "node", "pod", "table", "zone"], &[key("__name__"), databases, key("table")], None),
        ]),
    }
}

/// Histograms: 20 routes with one of two sets of bounds, over two methods.
pub(crate) fn histograms() -> BTreeSet<Labelset> {
    let mut series = BTreeSet::new();
    for route in 0..20 {
        let route = format!("/route/{route}");
        let bounds: &[&str] = if route.ends_with('7') { &["0.1", "1", "+Inf"] } else { &["0.5", "+Inf"] };
        for le in bounds {
            series.insert(labelset(&[("__name__", "latency_bucket"), ("le", le), ("route", &route)]));
        }
        for method in ["GET", "PUT"] {
            for code in ["200", "404", "500"] {
                // One of the combinations is missing.
                if route != "/route/3" || code != "404" {
                    let own = [("__name__", "requests"), ("code", code), ("method", method), ("route", &route)];
                    series.insert(labelset(&own));
                }
            }
        }
    }
    series
}

/// Lists over a dictionary, and over a shared table whose keys stand between those of the prefix.
pub(crate) fn lists() -> Plan {
    Plan {
        tables: vec![vec![key("code"), key("method")]],
        keysets: BTreeMap::from([
            keyset(&["__name__", "le", "route"], &[key("__name__"), key("route")], Some(key("le"))),
            keyset(&["__name__", "code", "method", "route"], &[key("__name__"), key("route")], Some(Source::Table(0))),
        ]),
    }
}

/// Twelve jobs on some of 64 pods: about every eighth, so that split lists have low bits.
fn jobs() -> BTreeSet<Labelset> {
    let mut series = BTreeSet::new();
    for job in 0..12_u32 {
        for pod in (0..64_u32).filter(|pod| (pod * 37 + job * 11) % 64 % 8 == job % 8 || *pod == job * 5) {
            series.insert(labelset(&[("job", &format!("job-{job:02}")), ("pod", &format!("pod-{pod:02}"))]));
        }
    }
    series
}

/// Lists of the pods of each job.
fn job_lists() -> Plan {
    Plan { tables: Vec::new(), keysets: BTreeMap::from([keyset(&["job", "pod"], &[key("job")], Some(key("pod")))]) }
}

fn deep_labels() -> BTreeSet<Labelset> {
    (0..6)
        .map(|n: u32| {
            let value = |by: u32| format!("{}", n / by);
            let divisors = [4, 3, 2, 1, 6, 4, 3, 2, 6, 5, 6];
            ('a'..).zip(divisors).map(|(name, by)| (name.to_string(), value(by))).collect()
        })
        .collect()
}

/// Tables as deep as they may be.
fn deep() -> Plan {
    let below = |table: usize, name: &str| vec![Source::Table(table), key(name)];
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    let chain = (0..).zip(&names[2..10]).map(|(table, name)| below(table, name));
    Plan {
        tables: [vec![key("a"), key("b")]].into_iter().chain(chain).collect(),
        keysets: BTreeMap::from([keyset(&names, &below(8, "k"), None)]),
    }
}

/// A series with as many labels as it may have.
fn many_labels() -> BTreeSet<Labelset> {
    let labels = |last: &str| -> Labelset {
        (0..1023).map(|n| (format!("k{n:04}"), if n == 1022 { last.to_owned() } else { "v".to_owned() })).collect()
    };
    [labels("v"), labels("w")].into()
}

/// A name and a value as long as they may be.
fn long_symbols() -> BTreeSet<Labelset> {
    [[("n".repeat(65_535), "v".repeat(65_535))].into()].into()
}

/// Enough series for several chunks in rows and arena.
pub(crate) fn many_series() -> BTreeSet<Labelset> {
    (0..3000_u32)
        .map(|n| {
            let scattered = n.wrapping_mul(2_654_435_761);
            let labels = [
                ("__name__", format!("metric_{:02}", n % 37)),
                ("instance", format!("10.0.{}.{}", (n / 250) % 16, n % 250)),
                ("request", format!("{scattered:08x}")),
            ];
            labels.map(|(name, value)| (name.to_owned(), value)).into()
        })
        .collect()
}

/// More values than 8 bits count, so that rows of fixed width have fields of 16 bits.
fn few_chunks() -> BTreeSet<Labelset> {
    (0..300)
        .map(|n| [("host".to_owned(), format!("h{n:03}")), ("zone".to_owned(), format!("z{}", n % 3))].into())
        .collect()
}

/// The planner's result for pods in two keysets: a table of pods, one of points, and lists of both.
fn planned() -> Golden {
    let mut series: BTreeSet<Labelset> = BTreeSet::new();
    for pod in 0..40_u32 {
        let service = pod % 5;
        let resource = [
            ("pod".to_owned(), format!("service-{service}-{:x}", pod * 7919 % 4096)),
            ("node".to_owned(), format!("node-{}", pod % 9)),
            ("service".to_owned(), format!("service-{service}")),
            ("zone".to_owned(), ["a", "b", "c"][pod as usize % 9 % 3].to_owned()),
        ];
        // A pod lacks a point now and then, so that lists differ.
        for point in (0..18_u32).filter(|point| (pod / 5 + point) % 11 > 0) {
            let route = format!("/v1/items/{}", point / 3);
            let status = ["200", "404", "500"][point as usize % 3].to_owned();
            let name = ("__name__".to_owned(), "requests".to_owned());
            let labels = [name, ("route".to_owned(), route), ("status".to_owned(), status)];
            series.insert(labels.into_iter().chain(resource.clone()).collect::<Labelset>());
        }
        for name in ["heap", "threads", "uptime"] {
            let labels = [("__name__".to_owned(), name.to_owned())];
            series.insert(labels.into_iter().chain(resource.clone()).collect());
        }
    }
    factored("planned", series, &BlockMeta::default())
}

/// A small version, with few enough bytes for every test of damage.
fn planned_small() -> Golden {
    factored("planned-small", few_series(), &BlockMeta::default())
}

/// Pods with lists of bounds.
pub(crate) fn few_series() -> BTreeSet<Labelset> {
    let mut series: BTreeSet<Labelset> = BTreeSet::new();
    for pod in 0..12_u32 {
        for le in ["0.1", "0.5", "1", "+Inf"].iter().take(if pod == 7 { 2 } else { 4 }) {
            let labels = [
                ("__name__", "wait_bucket".to_owned()),
                ("host", format!("h{}", pod % 4)),
                ("le", (*le).to_owned()),
                ("pod", format!("p{pod:02}")),
            ];
            series.insert(labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
        }
    }
    series
}

/// A golden block that the planner laid out.
pub(crate) fn factored(name: &'static str, series: BTreeSet<Labelset>, meta: &BlockMeta) -> Golden {
    let mut store = KeysetStore::new();
    for labelset in &series {
        let labels: Vec<(&str, &str)> = labelset.iter().map(|(name, value)| (&**name, &**value)).collect();
        store.insert(&labels).expect("golden labels are within limits");
    }
    let sealed = store.seal(Layout::Factored, meta).expect("golden blocks are sound");
    Golden { name, bytes: sealed.block, series }
}

/// Metric metadata: names with one row and with several, texts that several rows share, texts that are absent, and such
/// as need escapes.
fn metrics() -> Golden {
    let row = |name, metric_type, temporality, is_monotonic, unit, description| MetricMetadata {
        name,
        metric_type,
        temporality,
        monotonicity: Monotonicity::from(is_monotonic),
        unit,
        description,
    };
    let counter = (MetricType::Sum, Temporality::Cumulative, true);
    let rows = [
        row("requests", counter.0, counter.1, counter.2, "1", "Requests served."),
        row("up", MetricType::Gauge, Temporality::Unspecified, false, "", ""),
        row("requests", counter.0, Temporality::Delta, counter.2, "1", "Requests served."),
        row("requests", counter.0, counter.1, counter.2, "", "requests"),
        row("größe", MetricType::ExponentialHistogram, Temporality::Delta, false, "µm²", "\"Länge\"\n\u{202e}"),
        row("state", MetricType::StateSet, Temporality::Unspecified, false, "", "up"),
        // Given twice.
        row("up", MetricType::Gauge, Temporality::Unspecified, false, "", ""),
    ];
    let series = series(&[&[("__name__", "requests_total"), ("job", "api")], &[("__name__", "up"), ("job", "api")]]);
    let meta = BlockMeta { metrics: rows.into_iter().collect(), ..BlockMeta::default() };
    with_meta("metrics", series, &meta)
}

/// Numbers of metric metadata that a later text gives a meaning.
fn later_metrics() -> Golden {
    let up = MetricMetadata { name: "up", unit: "1", ..MetricMetadata::default() };
    let rows = [
        MetricMetadata { metric_type: MetricType::Later(9), ..up },
        MetricMetadata { temporality: Temporality::Later(3), ..up },
        MetricMetadata { monotonicity: Monotonicity::Later(2), ..up },
        MetricMetadata { metric_type: MetricType::Later(u32::MAX), ..up },
        up,
    ];
    let meta = BlockMeta { metrics: rows.into_iter().collect(), ..BlockMeta::default() };
    let series = series(&[&[("__name__", "up"), ("job", "api")]]);
    with_meta("metrics-later", series, &meta)
}

/// A section of the kind of packed metric metadata, which only archives have: no reader knows it.
fn ignored_metrics() -> Golden {
    edited(with_meta("metrics-ignored", small(), &BlockMeta::default()), |editor| {
        editor.sections.push(SectionBytes::new(SectionKind::PackedMetricMetadata, b"not in an archive".to_vec()));
    })
}

/// Every field of the meta section set, features that may be ignored, a section that no reader knows, and a private
/// section.
fn everything_in_meta() -> Golden {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let meta = BlockMeta {
        time: Some(TimeRange { start: 1_700_000_000_123_456_789, end: 1_700_003_600_000_000_000 }),
        window: Some(TimeRange { start: 1_700_000_000_000_000_000, end: 1_700_003_600_000_000_000 }),
        job: Some(Job { id: *b"one job, 16 byte", output: 1, output_count: 3 }),
        parents: vec![BlockId([1; 16]), BlockId([2; 16])],
        ancestors: vec![BlockId([0; 16]), BlockId([3; 16])],
        external_labels: vec![pair("cluster", "eu-1"), pair("replica", "a")],
        annotations: vec![pair("note", "größer \"als\" gedacht"), pair("ticket", "42")],
        policy: LabelPolicy::INGEST,
        planner_version: 7,
        ..BlockMeta::default()
    };
    edited(with_meta("meta", small(), &meta), |editor| {
        editor.features = [0, 0, 6];
        editor.sections.push(SectionBytes { kind: OPTIONAL + 5, id: 9, bytes: b"not for this reader".to_vec() });
        let private = [&[0x5A; 16][..], b"of another program"].concat();
        // Ids may have gaps.
        for id in [0, 4] {
            editor.sections.push(SectionBytes { kind: OPTIONAL + PRIVATE + 2, id, bytes: private.clone() });
        }
    })
}

/// A block with the minor version of a later text, which readers ignore.
fn later_minor() -> Golden {
    const LATER: u8 = 7;
    let golden = with_meta("later-minor", small(), &BlockMeta::default());
    let mut words: [u8; 16] = golden.bytes[8..24].try_into().expect("16 bytes");
    words[2] = LATER;
    let editor = BlockEditor::open(&golden.bytes);
    let mut id = BlockIdHasher::new(words);
    for section in &editor.sections {
        let mut hasher = SectionHasher::default();
        hasher.update(&section.bytes);
        id.add(section.kind, section.id, &hasher);
    }
    let mut bytes = editor.with_id(id.finish(None)).close();
    bytes[10] = LATER;
    reseal(&mut bytes);
    Golden { bytes, ..golden }
}

/// A block with a section that no reader knows, and whose loss matters: it may be read, and not replaced.
fn loss_matters() -> Golden {
    edited(with_meta("loss-matters", small(), &BlockMeta::default()), |editor| {
        editor.sections.push(SectionBytes { kind: OPTIONAL | LOSS_MATTERS, id: 0, bytes: b"of a later text".to_vec() });
    })
}

/// A block with a feature that forbids rewriting, and with a bit of padding set: its canonical form is that of a later
/// version, so that readers must accept it.
fn read_only() -> Golden {
    edited(with_meta("read-only", small(), &BlockMeta::default()), |editor| {
        editor.features = [0, 1 << 28, 0];
        *editor.section(SectionKind::Rows).last_mut().expect("closing bytes") = 0x80;
    })
}
