//! Exposition text gives its series, and the same series as another decoder.
//!
//! The real captures are not part of the repository. If they are absent, the tests that need them report it and pass.

use std::collections::BTreeSet;
use std::io::Read;

use chronoxide_format::metadata::{MetricType, Temporality};
use chronoxide_ingest::prometheus::text::{LineError, TextDecoder, TextError, TimestampUnit, looks_like_text};
use proptest::prelude::*;

use crate::taken::{Metadata, Taken};

fn line(text: &[u8]) -> Result<Taken, LineError> {
    let mut taken = Taken::default();
    match TextDecoder::new(TimestampUnit::ByShape).line(text, &mut taken) {
        Ok(()) => Ok(taken),
        Err(TextError::Line(error)) => {
            assert_eq!(taken, Taken::default(), "a broken line leaves nothing behind");
            Err(error)
        }
        Err(error) => panic!("{error}"),
    }
}

/// Name and labels of the only series of a line as one text, with its time.
fn sample(text: &str) -> (String, Option<i64>) {
    let taken = line(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
    let [series] = taken.series.as_slice() else { panic!("{text}: {taken:?}") };
    let labels: Vec<String> = series.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (labels.join("|"), series.points.first().map(|points| points.0))
}

fn read(text: &str) -> Taken {
    let mut taken = Taken::default();
    let mut decoder = TextDecoder::new(TimestampUnit::ByShape);
    for line in text.split_inclusive('\n') {
        decoder.line(line.as_bytes(), &mut taken).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    decoder.finish(&mut taken).unwrap();
    assert!(!taken.is_torn());
    taken
}

#[test]
fn samples_are_read_in_every_legal_shape() {
    for (text, labels, time) in [
        ("up 1", "__name__=up", None),
        ("up{} 1", "__name__=up", None),
        ("up 1\r\n", "__name__=up", None),
        (" \tup\t{ } 1 \t", "__name__=up", None),
        ("a:b_9{x=\"1\"}2", "__name__=a:b_9|x=1", None),
        ("up{job=\"a\",instance=\"b\",} NaN", "__name__=up|job=a|instance=b", None),
        ("up { job = \"a\" , i=\"b\" , } +Inf 1395066363000", "__name__=up|job=a|i=b", Some(1_395_066_363_000_000_000)),
        ("up -1.5e+3 1395066363.123456789", "__name__=up", Some(1_395_066_363_123_456_789)),
        ("up 1 -5", "__name__=up", Some(-5_000_000_000)),
        (r#"up{a="\\\"\n\x"} 0"#, "__name__=up|a=\\\"\n\\x", None),
        (r#"up{a=""} 0"#, "__name__=up|a=", None),
        (r#"up{a="{},# é"} 0"#, "__name__=up|a={},# é", None),
        (r#"{"http.requests"} 1"#, "__name__=http.requests", None),
        (r#"{"http.requests","le"="0.5"} 1"#, "__name__=http.requests|le=0.5", None),
        (r#"{le="0.5","http.\"requests\\",} 1 7"#, "__name__=http.\"requests\\|le=0.5", Some(7_000_000_000)),
        (r#"up{"service.name"="cart"} 1"#, "__name__=up|service.name=cart", None),
        (r##"a_bucket{le="1"} 8 # {trace_id="x # y"} 0.67"##, "__name__=a_bucket|le=1", None),
        (r##"a_total 8 1.5 # {} 0.67 1520879607.789"##, "__name__=a_total", Some(1_500_000_000)),
        (r##"a_total 8 1.5 st@0.5 # {a="b"} 1 2 # {c="d"} 3"##, "__name__=a_total", Some(1_500_000_000)),
        ("a_total 8 st@1520879607.789", "__name__=a_total", None),
        (r#"{__name__="up",job="a"} 1 7"#, "__name__=up|job=a", Some(7_000_000_000)),
        (r#"{job="a", __name__="up"} 1"#, "__name__=up|job=a", None),
        ("a {count:1,sum:1.0,bucket:[0.5:0,+Inf:1]}", "__name__=a", None),
        (r##"a{b="c"} {count:1} 1.5 st@1 # {d="e"} 0.5"##, "__name__=a|b=c", Some(1_500_000_000)),
        (r#"{__name__="a"} {count:2, sum:3, (0.5,1]:1} 7"#, "__name__=a", Some(7_000_000_000)),
        ("a_created 1520430000.123", "__name__=a_created", None),
    ] {
        assert_eq!(sample(text), (labels.to_owned(), time), "{text}");
    }
}

#[test]
fn broken_lines_are_refused_and_leave_nothing_behind() {
    for (text, message) in [
        (&b"up"[..], "at byte 2 of the line: expected a value, found the end of the line"),
        (b"9up 1", "at byte 0 of the line: expected the name of a metric, found \"9up 1\""),
        (b"up x", "at byte 3 of the line: expected a value, found \"x\""),
        (b"up 1_0", "at byte 3 of the line: expected a value, found \"1_0\""),
        (b"up 0x1p3", "at byte 3 of the line: expected a value, found \"0x1p3\""),
        (b"up 1 x", "at byte 5 of the line: expected a timestamp, found \"x\""),
        (b"up 1 2 3", "at byte 7 of the line: expected the end of the line, found \"3\""),
        (b"up{a=\"b\" 1", "at byte 9 of the line: expected a comma or a closing brace, found \"1\""),
        (b"up{a=\"b\" c=\"d\"} 1", "expected a comma or a closing brace"),
        (b"up{,} 1", "at byte 3 of the line: expected the name of a label or a closing brace, found \",} 1\""),
        (b"up{a=\"b\",,} 1", "expected the name of a label or a closing brace"),
        (b"up{a=b} 1", "at byte 5 of the line: expected the value of a label in quotes"),
        (b"up{a=\"b} 1", "expected a closing quote, found the end of the line"),
        (b"up{a=\"b\\", "expected a closing quote, found the end of the line"),
        (b"up{a} 1", "at byte 4 of the line: expected an equals sign"),
        (b"up{a:b=\"c\"} 1", "at byte 4 of the line: expected an equals sign"),
        (b"up{\"b\"} 1", "at byte 3 of the line: expected the name of a label, because the metric has its name"),
        (b"{\"a\",\"b\"} 1", "at byte 5 of the line: expected the name of a label, because the metric has its name"),
        (b"{a=\"b\"} 1", "at byte 8 of the line: expected the name of a metric in the braces before this"),
        (b"{} 1", "expected the name of a metric in the braces"),
        (b"{\"\"} 1", "at byte 1 of the line: expected the name of a label"),
        (b"up{\"\"=\"a\"} 1", "at byte 3 of the line: expected the name of a label"),
        (b"up{a=\"1\",b=\"2\",a=\"3\"} 1", "at byte 15 of the line: duplicate label \"a\""),
        (b"up{__name__=\"x\"} 1", "at byte 3 of the line: duplicate label \"__name__\""),
        (b"up{a=\"\xff\"} 1", "at byte 6 of the line: not valid UTF-8"),
        (b"{\"a\xff\"} 1", "at byte 3 of the line: not valid UTF-8"),
        (b"\xff 1", "at byte 0 of the line: expected the name of a metric"),
        (b"up 1 # x", "at byte 7 of the line: expected the labels of an exemplar"),
        (b"up 1 # {\"a\"} 1", "expected the name of a label"),
        (b"up 1 # {a=\"b\"}", "expected a value, found the end of the line"),
        (b"up 1 # {a=\"b\"} 1 x", "expected a timestamp"),
        (b"a {count:1,sum:1.0", "at byte 18 of the line: expected a closing brace, found the end of the line"),
        (b"{__name__=\"a\",__name__=\"b\"} 1", "duplicate label \"__name__\""),
        (b"# TYPE up", "at byte 9 of the line: expected a type of metrics, found the end of the line"),
        (b"# TYPE up strange", "at byte 10 of the line: expected a type of metrics, found \"strange\""),
        (b"# TYPE 9 gauge", "at byte 7 of the line: expected the name of a metric"),
        (b"# HELP up,down x", "at byte 9 of the line: expected a blank after the name of a metric"),
        (b"# HELP up \xff", "at byte 10 of the line: not valid UTF-8"),
    ] {
        let shown = String::from_utf8_lossy(text);
        let error = line(text).expect_err(&shown).to_string();
        assert!(error.contains(message), "{shown}: {error}");
    }
}

#[test]
fn a_broken_line_changes_nothing_for_the_next() {
    let text = "# HELP a is a\n# TYPE a counter\na{b=\"c\"} 1\n# UNIT a seconds\na 2\n";
    let expected = read(text);
    for broken in ["a{b=\"c\",b=\"d\"} 1", "# TYPE b strange", "# HELP b,", "a 1 2 3"] {
        let mut decoder = TextDecoder::default();
        let mut taken = Taken::default();
        for line in text.lines() {
            decoder.line(broken.as_bytes(), &mut taken).expect_err(broken);
            decoder.line(line.as_bytes(), &mut taken).unwrap();
        }
        decoder.finish(&mut taken).unwrap();
        assert_eq!(taken, expected);
    }
}

#[test]
fn lines_about_a_family_become_its_metadata() {
    let taken = read(concat!(
        "# HELP a_seconds Time \\\\ of\\na \\\"thing\\\".  \n# TYPE a_seconds counter\n# UNIT a_seconds seconds\n",
        "a_seconds_total 1\n# just a comment\n#HELP no comment\n# HELPLESS\n# HELP\n# nothing\n",
        "# TYPE \"http.size\" gaugehistogram\n# HELP \"http.size\"\n{\"http.size\"} 1\n",
        "# TYPE c untyped\n# TYPE d unknown\n# HELP e only help\n# HELP e again\n",
        "# TYPE f gauge\n# TYPE g histogram\n# TYPE h summary\n# TYPE i info\n# TYPE j stateset\n# EOF\n\n",
    ));
    let named = |name: &str, metric_type, temporality, description: &str| Metadata {
        name: name.to_owned(),
        metric_type,
        temporality,
        is_monotonic: false,
        unit: String::new(),
        description: description.to_owned(),
    };
    let unsaid = Temporality::Unspecified;
    let mut counter = named("a_seconds", MetricType::Sum, Temporality::Cumulative, "Time \\ of\na \"thing\".  ");
    counter.is_monotonic = true;
    counter.unit = "seconds".to_owned();
    assert_eq!(
        taken.metadata,
        [
            counter,
            named("http.size", MetricType::GaugeHistogram, unsaid, ""),
            named("c", MetricType::Unknown, unsaid, ""),
            named("d", MetricType::Unknown, unsaid, ""),
            named("e", MetricType::Unknown, unsaid, "again"),
            named("f", MetricType::Gauge, unsaid, ""),
            named("g", MetricType::Histogram, Temporality::Cumulative, ""),
            named("h", MetricType::Summary, unsaid, ""),
            named("i", MetricType::Info, unsaid, ""),
            named("j", MetricType::StateSet, unsaid, ""),
        ]
    );
    assert_eq!(taken.series.len(), 2);
}

#[test]
fn nothing_but_blank_lines_follows_the_end() {
    let mut decoder = TextDecoder::default();
    let mut taken = Taken::default();
    for line in ["up 1", "# EOF\r\n", "", " \t\n"] {
        decoder.line(line.as_bytes(), &mut taken).unwrap();
    }
    for line in ["up 1", "# EOF", "# a comment"] {
        assert_eq!(decoder.line(line.as_bytes(), &mut taken), Err(TextError::Line(LineError::AfterEnd)), "{line}");
    }
    assert_eq!(taken.series.len(), 1);
}

/// The text of a real capture, if it is there.
fn real(name: &str) -> Option<String> {
    let path = chronoxide_testkit::captures::real(name)?;
    let file = std::fs::File::open(&path).unwrap();
    let mut text = String::new();
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("zst") => zstd::Decoder::new(file).unwrap().read_to_string(&mut text),
        Some("gz") => flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text),
        _ => std::io::BufReader::new(file).read_to_string(&mut text),
    }
    .unwrap();
    Some(text)
}

/// Returns true if the other decoder can read a line: it mistakes commas and equals signs in values for separators.
fn is_for_both(line: &str) -> bool {
    let mut strings = line.split('"').skip(1).step_by(2);
    line.starts_with('#') || !strings.any(|value| value.contains([',', '=']))
}

/// The labels of all samples as another decoder reads them, without what is empty.
fn other_decoder(text: &str) -> BTreeSet<Vec<(String, String)>> {
    let scrape = prometheus_parse::Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).unwrap();
    let mut all = BTreeSet::new();
    for sample in scrape.samples {
        let labels: Vec<(String, String)> =
            sample.labels.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let mut one = |name: String, extra: Option<(&str, String)>| {
            let mut labels = labels.clone();
            labels.push(("__name__".to_owned(), name));
            labels.extend(extra.map(|(name, value)| (name.to_owned(), value)));
            labels.retain(|(_, value)| !value.is_empty());
            labels.sort();
            all.insert(labels);
        };
        match &sample.value {
            // The other decoder folds buckets and quantiles into one sample of the family, with bounds as numbers.
            prometheus_parse::Value::Histogram(buckets) => {
                for bucket in buckets {
                    one(format!("{}_bucket", sample.metric), Some(("le", bound(bucket.less_than))));
                }
            }
            prometheus_parse::Value::Summary(quantiles) => {
                for quantile in quantiles {
                    one(sample.metric.clone(), Some(("quantile", bound(quantile.quantile))));
                }
            }
            _ => one(sample.metric.clone(), None),
        }
    }
    all
}

/// A bound as one text for all ways to write it.
fn bound(value: f64) -> String {
    format!("{value:?}")
}

fn with_normal_bounds(labels: &[(String, String)]) -> Vec<(String, String)> {
    let mut labels: Vec<(String, String)> = labels
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| match (name.as_str(), value.parse::<f64>()) {
            ("le" | "quantile", Ok(number)) => (name.clone(), bound(number)),
            _ => (name.clone(), value.clone()),
        })
        .collect();
    labels.sort();
    labels
}

#[test]
fn real_captures_have_the_series_that_they_are_known_for() {
    for (name, count) in [
        ("prometheus/node-exporter.prom", 3_027),
        ("prometheus/k8s-1.34-cadvisor.prom.zst", 4_855),
        ("prometheus/k8s-1.34-apiserver.prom.gz", 24_311),
    ] {
        let Some(text) = real(name) else { continue };
        assert!(looks_like_text(&text.as_bytes()[..text.len().min(64 << 10)]), "{name}");
        let taken = read(&text);
        let distinct: BTreeSet<_> = taken.series.iter().map(|series| &series.labels).collect();
        assert_eq!(distinct.len(), count, "{name}");
        let typed = text.lines().filter(|line| line.starts_with("# TYPE ")).count();
        assert_eq!(taken.metadata.len(), typed, "{name}");

        let text: String = text.split_inclusive('\n').filter(|line| is_for_both(line)).collect();
        let taken = read(&text);
        let found: BTreeSet<_> = taken.series.iter().map(|series| with_normal_bounds(&series.labels)).collect();
        assert!(found.len() + 10 > count, "{name}: {} series are for both", found.len());
        let other = other_decoder(&text);
        println!("{name}: {} series, {} in the other decoder", found.len(), other.len());
        if let Some(labels) = found.symmetric_difference(&other).next() {
            panic!("{name}: in one of the two only: {labels:?}, of {} and {}", found.len(), other.len());
        }
    }
}

/// A sample, and the choices with which it is written.
#[derive(Clone, Debug)]
struct Model {
    name: String,
    labels: Vec<(String, String)>,
    value: String,
    milliseconds: Option<i64>,
    choices: u64,
}

/// Choices one after the other.
struct Choices(u64);

impl Choices {
    fn choose(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }

    fn blank(&mut self) -> &'static str {
        ["", "", " ", "\t", "  "][self.choose(5) as usize]
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn is_plain(name: &str, colons: bool) -> bool {
    let is_part = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric() || (colons && byte == b':');
    !name.as_bytes()[0].is_ascii_digit() && name.bytes().all(is_part)
}

impl Model {
    fn write(&self) -> String {
        let mut choices = Choices(self.choices);
        let is_outside = is_plain(&self.name, true) && choices.choose(4) > 0;
        let mut parts: Vec<String> = Vec::new();
        for (name, value) in &self.labels {
            let name = if is_plain(name, false) && choices.choose(4) > 0 {
                name.clone()
            } else {
                format!("\"{}\"", escaped(name))
            };
            parts.push(format!("{name}{}={}\"{}\"", choices.blank(), choices.blank(), escaped(value)));
        }
        let mut text = choices.blank().to_owned();
        if is_outside {
            text += &self.name;
            text += choices.blank();
        } else {
            let at = choices.choose(parts.len() as u64 + 1) as usize;
            parts.insert(at, format!("\"{}\"", escaped(&self.name)));
        }
        if !parts.is_empty() || choices.choose(2) == 0 {
            text.push('{');
            for (number, part) in parts.iter().enumerate() {
                text += if number == 0 { "" } else { "," };
                text += choices.blank();
                text += part;
                text += choices.blank();
            }
            text += if !parts.is_empty() && choices.choose(3) == 0 { ", }" } else { "}" };
            text += choices.blank();
        } else {
            text.push(' ');
        }
        text += &self.value;
        if let Some(milliseconds) = self.milliseconds {
            text += ["", " "][choices.choose(2) as usize];
            text += " ";
            // Seconds with a fraction say the same.
            text += &if choices.choose(2) == 0 {
                milliseconds.to_string()
            } else {
                format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000)
            };
        }
        if choices.choose(4) == 0 {
            text += " # {trace_id=\"a\\\"}\"} 0.5 1.25";
        }
        text += choices.blank();
        text += ["\n", "\r\n", ""][choices.choose(3) as usize];
        text
    }
}

fn model() -> impl Strategy<Value = Model> {
    let name = || prop_oneof!["[a-zA-Z_][a-zA-Z0-9_]{0,8}", "[^\\r\u{0}]{1,6}", "[ {}\"=,#\\\\n\n]{1,5}"];
    let value = prop_oneof!["[a-z0-9./-]{0,9}", "\\PC{0,6}", "[ {}\"=,#\\\\n\n\r\t]{0,6}"];
    let number = prop_oneof![
        any::<f64>().prop_map(|value| if value.is_nan() { "NaN".to_owned() } else { format!("{value:?}") }),
        any::<i32>().prop_map(|value| value.to_string()),
        prop_oneof!["\\+Inf", "-Inf", "NaN", "[0-9]\\.", "\\.[0-9]"],
    ];
    let time = proptest::option::of(100_000_000_000_i64..9_000_000_000_000);
    let labels = proptest::collection::btree_map(name(), value, 0..6);
    (name(), labels, number, time, any::<u64>()).prop_map(|(name, mut labels, value, milliseconds, choices)| {
        labels.remove("__name__");
        Model { name, labels: labels.into_iter().collect(), value, milliseconds, choices }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_valid_notation_reads_back(model in model()) {
        let text = model.write();
        let taken = line(text.as_bytes()).map_err(|error| TestCaseError::fail(format!("{text:?}: {error}")))?;
        prop_assert_eq!(taken.series.len(), 1);
        let mut expected = vec![("__name__".to_owned(), model.name.clone())];
        expected.extend(model.labels.iter().cloned());
        prop_assert_eq!(&taken.series[0].labels, &expected, "{:?}", text);
        let points: Vec<(i64, i64)> = model.milliseconds.iter().map(|&time| (time * 1_000_000, time * 1_000_000)).collect();
        prop_assert_eq!(&taken.series[0].points, &points, "{:?}", text);
    }

    #[test]
    fn any_bytes_are_a_line_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        // `line` asserts that a broken one leaves nothing behind.
        let _ = line(&bytes).map(|taken| assert!(!taken.is_torn()));
    }
}
