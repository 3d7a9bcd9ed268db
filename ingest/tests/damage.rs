//! Damage costs what it hits: the series with a bad text, the frame with a bad byte, the line that is cut.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::num::NonZeroUsize;

use chronoxide_ingest::input::{Format, Source};
use chronoxide_ingest::{Ingest, IngestError, IngestOptions, Report};

use crate::canonical;
use crate::compressed::{gzip, zstd};

/// Names of the series of an input, with the value of `k` if there is one, and the report.
fn names(content: &[u8], options: IngestOptions) -> Result<(BTreeSet<String>, Report), IngestError> {
    let mut ingest = Ingest::new(options, Vec::new());
    ingest.read(Source::new("capture".to_owned(), Cursor::new(content.to_vec()))?)?;
    let (report, blocks) = ingest.finish()?;
    let series = blocks.iter().flat_map(|block| canonical::block_series(block));
    let name = |labels: canonical::Labels| {
        let get = |key: &str| labels.iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone());
        [get("__name__"), get("k")].into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    Ok((series.map(name).collect(), report))
}

fn skipping(format: Option<Format>) -> IngestOptions {
    IngestOptions { format, skip_broken_records: true, ..IngestOptions::default() }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    assert!(bytes.len() < 128);
    [&[number << 3 | 2, bytes.len() as u8][..], bytes].concat()
}

fn attribute(number: u8, value: &[u8]) -> Vec<u8> {
    field(number, &[field(1, b"k"), field(2, &field(1, value))].concat())
}

fn metric(name: &[u8], points: &[&[u8]]) -> Vec<u8> {
    let points: Vec<u8> = points.iter().flat_map(|value| field(1, &attribute(7, value))).collect();
    field(2, &[field(1, name), field(5, &points)].concat())
}

/// A request of protobuf: its resource has one attribute, its scope a name.
fn request(resource: &[u8], scope: &[u8], metrics: &[Vec<u8>]) -> Vec<u8> {
    let resource = field(1, &field(1, &[field(1, b"r"), field(2, &field(1, resource))].concat()));
    let scope = field(1, &field(1, scope));
    field(1, &[resource, field(2, &[vec![scope], metrics.to_vec()].concat().concat())].concat())
}

/// Text that is cut within a character.
const CUT: &[u8] = b"cut \xe2\x82";

#[test]
fn a_text_of_protobuf_that_is_not_utf8_costs_what_it_belongs_to() {
    let some = [metric(b"m", &[b"fine", CUT]), metric(b"n", &[b"fine"])];
    for (what, content, kept, skipped) in [
        ("a point", request(b"r", b"s", &some), &["m fine", "n fine"][..], (1, 1)),
        ("a metric", request(b"r", b"s", &[metric(CUT, &[b"1", b"2"]), metric(b"n", &[b"3"])]), &["n 3"], (1, 2)),
        (
            "a resource",
            [request(CUT, b"s", &some[1..]), request(b"r", b"s", &[metric(b"o", &[b"4"])])].concat(),
            &["o 4"],
            (1, 1),
        ),
        (
            "a scope",
            [request(b"r", CUT, &some[1..]), request(b"r", b"s", &[metric(b"o", &[b"4"])])].concat(),
            &["o 4"],
            (1, 1),
        ),
    ] {
        // Alone, and many times, so that it is decoded on several threads.
        let frame = [&(content.len() as u32).to_be_bytes()[..], &content].concat();
        for (content, count) in [(content, 1), (frame.repeat(2_000), 2_000)] {
            for threads in [1, 3] {
                let options = IngestOptions { threads: NonZeroUsize::new(threads), ..skipping(None) };
                let (found, report) = names(&content, options).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(found, set(kept), "{what}");
                let told = (report.skipped.invalid_texts, report.skipped.invalid_series);
                assert_eq!(told, (skipped.0 * count, skipped.1 * count), "{what}");
                assert!(report.is_partial(true) && report.skipped.broken_records == 0, "{what}");
                let warning = report.warnings[0].to_string();
                assert!(warning.contains("capture: skipped ") && warning.contains("not valid UTF-8"), "{warning}");
            }
            let strict = names(&content, IngestOptions::default()).unwrap_err();
            assert!(matches!(strict, IngestError::Record { number: 1, .. }), "{what}: {strict}");
        }
    }
    // No series depends on a description.
    let described = field(2, &[field(1, b"m"), field(2, CUT), field(5, &field(1, &attribute(7, b"1")))].concat());
    let (found, report) = names(&request(b"r", b"s", &[described]), skipping(None)).unwrap();
    assert_eq!((found, report.skipped.invalid_texts, report.skipped.invalid_series), (set(&["m 1"]), 1, 0));
}

