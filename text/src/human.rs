//! Counts, sizes and ratios as text.

/// Formats a count with a comma before every three digits.
///
/// ```
/// assert_eq!(chronoxide_text::human::count(1_234_567), "1,234,567");
/// ```
#[must_use]
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a count and its noun, in the plural unless the count is 1.
///
/// ```
/// use chronoxide_text::human;
///
/// assert_eq!(human::count_of(1, "block"), "1 block");
/// assert_eq!(human::count_of(1_000, "block"), "1,000 blocks");
/// assert_eq!(human::count_of(2, "query"), "2 queries");
/// ```
#[must_use]
pub fn count_of(number: u64, what: &str) -> String {
    let count = count(number);
    match what.strip_suffix('y') {
        _ if number == 1 => format!("{count} {what}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{count} {stem}ies"),
        _ => format!("{count} {what}s"),
    }
}

/// Formats a share in percent. Only none and all read as 0% and 100%.
///
/// ```
/// use chronoxide_text::human;
///
/// assert_eq!(human::share(1, 3), "33.3%");
/// assert_eq!(human::share(74_999_999, 75_000_000), ">99.9%");
/// assert_eq!(human::share(0, 0), "-");
/// ```
#[must_use]
pub fn share(part: u64, total: u64) -> String {
    match part {
        _ if total == 0 => "-".to_owned(),
        0 => "0%".to_owned(),
        _ if part >= total => "100%".to_owned(),
        _ => match part as f64 / total as f64 * 100.0 {
            ..0.05 => "<0.1%".to_owned(),
            99.95.. => ">99.9%".to_owned(),
            percent => format!("{percent:.1}%"),
        },
    }
}

/// Formats a size in a suitable unit, and exactly.
///
/// ```
/// use chronoxide_text::human;
///
/// assert_eq!(human::bytes(512), "512 bytes");
/// assert_eq!(human::bytes(1_234_567), "1.2 MiB (1,234,567 bytes)");
/// ```
#[must_use]
pub fn bytes(bytes: u64) -> String {
    match (bytes, scaled(bytes)) {
        (1, _) => "1 byte".to_owned(),
        (_, Some(scaled)) => format!("{scaled} ({} bytes)", count(bytes)),
        (_, None) => format!("{} bytes", count(bytes)),
    }
}

/// Formats a size in a suitable unit.
///
/// ```
/// use chronoxide_text::human;
///
/// assert_eq!(human::size(512), "512 bytes");
/// assert_eq!(human::size(64 << 20), "64 MiB");
/// assert_eq!(human::size(1_234_567), "1.2 MiB");
/// ```
#[must_use]
pub fn size(bytes: u64) -> String {
    match scaled(bytes) {
        Some(scaled) => scaled.replace(".0 ", " "),
        None => self::bytes(bytes),
    }
}

/// Formats a size with one decimal, rounded half up. Returns `None` below 1 KiB.
fn scaled(bytes: u64) -> Option<String> {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return None;
    }
    let tenths_of = |power: u32| {
        let unit = 1_u128 << (10 * power);
        (u128::from(bytes) * 10 + unit / 2) / unit
    };
    let (power, unit) = (1..).zip(UNITS).find(|(power, unit)| tenths_of(*power) < 10_240 || *unit == "EiB")?;
    let tenths = tenths_of(power);
    Some(format!("{}.{} {unit}", tenths / 10, tenths % 10))
}

/// Formats a ratio such as bytes per series: two decimals below 100, one from there on. A ratio that is not zero never
/// reads as zero, and a ratio that is not finite is a dash.
///
/// ```
/// use chronoxide_text::human;
///
/// assert_eq!(human::per(9.3871), "9.39");
/// assert_eq!(human::per(1234.56), "1,234.6");
/// assert_eq!(human::per(0.001), "<0.01");
/// assert_eq!(human::per(0.0 / 0.0), "-");
/// ```
#[must_use]
pub fn per(ratio: f64) -> String {
    if !ratio.is_finite() {
        return "-".to_owned();
    }
    let size = ratio.abs();
    let sign = if ratio < 0.0 { "-" } else { "" };
    if size == 0.0 {
        return "0".to_owned();
    }
    if size < 0.005 {
        return if ratio < 0.0 { ">-0.01" } else { "<0.01" }.to_owned();
    }
    let text = if size < 99.995 { format!("{size:.2}") } else { format!("{size:.1}") };
    match text.split_once('.').map(|(whole, rest)| (whole.parse(), rest)) {
        Some((Ok(whole), rest)) => format!("{sign}{}.{rest}", count(whole)),
        // More than 2^64.
        _ => format!("{sign}{size:.1e}"),
    }
}

/// Formats a half-open range of times, in nanoseconds since 1970, as RFC 3339.
///
/// ```
/// use chronoxide_text::human;
///
/// assert_eq!(human::times(0, 3_600_000_000_000), "1970-01-01T00:00:00Z to before 1970-01-01T01:00:00Z");
/// ```
#[must_use]
pub fn times(start: i64, end: i64) -> String {
    format!("{} to before {}", time(start), time(end))
}

/// Formats a time, in nanoseconds since 1970, as RFC 3339.
///
/// ```
/// assert_eq!(chronoxide_text::human::time(1_500_000_000), "1970-01-01T00:00:01.5Z");
/// ```
#[must_use]
pub fn time(nanoseconds: i64) -> String {
    // Every `i64` is a time that jiff knows: the years 1677 to 2262.
    jiff::Timestamp::from_nanosecond(nanoseconds.into()).map_or(nanoseconds.to_string(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_three() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (99_999, "99,999"),
            (100_000, "100,000"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn sizes_change_their_unit_before_they_read_1024() {
        for (size, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1_023, "1,023 bytes"),
            (1_024, "1.0 KiB (1,024 bytes)"),
            (1_075, "1.0 KiB (1,075 bytes)"),
            (1_076, "1.1 KiB (1,076 bytes)"),
            ((1 << 20) - 52, "1023.9 KiB (1,048,524 bytes)"),
            ((1 << 20) - 51, "1.0 MiB (1,048,525 bytes)"),
            (1 << 30, "1.0 GiB (1,073,741,824 bytes)"),
            (u64::MAX, "16.0 EiB (18,446,744,073,709,551,615 bytes)"),
        ] {
            assert_eq!(bytes(size), text);
        }
    }

    #[test]
    fn ratios_keep_three_digits_or_more() {
        for (ratio, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (0.004, "<0.01"),
            (-0.004, ">-0.01"),
            (0.005, "0.01"),
            (1.0, "1.00"),
            (-14.125, "-14.12"),
            (99.994, "99.99"),
            (99.996, "100.0"),
            (12_345.67, "12,345.7"),
            (1e30, "1.0e30"),
            (f64::INFINITY, "-"),
        ] {
            assert_eq!(per(ratio), text, "{ratio}");
        }
    }
}
