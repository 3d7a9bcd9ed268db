//! Translation of OpenTelemetry names to Prometheus names.
//!
//! This is the [specification's translation][spec] with the default settings of Prometheus's OTLP receiver
//! (`UnderscoreEscapingWithSuffixes`). No maintained crate has it; the tests compare with results of Prometheus's own
//! translator (`prometheus/otlptranslator` 1.0).
//!
//! - A metric's name is cut into its letters, digits and colons, and put together with `_`. Its unit follows, in the
//!   plural and in words (`By` is `bytes`, `m/s` is `meters_per_second`), unless the name has it; then `total` for a
//!   monotonic sum and `ratio` for a gauge of unit `1`. A name that begins with a digit gets a `_` before it.
//! - In a label's name `_` replaces characters other than letters, digits and `_`. `key_` comes before a digit, `key`
//!   before a single
//!   `_`.
//!
//! A name without any valid character is not changed. Values of labels that get the same name are [joined][labels], as
//! in Prometheus.
//!
//! [spec]: https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
//! [labels]: crate::assemble
//!
//! ```
//! use chronoxide_ingest::names;
//!
//! assert_eq!(names::unit("By/s"), "bytes_per_second");
//! assert_eq!(names::label("http.request.method"), "http_request_method");
//! ```

use std::collections::HashMap;
use std::rc::Rc;

use chronoxide_format::metadata::{MetricMetadata, MetricType, Monotonicity};

/// Maximum number of cached names. A capture with more has generated names.
const MAX_KEPT: usize = 1 << 14;

/// Maximum length of a cached name. All cached names take at most about 6 MB.
const MAX_KEPT_LEN: usize = 128;

/// Translates the name of a metric.
#[must_use]
pub fn metric(metadata: &MetricMetadata<'_>) -> String {
    let mut parts: Vec<&str> = metadata.name.split(|char| !is_plain(char)).filter(|part| !part.is_empty()).collect();
    let (unit, per) = unit_parts(metadata.unit);
    let (has_unit, per) = (parts.contains(&unit.as_str()), per.trim_end_matches('_'));
    let has_per = per.is_empty() || parts.contains(&per);
    if !unit.is_empty() && !has_unit {
        parts.push(if has_per { &unit } else { unit.trim_end_matches('_') });
    }
    if !has_per {
        parts.push(per);
    }
    let suffix = match metadata.metric_type {
        MetricType::Sum if metadata.monotonicity == Monotonicity::Monotonic => "total",
        MetricType::Gauge if metadata.unit == "1" => "ratio",
        _ => "",
    };
    if !suffix.is_empty() {
        parts.retain(|part| *part != suffix);
        parts.push(suffix);
    }
    let name = parts.join("_");
    match name.bytes().next() {
        None => metadata.name.to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name,
    }
}

/// Translates the name of a label.
#[must_use]
pub fn label(name: &str) -> String {
    let translated: String = name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' }).collect();
    let has_one_underscore = translated.starts_with('_') && !translated.starts_with("__");
    let translated = match translated.bytes().next() {
        Some(first) if first.is_ascii_digit() => format!("key_{translated}"),
        _ if has_one_underscore => format!("key{translated}"),
        _ => translated,
    };
    if translated.bytes().all(|byte| byte == b'_') { name.to_owned() } else { translated }
}

/// Translates a unit to words. Returns the empty string for units without words, such as `1` or `{requests}`.
#[must_use]
pub fn unit(unit: &str) -> String {
    let (unit, per) = unit_parts(unit);
    let both = if unit.is_empty() || per.is_empty() { unit + &per } else { format!("{unit}_{per}") };
    let both = both.strip_prefix('_').unwrap_or(&both);
    both.strip_suffix('_').unwrap_or(both).to_owned()
}

/// Returns the Prometheus name of the type, or the empty string if it is unknown.
#[must_use]
pub fn metric_type(metadata: &MetricMetadata<'_>) -> &'static str {
    match metadata.metric_type {
        MetricType::Unknown | MetricType::Later(_) => "",
        MetricType::Sum if metadata.monotonicity == Monotonicity::Monotonic => "counter",
        MetricType::Gauge | MetricType::Sum => "gauge",
        MetricType::Histogram | MetricType::ExponentialHistogram => "histogram",
        MetricType::Summary => "summary",
        MetricType::GaugeHistogram => "gaugehistogram",
        MetricType::Info => "info",
        MetricType::StateSet => "stateset",
    }
}

fn is_plain(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == ':'
}

/// Splits a unit into what is measured and the divisor: `bytes` and `per_second`.
fn unit_parts(unit: &str) -> (String, String) {
    let (unit, per) = unit.split_once('/').unwrap_or((unit, ""));
    let word = |unit: &str, words: &[(&'static str, &'static str)]| {
        let unit = unit.trim();
        if unit.contains(['{', '}']) {
            return String::new();
        }
        let known = words.iter().find(|(short, _)| *short == unit);
        known.map_or(unit, |(_, word)| word).to_owned()
    };
    let per = word(per, &PER_UNITS);
    let per = if per.is_empty() { per } else { format!("per_{per}") };
    (plain(&word(unit, &UNITS)), plain(&per))
}

/// Joins letters, digits and colons with one `_` for each run of other characters, without one at the start.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for char in text.chars() {
        if is_plain(char) {
            plain.push(char);
        } else if !plain.is_empty() && !plain.ends_with('_') {
            plain.push('_');
        }
    }
    plain
}