#[test]
fn a_text_of_json_that_is_not_utf8_costs_what_it_belongs_to() {
    let point = |value: &str| {
        format!(r#"{{"attributes":[{{"key":"k","value":{{"stringValue":"{value}"}}}}],"timeUnixNano":"1"}}"#)
    };
    let metric = |name: &str, points: &[&str]| {
        let points: Vec<String> = points.iter().map(|value| point(value)).collect();
        format!(r#"{{"name":"{name}","gauge":{{"dataPoints":[{}]}}}}"#, points.join(","))
    };
    let request = |metrics: &[String]| {
        format!(r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{}]}}]}}]}}"#, metrics.join(","))
    };
    // Stands for bytes that no text has.
    let bytes = |text: String| {
        text.replace('X', "\u{1}")
            .into_bytes()
            .iter()
            .map(|&byte| if byte == 1 { 0xe2 } else { byte })
            .collect::<Vec<u8>>()
    };
    for (what, line, kept, skipped) in [
        ("a point", request(&[metric("m", &["fine", "X"]), metric("n", &["fine"])]), &["m fine", "n fine"][..], (1, 1)),
        ("a metric", request(&[metric("mX", &["1", "2"]), metric("n", &["3"])]), &["n 3"], (1, 2)),
        ("series", "{\"__name__\":\"m\",\"k\":\"X\"}\n{\"__name__\":\"n\",\"k\":\"2\"}".to_owned(), &["n 2"], (1, 1)),
    ] {
        let content = [bytes(line), b"\n".to_vec()].concat();
        let (found, report) = names(&content, skipping(None)).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(found, set(kept), "{what}");
        assert_eq!((report.skipped.invalid_texts, report.skipped.invalid_series), skipped, "{what}");
        assert!(names(&content, IngestOptions::default()).is_err(), "{what}");
    }
    // Half of a character in the notation of JSON is U+FFFD, as in the Collector.
    let content = request(&[metric("m", &["\\ud83d", "\\ud83d\\ude00"])]) + "\n";
    let (found, report) = names(content.as_bytes(), IngestOptions::default()).unwrap();
    assert_eq!((found, report.is_partial(false)), (set(&["m \u{fffd}", "m \u{1f600}"]), false));
    let series = "{\"__name__\":\"m\",\"k\":\"\\udc00\"}\n{\"__name__\":\"\\ud800\"}\n";
    let (found, _) = names(series.as_bytes(), IngestOptions::default()).unwrap();
    assert_eq!(found, set(&["m \u{fffd}", "\u{fffd}"]));
}

