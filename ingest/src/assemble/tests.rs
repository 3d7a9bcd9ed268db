//! Tests of the assembler with requests and series.

use chronoxide_format::policy::LabelPolicy;
use chronoxide_labels::LabelSets;

use super::{AssembleOptions, Assembler};
use crate::error::DecodeError;
use crate::report::{Levels, Shadowed, Skipped};
use crate::series_json::decode_series_json;

fn collected(records: &[&str]) -> Assembler {
    let mut assembler = Assembler::new(AssembleOptions::default(), Vec::new());
    for record in records {
        assembler.otlp_json(record.as_bytes()).unwrap();
    }
    assembler
}

/// Returns the series as text, in order of arrival.
fn series(assembler: &Assembler) -> Vec<String> {
    let store = assembler.store();
    let all = 0..store.len() as u32;
    all.map(|number| {
        let mut labels = Vec::new();
        let each = |name: &str, value: &str| labels.push(format!("{name}={value}"));
        store.visit(chronoxide_labels::StoreRef(number), each).unwrap();
        labels.join(" ")
    })
    .collect()
}

fn attributes(pairs: &[(&str, &str)]) -> String {
    let one = |(key, value): &(&str, &str)| format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#);
    format!(r#""attributes":[{}]"#, pairs.iter().map(one).collect::<Vec<_>>().join(","))
}

/// Returns a request with the fields of one resource, the fields of one scope, and metrics.
fn request(resource: &str, scope: &str, metrics: &str) -> String {
    let scope_metrics = format!(r#"{{"scope":{{{scope}}},"metrics":[{metrics}]}}"#);
    format!(r#"{{"resourceMetrics":[{{"resource":{{{resource}}},"scopeMetrics":[{scope_metrics}]}}]}}"#)
}

#[test]
fn the_more_specific_attribute_wins_and_the_metric_name_always() {
    let resource = attributes(&[("a", "resource"), ("b", "resource"), ("c", "resource"), ("__name__", "resource")]);
    let scope = attributes(&[("b", "scope"), ("c", "scope"), ("otel_scope_name", "attribute")]);
    let point = attributes(&[("c", "point"), ("__name__", "point"), ("otel_scope_version", "point")]);
    let assembler = collected(&[&request(
        &resource,
        &format!(r#""name":"meter","version":"1",{scope}"#),
        &format!(r#"{{"name":"metric","gauge":{{"dataPoints":[{{{point}}}]}}}}"#),
    )]);
    assert_eq!(
        series(&assembler),
        ["__name__=metric a=resource b=scope c=point otel_scope_name=meter otel_scope_version=point"]
    );
    let report = assembler.report();
    assert_eq!(report.shadowed, Shadowed { by_scope: 2, by_point: 2, by_metric_name: 2 });
    assert_eq!(report.duplicate_keys, Levels { scope: 1, ..Levels::default() });
}

#[test]
fn the_order_of_fields_does_not_matter() {
    let ordered = r#"{"resourceMetrics":[{"resource":{"attributes":[{"key":"r","value":{"stringValue":"1"}}]},"scopeMetrics":[
        {"scope":{"name":"s"},"metrics":[{"name":"m","sum":{"dataPoints":[{"attributes":[{"key":"p","value":{"intValue":"1"}}],"timeUnixNano":"5"}]}}]}]}]}"#;
    let reversed = r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"sum":{"dataPoints":[{"timeUnixNano":"5","attributes":[
        {"value":{"intValue":"1"},"key":"p"}]}]},"name":"m"}],"scope":{"name":"s"}}],"resource":{"attributes":[{"value":{"stringValue":"1"},"key":"r"}]}}]}"#;
    let (ordered, reversed) = (collected(&[ordered]), collected(&[reversed]));
    assert_eq!(series(&ordered), ["__name__=m otel_scope_name=s p=1 r=1"]);
    assert_eq!(series(&ordered), series(&reversed));
    assert_eq!(ordered.report(), reversed.report());
}

