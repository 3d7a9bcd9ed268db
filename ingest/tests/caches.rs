//! Caches of encoded attributes change nothing: random requests as protobuf and as JSON give the blocks and the report
//! that they give as protobuf whose attributes each have an unknown field with another number, so that no list recurs.
//!
//! The requests have few keys and values. Resource, scope and point often have the same attributes, and attributes may
//! be duplicate, empty, too long, named like the metric's name, or apart from each other.

use std::fmt::Write;
use std::io::Cursor;
use std::num::NonZeroU64;

use chronoxide_ingest::input::Source;
use chronoxide_ingest::{AssembleOptions, Assembler, Ingest, IngestOptions, Report};
use chronoxide_labels::Layout;
use chronoxide_testkit::random::Random;

type Pairs = Vec<(String, String)>;

#[derive(Clone)]
struct Resource {
    attributes: Pairs,
    scopes: Vec<Scope>,
}

#[derive(Clone)]
struct Scope {
    name: &'static str,
    attributes: Pairs,
    metrics: Vec<Metric>,
}

#[derive(Clone)]
struct Metric {
    name: &'static str,
    unit: &'static str,
    points: Vec<(Pairs, u64)>,
}

fn pick<'a>(random: &mut Random, of: &[&'a str]) -> &'a str {
    of[random.below(of.len())]
}

fn pairs(random: &mut Random, max_count: usize) -> Pairs {
    let long = "v".repeat(2_100);
    let pair = |random: &mut Random| {
        let key = pick(random, &["a", "b", "c", "d", "e", "f", "__name__", "otel_scope_name", "__unit__", ""]);
        // Mostly a usual attribute, so that lists recur and are cached.
        let key = if random.percent(70) { pick(random, &["a", "b", "c", "d"]) } else { key };
        let value = if random.percent(92) { pick(random, &["1", "2", "3"]) } else { pick(random, &["", &long]) };
        (key.to_owned(), value.to_owned())
    };
    (0..random.below(max_count + 1)).map(|_| pair(random)).collect()
}

fn request(random: &mut Random) -> Vec<Resource> {
    let point = |random: &mut Random| (pairs(random, 4), (1 + random.below(50) as u64) * 1_000_000_000);
    let metric = |random: &mut Random| Metric {
        name: pick(random, &["m", "n", "o", "m", "n", ""]),
        unit: pick(random, &["", "By"]),
        points: (0..random.below(5)).map(|_| point(random)).collect(),
    };
    let scope = |random: &mut Random| Scope {
        name: pick(random, &["", "s", "t"]),
        attributes: pairs(random, 2),
        metrics: (0..random.below(4)).map(|_| metric(random)).collect(),
    };
    let resource = |random: &mut Random| Resource {
        attributes: pairs(random, 5),
        scopes: (0..random.below(3)).map(|_| scope(random)).collect(),
    };
    (0..random.below(4)).map(|_| resource(random)).collect()
}