/// Each text of a request, one at a time, in a file with a sound resource behind it.
#[test]
fn each_text_of_a_request_costs_what_it_belongs_to() {
    let json = |invalid: &str| {
        let texts = ["KEY", "RESOURCE", "NAME", "VERSION", "SCOPE", "UNIT", "DESCRIPTION"];
        let request = r#"{"resourceMetrics":[{"resource":{"attributes":[{"key":"KEY","value":{"stringValue":"RESOURCE"}}]},
            "scopeMetrics":[{"scope":{"name":"NAME","version":"VERSION","attributes":[{"key":"s","value":
            {"stringValue":"SCOPE"}}]},"metrics":[{"name":"m","unit":"UNIT","description":"DESCRIPTION","gauge":
            {"dataPoints":[{},{"attributes":[{"key":"k","value":{"stringValue":"1"}}]}]}}]}]},
            {"scopeMetrics":[{"metrics":[{"name":"o","gauge":{"dataPoints":[{}]}}]}]}]}"#;
        let line = texts.iter().fold(request.replace('\n', ""), |line, text| {
            line.replace(text, if invalid.split(' ').any(|name| name == *text) { "\u{1}" } else { "fine" })
        });
        let bytes = line.into_bytes().into_iter().map(|byte| if byte == 1 { 0xff } else { byte });
        bytes.chain([b'\n']).collect::<Vec<u8>>()
    };
    let proto = |unit: &[u8], padded: &[u8]| {
        let odd = |field: Vec<u8>| [&[field[0] | 0x80, 0], &field[1..]].concat();
        let point = field(1, &odd(attribute(7, padded)));
        let metrics = [
            field(2, &[field(1, b"m"), field(3, unit), field(5, &field(1, &attribute(7, b"1")))].concat()),
            field(2, &[field(1, b"o"), field(5, &point)].concat()),
        ];
        request(b"r", b"s", &metrics)
    };
    let (all, other) = (&["m", "m 1", "o"][..], &["o"][..]);
    for (what, content, kept, skipped) in [
        ("nothing", json(""), all, (0, 0)),
        ("a key of a resource", json("KEY"), other, (1, 2)),
        ("a key and its value, which count once", json("KEY RESOURCE"), other, (1, 2)),
        ("a value of a resource", json("RESOURCE"), other, (1, 2)),
        ("a name of a scope", json("NAME"), other, (1, 2)),
        ("a version of a scope", json("VERSION"), other, (1, 2)),
        ("a value of a scope", json("SCOPE"), other, (1, 2)),
        ("a unit", json("UNIT"), other, (1, 2)),
        ("a description", json("DESCRIPTION"), all, (1, 0)),
        ("nothing of protobuf", proto(b"By", b"2"), &["m 1", "o 2"][..], (0, 0)),
        ("a unit of protobuf", proto(CUT, b"2"), &["o 2"][..], (1, 1)),
        ("an attribute with another key", proto(b"By", CUT), &["m 1"][..], (1, 1)),
    ] {
        for threads in [1, 3] {
            let options = IngestOptions { threads: NonZeroUsize::new(threads), ..skipping(None) };
            let (found, report) = names(&content, options).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(found, set(kept), "{what}");
            assert_eq!((report.skipped.invalid_texts, report.skipped.invalid_series), skipped, "{what}");
            assert_eq!(names(&content, IngestOptions::default()).is_err(), skipped.0 > 0, "{what}");
        }
    }
}

/// A request that is cut off, and has an attribute that is damaged before that.
#[test]
fn damage_within_a_request_that_is_cut_off_is_damage() {
    let whole = request(b"r", b"s", &[metric(b"m", &[CUT])]);
    let format = Some(Format::OtlpProto);
    for strict in [true, false] {
        let options = if strict { IngestOptions { format, ..IngestOptions::default() } } else { skipping(format) };
        let content = [&whole[..], &[0x0a, 5, 0x0a]].concat();
        match names(&content, options) {
            Err(IngestError::Record { number: 1, .. }) if strict => {}
            // The text is left out, and the rest is missing.
            Ok((_, report)) if !strict => assert_eq!((report.torn_records, report.records), (1, 0)),
            result => panic!("{result:?}"),
        }
    }
}

#[test]
fn requests_that_would_take_far_more_memory_than_bytes_are_malformed() {
    // Resources without anything, of three bytes each.
    let json = |count: usize| format!("{{\"resourceMetrics\":[{}{{}}]}}\n", "{},".repeat(count)).into_bytes();
    // Attributes would make a request longer than what it takes.
    let filled = |count: usize| {
        let metric = format!(r#"{{"name":"m","description":"{}"}},"#, "d".repeat(40));
        let metrics = metric.repeat(count);
        format!(r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{metrics}{{}}]}}]}}]}}"#).into_bytes()
    };
    let proto = |count: usize| [0x0a, 0].repeat(count);
    let format_of = |format| IngestOptions { format: Some(format), ..IngestOptions::default() };
    for (content, format) in
        [(json(100_000), Format::OtlpJson), (filled(100_000), Format::OtlpJson), (proto(100_000), Format::OtlpProto)]
    {
        assert_eq!(names(&content, format_of(format)).unwrap().1.records, 1);
    }
    for (content, format) in [(json(110_000), Format::OtlpJson), (proto(110_000), Format::OtlpProto)] {
        let error = names(&content, format_of(format)).unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(source.contains("more than 2097152 bytes of parts for its length"), "{error}: {source}");
    }
}