#[test]
fn nothing_leaks_from_one_resource_scope_or_point_to_the_next() {
    let assembler = collected(&[
        r#"{"resourceMetrics":[
        {"resource":{"attributes":[{"key":"r","value":{"stringValue":"1"}}]},"scopeMetrics":[
            {"scope":{"name":"s"},"metrics":[{"name":"m","gauge":{"dataPoints":[{"attributes":[{"key":"p","value":{"intValue":"1"}}]},{}]}}]},
            {"metrics":[{"name":"m","gauge":{"dataPoints":[{}]}}]}]},
        {"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{}]}},{"gauge":{"dataPoints":[{}]}},{"name":"n","summary":{}}]}]}]}"#,
        r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"o","histogram":{"dataPoints":[{}]}}]}]}]}"#,
    ]);
    assert_eq!(
        series(&assembler),
        [
            "__name__=m otel_scope_name=s p=1 r=1",
            "__name__=m otel_scope_name=s r=1",
            "__name__=m r=1",
            "__name__=m",
            "__name__=o"
        ]
    );
    let report = assembler.report();
    assert_eq!((report.points, report.series, report.metrics_without_points), (6, 5, 1));
    assert_eq!(report.skipped, Skipped { points_without_name: 1, ..Skipped::default() });
    assert_eq!(report.points_without_time, 5);
}

#[test]
fn an_empty_value_is_no_label_and_hides_what_it_shadows() {
    let assembler = collected(&[
        r#"{"resourceMetrics":[{"resource":{"attributes":[{"key":"a","value":{"stringValue":"r"}},{"key":"b"},{"key":"","value":{"stringValue":"x"}}]},
        "scopeMetrics":[{"scope":{"name":"","version":""},"metrics":[{"name":"m","gauge":{"dataPoints":[
            {"attributes":[{"key":"a","value":{"stringValue":""}},{"key":"b","value":{"stringValue":"p"}}]}, {}]}}]}]}]}"#,
    ]);
    assert_eq!(series(&assembler), ["__name__=m b=p", "__name__=m a=r"]);
    let report = assembler.report();
    assert_eq!(report.empty_values, Levels { resource: 1, scope: 0, point: 1 });
    assert_eq!((report.empty_keys, report.shadowed.by_point), (1, 1));
}

/// The format reserves names that begin with U+0000: series are kept without such labels, and nothing is lost in
/// silence.
#[test]
fn reserved_names_are_dropped_and_counted() {
    let assembler = collected(&[
        r#"{"resourceMetrics":[{"resource":{"attributes":[{"key":"\u0000r","value":{"stringValue":"x"}},{"key":"a\u0000","value":{"stringValue":"r"}}]},
        "scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[
            {"attributes":[{"key":"\u0000","value":{"stringValue":"y"}},{"key":"b","value":{"stringValue":"p"}}]},
            {"attributes":[{"key":"\u0000","value":{"stringValue":"y"}},{"key":"b","value":{"stringValue":"q"}}]}]}}]}]}]}"#,
    ]);
    assert_eq!(series(&assembler), ["__name__=m a\0=r b=p", "__name__=m a\0=r b=q"]);
    let report = assembler.report();
    assert_eq!(report.skipped, Skipped { reserved_names: 3, ..Skipped::default() });
    assert!(report.is_partial(true));
}