/// Units of the [Unified Code for Units of Measure](https://ucum.org) that have words in Prometheus.
const UNITS: [(&str, &str); 26] = [
    ("d", "days"),
    ("h", "hours"),
    ("min", "minutes"),
    ("s", "seconds"),
    ("ms", "milliseconds"),
    ("us", "microseconds"),
    ("ns", "nanoseconds"),
    ("By", "bytes"),
    ("KiBy", "kibibytes"),
    ("MiBy", "mebibytes"),
    ("GiBy", "gibibytes"),
    ("TiBy", "tibibytes"),
    ("KBy", "kilobytes"),
    ("MBy", "megabytes"),
    ("GBy", "gigabytes"),
    ("TBy", "terabytes"),
    ("m", "meters"),
    ("V", "volts"),
    ("A", "amperes"),
    ("J", "joules"),
    ("W", "watts"),
    ("g", "grams"),
    ("Cel", "celsius"),
    ("Hz", "hertz"),
    ("1", ""),
    ("%", "percent"),
];

/// Words of divisors.
const PER_UNITS: [(&str, &str); 7] =
    [("s", "second"), ("m", "minute"), ("h", "hour"), ("d", "day"), ("w", "week"), ("mo", "month"), ("y", "year")];

/// Cache of translated names.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    labels: HashMap<Box<str>, Rc<str>>,
}

impl Cache {
    pub(crate) fn label(&mut self, name: &str) -> Rc<str> {
        if let Some(known) = self.labels.get(name) {
            return known.clone();
        }
        let translated: Rc<str> = label(name).into();
        if self.labels.len() < MAX_KEPT && name.len() <= MAX_KEPT_LEN {
            self.labels.insert(name.into(), translated.clone());
        }
        translated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_and_units_are_named_as_prometheus_names_them() {
        use MetricType::{Gauge, Histogram, Sum};
        // Results of `prometheus/otlptranslator` 1.0.
        for (name, unit_of, metric_type, is_monotonic, expected, expected_unit) in [
            ("http.server.request.duration", "s", Histogram, false, "http_server_request_duration_seconds", "seconds"),
            ("system.memory.usage", "By", Sum, false, "system_memory_usage_bytes", "bytes"),
            ("system.cpu.utilization", "1", Gauge, false, "system_cpu_utilization_ratio", ""),
            ("requests", "1", Sum, true, "requests_total", ""),
            ("requests.total", "", Sum, true, "requests_total", ""),
            ("total.requests", "{request}", Sum, true, "requests_total", ""),
            ("a.b__c..d", "", Gauge, false, "a_b_c_d", ""),
            ("2xx.responses", "", Sum, true, "_2xx_responses_total", ""),
            ("speed", "m/s", Gauge, false, "speed_meters_per_second", "meters_per_second"),
            ("speed.meters", "m/s", Gauge, false, "speed_meters_per_second", "meters_per_second"),
            ("net.io", "By/s", Sum, true, "net_io_bytes_per_second_total", "bytes_per_second"),
            ("cost", "$", Gauge, false, "cost", ""),
            ("load", "%", Gauge, false, "load_percent", "percent"),
            ("cpu.ratio", "1", Gauge, false, "cpu_ratio", ""),
            ("x", "{packets}/m", Gauge, false, "x_per_minute", "per_minute"),
            ("x", "weird unit", Gauge, false, "x_weird_unit", "weird_unit"),
            ("x", "_a_", Gauge, false, "x_a_", "a"),
            ("x", "KBy/foo", Gauge, false, "x_kilobytes_per_foo", "kilobytes_per_foo"),
            ("température", "Cel", Gauge, false, "temp_rature_celsius", "celsius"),
            ("a:b", "By", Gauge, false, "a:b_bytes", "bytes"),
            ("...", "By", Gauge, false, "bytes", "bytes"),
            ("disk.bytes", "By", Sum, true, "disk_bytes_total", "bytes"),
            ("x", " s / h ", Gauge, false, "x_seconds_per_hour", "seconds_per_hour"),
            ("x", "/s", Gauge, false, "x_per_second", "per_second"),
            ("x", "a/b/c", Gauge, false, "x_a_per_b_c", "a_per_b_c"),
            ("x", "By/", Gauge, false, "x_bytes", "bytes"),
            ("x", "a_/s", Gauge, false, "x_a_per_second", "a__per_second"),
            ("x_per_second", "By/s", Gauge, false, "x_per_second_bytes_per_second", "bytes_per_second"),
            ("ünï", "", Gauge, false, "n", ""),
            ("x", "µs", Gauge, false, "x_s", "s"),
        ] {
            let metadata = MetricMetadata {
                name,
                unit: unit_of,
                metric_type,
                monotonicity: is_monotonic.into(),
                ..MetricMetadata::default()
            };
            assert_eq!((metric(&metadata).as_str(), unit(unit_of).as_str()), (expected, expected_unit), "{metadata:?}");
        }
    }

    #[test]
    fn labels_are_named_as_prometheus_names_them() {
        for (name, expected) in [
            ("http.request.method", "http_request_method"),
            ("a..b", "a__b"),
            ("2xx", "key_2xx"),
            ("_private", "key_private"),
            ("__reserved", "__reserved"),
            ("__a__", "__a__"),
            ("é", "key_"),
            ("a/é", "a__"),
            ("_", "key_"),
            ("otel_scope_name", "otel_scope_name"),
            ("A-B", "A_B"),
            // Prometheus refuses the whole record here.
            ("...", "..."),
        ] {
            assert_eq!(label(name), expected, "{name}");
        }
    }
}