#[test]
fn a_text_of_prometheus_that_is_not_utf8_costs_its_series() {
    let label = |number: u8, name: &[u8], value: &[u8]| field(number, &[field(1, name), field(2, value)].concat());
    let series = |value: &[u8]| field(1, &[label(1, b"__name__", b"up"), label(1, b"k", value)].concat());
    let packed = |content: Vec<u8>| snap::raw::Encoder::new().compress_vec(&content).unwrap();
    let metadata = field(3, &[&[8, 1][..], &field(2, b"up"), &field(4, CUT)].concat());
    let version_1 = packed([metadata, series(b"1"), series(CUT), series(b"2")].concat());
    let symbols: Vec<u8> =
        [&b""[..], b"__name__", b"up", b"k", b"1", CUT, b"2"].iter().flat_map(|text| field(4, text)).collect();
    let refs = |value: u8| field(5, &field(1, &[1, 2, 3, value]));
    let version_2 = packed([symbols, refs(4), refs(5), refs(6)].concat());
    let point = |value: &[u8]| field(4, &[label(1, b"k", value), field(2, &[9, 0, 0, 0, 0, 0, 0, 0, 0])].concat());
    let family = [field(1, b"up"), field(2, CUT), vec![24, 1], point(b"1"), point(CUT), point(b"2")].concat();
    let family = [&[family.len() as u8][..], &family].concat();
    for (format, content, texts) in
        [(Format::RemoteWrite, version_1, 2), (Format::RemoteWrite, version_2, 1), (Format::PrometheusProto, family, 2)]
    {
        let (found, report) =
            names(&content, skipping(Some(format))).unwrap_or_else(|error| panic!("{format:?}: {error}"));
        assert_eq!(found, set(&["up 1", "up 2"]), "{format:?}");
        assert_eq!((report.skipped.invalid_texts, report.skipped.invalid_series), (texts, 1), "{format:?}");
        let strict = IngestOptions { format: Some(format), ..IngestOptions::default() };
        assert!(names(&content, strict).is_err(), "{format:?}");
    }
}

/// Lines of series, compressed as one frame.
fn frame(compress: fn(&[u8]) -> Vec<u8>, first: char, count: usize) -> Vec<u8> {
    let lines: String = (0..count).map(|number| format!("{{\"__name__\":\"{first}{number}\"}}\n")).collect();
    compress(lines.as_bytes())
}

#[test]
fn damage_of_a_compressed_stream_costs_its_frame() {
    for (what, compress) in [("zstd", zstd as fn(&[u8]) -> Vec<u8>), ("gzip", gzip)] {
        let [a, b, c] = ['a', 'b', 'c'].map(|first| frame(compress, first, 5));
        let torn = b[..b.len() - b.len() / 3].to_vec();
        let mut flipped = b.clone();
        flipped[b.len() / 2] ^= 0x55;
        for (damage, content) in [
            ("a torn frame", [a.clone(), torn.clone(), c.clone()].concat()),
            ("a damaged frame", [a.clone(), flipped, c.clone()].concat()),
            ("garbage between frames", [a.clone(), b"garbage".to_vec(), c.clone()].concat()),
            ("two torn frames", [a.clone(), torn.clone(), torn.clone(), c.clone()].concat()),
        ] {
            let (found, report) =
                names(&content, skipping(None)).unwrap_or_else(|error| panic!("{what}, {damage}: {error}"));
            for first in ['a', 'c'] {
                let kept = found.iter().filter(|name| name.starts_with(first)).count();
                assert_eq!(kept, 5, "{what}, {damage}: {found:?} {:?}", report.warnings);
            }
            assert!(report.is_partial(true), "{what}, {damage}");
            let told =
                report.warnings.iter().any(|warning| warning.to_string().contains("compressed stream is damaged"));
            assert!(told, "{what}, {damage}: {:?}", report.warnings);
            match names(&content, IngestOptions::default()) {
                // Changed bytes may be content too.
                Err(error) => assert!(
                    matches!(error, IngestError::Compression { .. } | IngestError::Record { .. }),
                    "{what}, {damage}: {error}"
                ),
                // The decoder waits for bytes that a later frame does not have.
                Ok((_, report)) => assert_eq!(report.truncated_inputs, 1, "{what}, {damage}"),
            }
        }
        // Damage before any content.
        let (found, report) = names(&[&a[..a.len() / 2], &c].concat(), skipping(None)).unwrap();
        assert!(
            found.iter().filter(|name| name.starts_with('c')).count() == 5 && report.is_partial(true),
            "{what}: {found:?}"
        );
        // A frame that is torn at the end is a truncated input, as without the option.
        let (found, report) = names(&[a.as_slice(), &torn].concat(), skipping(None)).unwrap();
        assert_eq!((report.truncated_inputs, report.skipped.broken_records), (1, 0), "{what}");
        assert!(found.len() >= 5 && !report.is_partial(true), "{what}: {found:?}");
    }
}