fn json(request: &[Resource]) -> String {
    fn list<T>(items: &[T], one: impl Fn(&T) -> String) -> String {
        items.iter().map(one).collect::<Vec<_>>().join(",")
    }
    let attributes =
        |pairs: &Pairs| list(pairs, |(key, value)| format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#));
    let point =
        |(pairs, time): &(Pairs, u64)| format!(r#"{{"timeUnixNano":"{time}","attributes":[{}]}}"#, attributes(pairs));
    let metric = |metric: &Metric| {
        let points = list(&metric.points, point);
        format!(r#"{{"name":"{}","unit":"{}","gauge":{{"dataPoints":[{points}]}}}}"#, metric.name, metric.unit)
    };
    let scope = |scope: &Scope| {
        let (attributes, metrics) = (attributes(&scope.attributes), list(&scope.metrics, metric));
        format!(r#"{{"scope":{{"name":"{}","attributes":[{attributes}]}},"metrics":[{metrics}]}}"#, scope.name)
    };
    let resource = |resource: &Resource| {
        let (attributes, scopes) = (attributes(&resource.attributes), list(&resource.scopes, scope));
        format!(r#"{{"resource":{{"attributes":[{attributes}]}},"scopeMetrics":[{scopes}]}}"#)
    };
    format!(r#"{{"resourceMetrics":[{}]}}"#, list(request, resource))
}

fn varint(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field of bytes. `is_padded` writes its key with two bytes, which protobuf allows.
fn field(number: u8, content: &[u8], is_padded: bool, out: &mut Vec<u8>) {
    let key = number << 3 | 2;
    if is_padded {
        out.extend_from_slice(&[key | 0x80, 0]);
    } else {
        out.push(key);
    }
    varint(content.len(), out);
    out.extend_from_slice(content);
}

/// Encodes attributes. `other` is a field of the same message, which may be between them. With `unique`, each attribute
/// has an unknown field with that number, which then increases.
fn attributes(number: u8, pairs: &Pairs, other: &[u8], random: &mut Random, unique: &mut Option<u32>) -> Vec<u8> {
    let mut out = Vec::new();
    let place = random.below(pairs.len() + 1);
    let place = if random.percent(70) { 0 } else { place };
    for (position, (key, value)) in pairs.iter().enumerate() {
        if position == place {
            out.extend_from_slice(other);
        }
        let (mut text, mut pair) = (Vec::new(), Vec::new());
        field(1, value.as_bytes(), false, &mut text);
        field(1, key.as_bytes(), false, &mut pair);
        field(2, &text, false, &mut pair);
        if let Some(unique) = unique {
            field(15, &unique.to_le_bytes(), false, &mut pair);
            *unique += 1;
        }
        field(number, &pair, random.percent(3), &mut out);
    }
    if place >= pairs.len() {
        out.extend_from_slice(other);
    }
    out
}

fn proto(request: &[Resource], random: &mut Random, unique: &mut Option<u32>) -> Vec<u8> {
    let mut all = Vec::new();
    for resource in request {
        let mut resource_metrics = Vec::new();
        field(1, &attributes(1, &resource.attributes, &[0x10, 1], random, unique), false, &mut resource_metrics);
        for scope in &resource.scopes {
            let mut name = Vec::new();
            field(1, scope.name.as_bytes(), false, &mut name);
            let mut scope_metrics = Vec::new();
            field(1, &attributes(3, &scope.attributes, &name, random, unique), false, &mut scope_metrics);
            for metric in &scope.metrics {
                let mut data = Vec::new();
                for (pairs, time) in &metric.points {
                    let time = [&[3 << 3 | 1][..], &time.to_le_bytes()].concat();
                    field(1, &attributes(7, pairs, &time, random, unique), false, &mut data);
                }
                let mut bytes = Vec::new();
                field(1, metric.name.as_bytes(), false, &mut bytes);
                field(3, metric.unit.as_bytes(), false, &mut bytes);
                field(5, &data, false, &mut bytes);
                field(2, &bytes, false, &mut scope_metrics);
            }
            field(2, &scope_metrics, false, &mut resource_metrics);
        }
        field(1, &resource_metrics, false, &mut all);
    }
    all
}

fn ingested(content: Vec<u8>, assemble: &AssembleOptions) -> (Report, Vec<Vec<u8>>) {
    let options = IngestOptions { assemble: assemble.clone(), ..IngestOptions::default() };
    let mut ingest = Ingest::new(options, Vec::new());
    ingest.read(Source::new("capture".to_owned(), Cursor::new(content)).unwrap()).unwrap();
    let (mut report, blocks) = ingest.finish().unwrap();
    report.content_bytes = 0;
    (report, blocks)
}

/// Returns what requests give if no list of attributes recurs.
fn uncached(requests: &[Vec<Resource>], assemble: &AssembleOptions) -> (Report, Vec<Vec<u8>>) {
    let mut assembler = Assembler::new(assemble.clone(), Vec::new());
    let (mut random, mut unique) = (Random::new(0), Some(0));
    for request in requests {
        assembler.otlp_proto(&proto(request, &mut random, &mut unique)).unwrap();
    }
    let (report, blocks) = assembler.finish().unwrap();
    (Report { inputs: 1, records: requests.len() as u64, ..report }, blocks)
}

fn all_options() -> Vec<AssembleOptions> {
    let usual = AssembleOptions { layout: Layout::BitPacked, ..AssembleOptions::default() };
    vec![
        usual.clone(),
        AssembleOptions { max_series: 5, ..usual.clone() },
        AssembleOptions { max_series: 3, type_and_unit_labels: true, ..usual.clone() },
        AssembleOptions { window: NonZeroU64::new(10_000_000_000), max_series: 20, ..usual.clone() },
        AssembleOptions { prometheus_names: true, ..usual },
    ]
}

#[test]
fn requests_give_the_blocks_and_reports_that_they_give_without_caches() {
    let mut cached = 0;
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut requests: Vec<Vec<Resource>> = (0..6).map(|_| request(&mut random)).collect();
        // The detection of the format needs a first record with a resource.
        let first =
            Metric { name: "m", unit: "", points: vec![(vec![("a".to_owned(), "1".to_owned())], 1_000_000_000)] };
        let scope = Scope { name: "s", attributes: Vec::new(), metrics: vec![first] };
        requests.insert(0, vec![Resource { attributes: vec![("a".to_owned(), "1".to_owned())], scopes: vec![scope] }]);
        // Requests recur, in order and in another order.
        let again = requests.clone();
        requests.extend(again);
        for _ in 0..6 {
            let request = requests[random.below(requests.len())].clone();
            requests.push(request);
        }
        let (mut lines, mut frames) = (String::new(), Vec::new());
        for request in &requests {
            writeln!(lines, "{}", json(request)).unwrap();
            let bytes = proto(request, &mut random, &mut None);
            frames.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
            frames.extend_from_slice(&bytes);
        }
        for (number, options) in all_options().iter().enumerate() {
            let (expected_report, expected) = uncached(&requests, options);
            for (form, content) in [("protobuf", frames.clone()), ("JSON", lines.clone().into_bytes())] {
                let (report, blocks) = ingested(content, options);
                assert_eq!(report, expected_report, "seed {seed}, options {number}, {form}");
                assert!(blocks == expected, "seed {seed}, options {number}, {form}: the blocks differ");
                cached += report.points - report.series;
            }
        }
    }
    assert!(cached > 20_000, "{cached} points of known series: the requests are too small to show anything");
}

#[test]
fn a_list_that_ends_early_is_the_error_that_it_is_without_a_cache() {
    let good = vec![("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())];
    let point = attributes(7, &good, &[], &mut Random::new(1), &mut None);
    let within = |point: &[u8]| {
        let (mut data, mut gauge, mut metric) = (Vec::new(), Vec::new(), Vec::new());
        field(1, point, false, &mut data);
        field(1, b"m", false, &mut metric);
        field(5, &data, false, &mut metric);
        field(2, &metric, false, &mut gauge);
        let (mut resource_metrics, mut request) = (Vec::new(), Vec::new());
        field(2, &gauge, false, &mut resource_metrics);
        field(1, &resource_metrics, false, &mut request);
        request
    };
    let mut fresh = Vec::new();
    for cut in 1..point.len() {
        let bytes = within(&point[..cut]);
        let error = |records: &[&[u8]]| {
            let mut assembler = chronoxide_ingest::Assembler::new(AssembleOptions::default(), Vec::<Vec<u8>>::new());
            let results = records.iter().map(|bytes| assembler.otlp_proto(bytes));
            results.map(|result| result.map_err(|error| error.to_string())).last().unwrap()
        };
        let (without, with) = (error(&[&bytes]), error(&[&within(&point), &bytes]));
        assert_eq!(with, without, "cut at {cut}");
        fresh.extend(without.err());
    }
    // A cut between two attributes leaves a valid point.
    assert_eq!(fresh.len(), point.len() - 2);
}