#[test]
fn long_names_and_values_are_cut_and_may_meet() {
    let long = "n".repeat(1_025);
    let cut = LabelPolicy::default().name(&long).into_owned();
    let value = "v".repeat(2_049);
    let resource = attributes(&[(&cut, "short"), ("v", &value)]);
    let point = attributes(&[(&long, "long")]);
    let assembler =
        collected(&[&request(&resource, "", &format!(r#"{{"name":"m","gauge":{{"dataPoints":[{{{point}}}]}}}}"#))]);
    let value = LabelPolicy::default().value(&value).into_owned();
    assert_eq!(series(&assembler), [format!("__name__=m {cut}=long v={value}")]);
    let report = assembler.report();
    assert_eq!((report.names_cut, report.values_cut, report.shadowed.by_point), (1, 1, 1));
}

#[test]
fn points_are_counted_by_kind_time_and_flag() {
    let mut metrics = Vec::new();
    for (number, kind) in ["gauge", "sum", "histogram", "exponentialHistogram", "summary"].iter().enumerate() {
        metrics.push(format!(
            r#"{{"name":"m{number}","{kind}":{{"dataPoints":[{{"timeUnixNano":"{}","flags":{}}}]}}}}"#,
            100 + number,
            number % 2
        ));
    }
    metrics.push(r#"{"name":"m9","gauge":{"dataPoints":[{"timeUnixNano":"18446744073709551615"}]}}"#.to_owned());
    let assembler = collected(&[&request("", "", &metrics.join(","))]);
    let report = assembler.report();
    let kinds = report.points_by_kind;
    assert_eq!((kinds.gauge, kinds.sum, kinds.histogram, kinds.exponential_histogram, kinds.summary), (2, 1, 1, 1, 1));
    assert_eq!((report.points_without_recorded_value, report.points_without_time), (2, 1));
    assert_eq!((report.time, report.series), (Some((100, 105)), 6));
}

#[test]
fn too_many_labels_cost_one_series_and_not_the_record() {
    let many: Vec<(String, String)> = (0..1023).map(|key| (format!("k{key}"), "v".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let points = format!(r#"{{{}}},{{{}}}"#, attributes(&many), attributes(&many[..1022]));
    let assembler = collected(&[&request("", "", &format!(r#"{{"name":"m","gauge":{{"dataPoints":[{points}]}}}}"#))]);
    assert_eq!(assembler.report().series, 1);
    assert_eq!(assembler.report().skipped, Skipped { too_many_labels: 1, ..Skipped::default() });
    assert!(assembler.report().is_partial(false));
}

#[test]
fn series_keep_the_last_of_equal_names_and_drop_empty_values() {
    let mut assembler = Assembler::new(AssembleOptions::default(), Vec::new());
    for record in [
        r#"{"a":"1","b":"2","a":"3"}"#,
        r#"{"b":"2","a":"3"}"#,
        r#"{"a":"3","b":"2","c":""}"#,
        r#"{"a":"1","a":""}"#,
        "{}",
        r#"{"":"x"}"#,
    ] {
        decode_series_json(record.as_bytes(), &mut assembler).unwrap();
    }
    assert_eq!(series(&assembler), ["a=3 b=2"]);
    let report = assembler.report();
    assert_eq!((report.duplicate_keys.point, report.empty_values.point, report.empty_keys), (2, 2, 1));
    assert_eq!(report.skipped.series_without_labels, 3);
}

#[test]
fn a_truncated_attribute_is_not_mixed_with_the_next_record() {
    let field = |key: u8, content: &[u8]| [&[key, content.len() as u8], content].concat();
    let attribute = |key: &[u8], value: &[u8]| [field(0x0a, key), field(0x12, &field(0x0a, value))].concat();
    let request = |attribute: &[u8]| {
        let metric = [field(0x0a, b"m"), field(0x2a, &field(0x0a, b""))].concat();
        let resource = field(0x0a, &field(0x0a, attribute));
        field(0x0a, &[resource, field(0x12, &field(0x12, &metric))].concat())
    };
    let mut assembler = Assembler::new(AssembleOptions::default(), Vec::new());
    // The value is not valid UTF-8, so the attribute is looked up and never cached.
    let broken = attribute(b"a", b"\xff");
    assert!(matches!(assembler.otlp_proto(&request(&broken)), Err(DecodeError::Proto(_))));
    decode_series_json(br#"{"b":"1"}"#, &mut assembler).unwrap();
    assert!(matches!(assembler.otlp_proto(&request(&broken)), Err(DecodeError::Proto(_))));
    assembler.otlp_proto(&request(&attribute(b"c", b"2"))).unwrap();
    assembler.otlp_proto(&request(&attribute(b"c", b"2"))).unwrap();
    assert_eq!(series(&assembler), ["b=1", "__name__=m c=2"]);
}