#[test]
fn damage_in_a_large_stream_costs_no_block_before_it() {
    // Lines that do not compress well, so that there are several blocks.
    let mut state = 1_u64;
    let mut lines = String::new();
    for number in 0..30_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        lines.push_str(&format!("{{\"__name__\":\"a{number}\",\"k\":\"{state:x}\"}}\n"));
    }
    let mut content = zstd(lines.as_bytes());
    let place = content.len() * 3 / 4;
    content[place..place + 40].fill(0xff);
    content.extend(frame(zstd, 'c', 5));
    let (found, report) = names(&content, skipping(None)).unwrap();
    assert!(found.len() > 12_000 && report.is_partial(true), "{} series", found.len());
    assert_eq!(found.iter().filter(|name| name.starts_with('c')).count(), 5);
}

#[test]
fn arrays_of_requests_and_results_of_queries_are_read() {
    let request = |name: &str| {
        format!(
            r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"name":"{name}","gauge":{{"dataPoints":[{{}}]}}}}]}}]}}]}}"#
        )
    };
    let array = format!("[\n  {},\n  {}\n]\n", request("a"), request("b"));
    let (found, report) = names(array.as_bytes(), IngestOptions::default()).unwrap();
    assert_eq!((found, report.records), (set(&["a", "b"]), 2));
    let result = |kind: &str, more: &str| {
        format!(
            r#"{{"status":"success","data":{{"resultType":"{kind}","result":[{{"metric":{{"__name__":"up","k":"1"}},{more}}},{{"metric":{{"__name__":"up"}},{more}}}]}}}}"#
        )
    };
    for content in [
        result("vector", r#""value":[1435781451.781,"1"]"#),
        result("matrix", r#""values":[[1435781430.781,"1"],[1435781445.781,"1"]]"#),
        result("vector", r#""histogram":[1435781451.781,{"count":"1","sum":"1","buckets":[[1,"1","2","3"]]}]"#),
    ] {
        let (found, report) = names(content.as_bytes(), IngestOptions::default()).unwrap();
        assert_eq!((found, report.is_partial(false)), (set(&["up 1", "up"]), false), "{content}");
        let warned = content.replacen(",\"data\"", ",\"warnings\":[\"a store did not answer\"],\"data\"", 1);
        let (_, report) =
            names(warned.as_bytes(), IngestOptions { format: Some(Format::SeriesJson), ..IngestOptions::default() })
                .unwrap();
        assert!(report.is_partial(true) && report.warnings[0].to_string().ends_with("a store did not answer"));
    }
    let scalar = r#"{"status":"success","data":{"resultType":"scalar","result":[1435781451.781,"1"]}}"#;
    assert!(names(scalar.as_bytes(), IngestOptions::default()).is_err());
}

#[test]
fn a_file_that_begins_within_a_record_or_with_nul_bytes_is_read_from_its_next_record() {
    let json = |name: &str| {
        format!(
            r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"name":"{name}","gauge":{{"dataPoints":[{{}}]}}}}]}}]}}]}}"#
        )
    };
    let lines: String = ["b", "c"].iter().map(|name| json(name) + "\n").collect();
    let frame = |message: &[u8]| [&(message.len() as u32).to_be_bytes()[..], message].concat();
    let proto = |name: &[u8]| frame(&request(b"r", b"s", &[metric(name, &[b"1"])]));
    let frames = [proto(b"b"), proto(b"c")].concat();
    let framed: Vec<u8> = ["b", "c"].iter().flat_map(|name| frame(json(name).as_bytes())).collect();
    for (what, rest, content) in [
        ("lines of JSON", json("a").as_bytes()[30..].to_vec(), lines.as_bytes()),
        ("messages of protobuf", proto(b"a")[17..].to_vec(), &frames),
        ("messages of JSON", frame(json("a").as_bytes())[9..].to_vec(), &framed),
        ("series", b"me__\":\"a\"}\n".to_vec(), b"{\"__name__\":\"b\"}\n{\"__name__\":\"c\"}\n"),
        ("text", b"\xff{} 1\n".to_vec(), b"b 1\nc{k=\"1\"} 1\n"),
    ] {
        let rest = if what == "lines of JSON" { [rest, b"\n".to_vec()].concat() } else { rest };
        for (damage, start) in [("a rest", rest), ("NUL bytes", vec![0; 1_000]), ("many NUL bytes", vec![0; 200_001])] {
            let content = [&start, content].concat();
            let (found, report) =
                names(&content, IngestOptions::default()).unwrap_or_else(|error| panic!("{what}, {damage}: {error}"));
            let found: BTreeSet<String> = found.into_iter().map(|name| name[..1].to_owned()).collect();
            assert_eq!((found, report.cut_starts), (set(&["b", "c"]), 1), "{what}, {damage}");
            assert!(report.is_partial(false) && !report.is_partial(true), "{what}, {damage}");
            let warning = report.warnings[0].to_string();
            assert!(warning.contains("the start is cut off or damaged"), "{what}, {damage}: {warning}");
        }
    }
}

