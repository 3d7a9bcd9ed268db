//! Floats in labels, in the notation of Prometheus 3.

/// Powers of ten from and below which a float is written with an exponent.
const PLAIN_EXPONENTS: std::ops::Range<i32> = -4..6;

/// Formats the value of a `le` or `quantile` label like Prometheus 3: the shortest text that reads back as the same
/// float, with a point or an exponent, so that `1` and `1.0` are one label. Equals `FormatOpenMetricsFloat` of its
/// `model/labels`.
pub(crate) fn open_metrics_float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if value == 0.0 {
        // Prometheus has no negative zero here.
        return "0.0".to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if PLAIN_EXPONENTS.contains(&exponent) {
        let plain = value.to_string();
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::open_metrics_float;

    #[test]
    fn floats_are_written_as_prometheus_writes_them() {
        // Results of `labels.FormatOpenMetricsFloat` of `prometheus/prometheus` v0.312.0.
        for (value, expected) in FLOATS {
            assert_eq!(open_metrics_float(value), expected, "{value:e}");
        }
    }

    const FLOATS: [(f64, &str); 28] = [
        (0.0, "0.0"),
        (-0.0, "0.0"),
        (1.0, "1.0"),
        (-1.0, "-1.0"),
        (2.0, "2.0"),
        (0.1, "0.1"),
        (0.5, "0.5"),
        (0.99, "0.99"),
        (2.5, "2.5"),
        (10.0, "10.0"),
        (100000.0, "100000.0"),
        (1e6, "1e+06"),
        (1234567.0, "1.234567e+06"),
        (123456.0, "123456.0"),
        (1e20, "1e+20"),
        (1e21, "1e+21"),
        (1.5e21, "1.5e+21"),
        (123456789012345680000.0, "1.2345678901234568e+20"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (0.000012, "1.2e-05"),
        (-0.00001, "-1e-05"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (0.30000000000000004, "0.30000000000000004"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "+Inf"),
        (f64::NEG_INFINITY, "-Inf"),
    ];
}
