//! `MetricSet` of OpenMetrics as protobuf: the series are those of the text of the same metrics.

use std::collections::BTreeSet;
use std::io::Cursor;

use chronoxide_ingest::input::{Format, Source};
use chronoxide_ingest::{Ingest, IngestError, IngestOptions, Report};

use crate::canonical::{self, Labels};

fn ingested(content: &[u8], format: Option<Format>) -> Result<(BTreeSet<Labels>, Report), IngestError> {
    let mut ingest = Ingest::new(IngestOptions { format, ..IngestOptions::default() }, Vec::new());
    ingest.read(Source::new("capture".to_owned(), Cursor::new(content.to_vec()))?)?;
    let (report, blocks) = ingest.finish()?;
    Ok((blocks.iter().flat_map(|block| canonical::block_series(block)).collect(), report))
}

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    assert!(bytes.len() < 128);
    [&[number << 3 | 2, bytes.len() as u8][..], bytes].concat()
}

fn double(number: u8, value: f64) -> Vec<u8> {
    [&[number << 3 | 1][..], &value.to_le_bytes()].concat()
}

fn label(number: u8, name: &str, value: &str) -> Vec<u8> {
    field(number, &[field(1, name.as_bytes()), field(2, value.as_bytes())].concat())
}

/// A family with one metric, whose label is `job="a"`, and one point at 1.5 s.
fn family(name: &str, kind: u8, value: (u8, Vec<u8>)) -> Vec<u8> {
    let time = field(8, &[&[8, 1, 16][..], &[0x80, 0xca, 0xb5, 0xee, 0x01]].concat());
    let point = field(2, &[field(value.0, &value.1), time].concat());
    let metric = field(5, &[label(1, "job", "a"), point].concat());
    field(1, &[field(1, name.as_bytes()), vec![0x10, kind], field(4, b"help"), metric].concat())
}

fn set() -> Vec<Vec<u8>> {
    let buckets = [field(5, &double(2, 0.5)), field(5, &double(2, f64::INFINITY))].concat();
    let created = field(4, &[8, 1]);
    vec![
        family("unknown", 0, (1, double(1, 1.0))),
        family("gauge", 1, (2, double(1, 1.0))),
        family("counter", 2, (3, [double(1, 1.0), field(3, &[8, 1])].concat())),
        family(
            "states",
            3,
            (5, [field(1, &[&[8, 1][..], &field(2, b"on")].concat()), field(1, &field(2, b"off"))].concat()),
        ),
        family("build", 4, (6, label(1, "version", "1"))),
        family("h", 5, (4, [buckets.clone(), created].concat())),
        family("g", 6, (4, buckets)),
        family("s", 7, (7, field(5, &double(1, 0.5)))),
    ]
}

const TEXT: &str = r#"# TYPE unknown unknown
unknown{job="a"} 1 1.5
# TYPE gauge gauge
gauge{job="a"} 1 1.5
# TYPE counter counter
counter_total{job="a"} 1 1.5
counter_created{job="a"} 1 1.5
# TYPE states stateset
states{job="a",states="on"} 1 1.5
states{job="a",states="off"} 0 1.5
# TYPE build info
build_info{job="a",version="1"} 1 1.5
# TYPE h histogram
h_bucket{job="a",le="0.5"} 0 1.5
h_bucket{job="a",le="+Inf"} 0 1.5
h_count{job="a"} 0 1.5
h_sum{job="a"} 0 1.5
h_created{job="a"} 1 1.5
# TYPE g gaugehistogram
g_bucket{job="a",le="0.5"} 0 1.5
g_bucket{job="a",le="+Inf"} 0 1.5
g_gcount{job="a"} 0 1.5
g_gsum{job="a"} 0 1.5
# TYPE s summary
s{job="a",quantile="0.5"} 0 1.5
s_count{job="a"} 0 1.5
s_sum{job="a"} 0 1.5
# EOF
"#;

#[test]
fn series_are_those_of_the_text() {
    let (expected, text) = ingested(TEXT.as_bytes(), Some(Format::OpenMetrics)).unwrap();
    for format in [None, Some(Format::OpenMetricsProto)] {
        let (found, report) = ingested(&set().concat(), format).unwrap();
        assert_eq!((found, report.is_partial(false)), (expected.clone(), false));
        assert_eq!((report.records, report.points, report.time), (8, text.points, text.time));
    }
}

#[test]
fn a_set_that_is_cut_anywhere_gives_its_whole_families() {
    let families = set();
    let ends: Vec<usize> = families
        .iter()
        .scan(0, |end, family| {
            *end += family.len();
            Some(*end)
        })
        .collect();
    let content = families.concat();
    for len in 1..=content.len() {
        let (_, report) = ingested(&content[..len], Some(Format::OpenMetricsProto)).unwrap();
        let whole = ends.iter().filter(|&&end| end <= len).count() as u64;
        assert_eq!((report.records, report.torn_records), (whole, u64::from(!ends.contains(&len))), "{len} bytes");
    }
}

#[test]
fn damage_is_told() {
    let mut content = set().concat();
    content.extend(b"no family");
    let error = ingested(&content, Some(Format::OpenMetricsProto)).unwrap_err();
    assert!(matches!(error, IngestError::Record { number: 9, .. }), "{error}");
    let nameless = field(1, &[0x10, 1]);
    let error = ingested(&nameless, Some(Format::OpenMetricsProto)).unwrap_err();
    assert!(matches!(error, IngestError::Record { number: 1, .. }), "{error}");
}