#[test]
fn nul_bytes_within_a_file_cost_no_line() {
    for (what, first, second) in [
        ("series", "{\"__name__\":\"a\"}\n", "{\"__name__\":\"b\"}\n"),
        ("text", "# TYPE a gauge\na 1\na{k=\"1\"} 1\n", "b 1\n"),
    ] {
        for count in [1, 1_000, 300_000] {
            let content = [first.as_bytes(), &vec![0; count], second.as_bytes()].concat();
            let (found, report) = names(&content, skipping(None)).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(found.contains("a") && found.contains("b"), "{what}, {count} NUL bytes: {found:?}");
            assert_eq!(report.skipped.broken_records, 1, "{what}, {count} NUL bytes");
            let error = names(&content, IngestOptions::default()).unwrap_err();
            assert!(matches!(error, IngestError::Record { .. }), "{what}, {count} NUL bytes: {error}");
        }
    }
}

#[test]
fn a_bad_line_among_the_first_costs_only_itself() {
    let good = |first: usize, count: usize| {
        (first..first + count).map(|number| format!("g{number}{{a=\"b\"}} 1\n")).collect::<String>()
    };
    for before in 0..6 {
        let content = format!("{}broken line here\n{}", good(0, before), good(before, 4));
        let (found, report) = names(content.as_bytes(), skipping(None)).unwrap();
        assert_eq!(found.len(), before + 4, "{before} lines before");
        assert_eq!(report.skipped.broken_records + report.cut_starts, 1, "{before} lines before");
        let strict = names(content.as_bytes(), IngestOptions::default());
        match before {
            0 => assert_eq!(strict.unwrap().1.cut_starts, 1),
            _ => assert!(matches!(strict, Err(IngestError::Record { .. })), "{before} lines before"),
        }
    }
    // A bad line at the end, and many of them.
    let (found, _) = names(format!("{}x{{a=\"\u{1}\n", good(0, 2)).as_bytes(), skipping(None)).unwrap();
    assert_eq!(found.len(), 2);
    let many: String = (0..9).map(|number| format!("{}broken line\n", good(3 * number, 3))).collect();
    let (found, report) = names(many.as_bytes(), skipping(None)).unwrap();
    assert_eq!((found.len(), report.skipped.broken_records), (27, 9));
    let lines = format!("{}{{\"__name__\":\"a\"}}\n{{\"__name__\":\"b\"}}\n", "a log line\n".repeat(100));
    let (found, report) = names(lines.as_bytes(), skipping(None)).unwrap();
    assert_eq!((found, report.cut_starts), (set(&["a", "b"]), 1));
}

#[test]
fn zeros_after_a_gzip_member_are_padding() {
    let a = frame(gzip, 'a', 5);
    for content in [[a.as_slice(), &[0; 512]].concat(), [&a, &[0; 3][..], &frame(gzip, 'b', 2)].concat()] {
        let (found, report) = names(&content, IngestOptions::default()).unwrap();
        assert!(found.len() >= 5 && !report.is_partial(false), "{found:?}");
    }
}

#[test]
fn a_torn_frame_before_others_is_damage_without_skipping_too() {
    let [a, b, c] = ['a', 'b', 'c'].map(|first| frame(zstd, first, 5));
    let content = [&a, &b[..b.len() - 9], &c].concat();
    let error = names(&content, IngestOptions::default()).unwrap_err();
    assert!(matches!(error, IngestError::Compression { .. }), "{error}");
}

#[test]
fn compressed_messages_after_a_cut_start_are_read() {
    let message = |name: &[u8]| zstd(&request(b"r", b"s", &[metric(name, &[b"1"])]));
    let frame = |message: Vec<u8>| [&(message.len() as u32).to_be_bytes()[..], &message].concat();
    let frames: Vec<u8> = [b"a", b"b", b"c"].iter().flat_map(|name| frame(message(*name))).collect();
    let (found, report) = names(&frames[9..], IngestOptions::default()).unwrap();
    assert_eq!((found, report.cut_starts), (set(&["b 1", "c 1"]), 1));
}

#[test]
fn an_object_that_is_not_a_request_is_told() {
    let content = "{\"resourceMetrics\":[]}\n{\"__name__\":\"lost\"}\n{}\n";
    let error = names(content.as_bytes(), IngestOptions::default()).unwrap_err();
    assert!(matches!(error, IngestError::Record { number: 2, .. }), "{error}");
    let (_, report) = names(content.as_bytes(), skipping(None)).unwrap();
    assert_eq!((report.records, report.skipped.broken_records), (2, 1));
}

#[test]
fn a_header_of_csv_that_comes_again_is_not_a_series() {
    let table = "__name__,k\na,1\n";
    let (found, report) =
        names(table.repeat(2).replace("a,1\n__", "a,1\nb,2\n__").as_bytes(), IngestOptions::default()).unwrap();
    assert_eq!((found, report.is_partial(false)), (set(&["a 1", "b 2"]), false));
}

#[test]
fn metadata_of_an_input_that_fails_is_not_that_of_the_next() {
    let mut options = IngestOptions::default();
    options.assemble.type_and_unit_labels = true;
    let mut ingest = Ingest::new(options, Vec::new());
    let source = |text: &'static str| Source::new("capture".to_owned(), text.as_bytes()).unwrap();
    let error = ingest.read(source("# TYPE up counter\nup{k=\"1\"} 1\nup{\nup{k=\"2\"} 1\n")).unwrap_err();
    ingest.skip_failed_input(&error);
    ingest.read(source("up{k=\"3\"} 1\n")).unwrap();
    let (report, blocks) = ingest.finish().unwrap();
    let types: BTreeSet<(String, bool)> = blocks
        .iter()
        .flat_map(|block| canonical::block_series(block))
        .map(|labels| {
            let get = |key: &str| labels.iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone());
            (get("k").unwrap(), get("__type__").is_some())
        })
        .collect();
    assert_eq!(types, [("1".to_owned(), true), ("3".to_owned(), false)].into());
    assert!(report.failed_inputs == 1 && report.is_partial(true));
}

#[test]
fn data_of_a_response_that_is_not_a_list_is_an_error() {
    for data in ["1", "true", "{}", "{\"result\":1}"] {
        let content = format!("{{\"status\":\"success\",\"data\":{data}}}");
        let options = IngestOptions { format: Some(Format::SeriesJson), ..IngestOptions::default() };
        assert!(names(content.as_bytes(), options).is_err(), "{content}");
    }
}

#[test]
fn the_rest_of_a_long_record_is_skipped() {
    for len in [70_000, 200_000, 3_000_000] {
        let rest = "x".repeat(len);
        let content = format!("{rest}\"}}\n{{\"__name__\":\"b\"}}\n{{\"__name__\":\"c\"}}\n");
        let (found, report) = names(content.as_bytes(), IngestOptions::default()).unwrap();
        assert_eq!((found, report.cut_starts), (set(&["b", "c"]), 1), "{len} bytes");
    }
}

#[test]
fn damage_of_a_compressed_table_is_told_as_damage() {
    for name in ["polars-text.arrow", "polars-text.parquet"] {
        let path = format!("{}/../testdata/captures/tables/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(true).unwrap();
        std::io::Write::write_all(&mut encoder, &std::fs::read(path).unwrap()).unwrap();
        let mut content = encoder.finish().unwrap();
        assert_eq!(names(&content, IngestOptions::default()).unwrap().1.series, 3, "{name}");
        *content.last_mut().unwrap() ^= 1;
        let error = names(&content, IngestOptions::default()).unwrap_err();
        assert!(matches!(error, IngestError::Compression { .. }), "{name}: {error}");
    }
}
