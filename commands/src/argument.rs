//! Parsers of argument values that several commands share.

use std::num::NonZeroU64;
use std::time::Duration;

use jiff::{Span, SpanRelativeTo, Timestamp};

/// Parses `key=value`. The value may be empty and may contain `=`.
///
/// # Errors
/// The text has no `=`, or no key before it.
pub fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// Parses `name=value` as an external label, whose value must not be empty (spec, section 10).
///
/// # Errors
/// Errors of [`pair`], and an error for an empty value.
pub fn external_label(text: &str) -> Result<(String, String), String> {
    let (name, value) = pair(text)?;
    if value.is_empty() {
        return Err("the value is empty; an external label without a value is an absent one".to_owned());
    }
    Ok((name, value))
}

/// Parses a number of at least 1.
///
/// # Errors
/// The text is not such a number, or the number does not fit.
pub fn positive<N: TryFrom<NonZeroU64>>(text: &str) -> Result<N, String> {
    let number = text.parse::<NonZeroU64>().ok().and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| "expected a number of at least 1 that is not too large".to_owned())
}

/// Parses a number of at least 0.
///
/// # Errors
/// The text is not such a number, or the number does not fit.
pub fn count<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let number = text.parse::<u64>().ok().and_then(|number| N::try_from(number).ok());
    let most = u64::MAX >> (u64::BITS as usize).saturating_sub(8 * size_of::<N>());
    number.ok_or_else(|| format!("expected a number from 0 to {most}"))
}

/// Parses a size in bytes: `4096`, `512KiB`, `64MiB`, `1GiB`.
///
/// # Errors
/// The text is not a size, or the size is 0 or does not fit into a `usize`.
pub fn size(text: &str) -> Result<usize, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let (number, shift) = units
        .iter()
        .find_map(|&(unit, shift)| text.strip_suffix(unit).map(|number| (number.trim_end(), shift)))
        .unwrap_or((text, 0));
    let bytes = number.parse::<usize>().ok().and_then(|number| number.checked_mul(1 << shift));
    match bytes {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => Err("expected a size in bytes, such as 4096 or 64MiB".to_owned()),
    }
}

/// Parses a duration such as `90s`, `12h` or `2d`.
///
/// # Errors
/// The text is not a duration, or it is negative.
pub fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a duration, such as 90s, 12h or 2d".to_owned();
    let span: Span = text.parse().map_err(|_| expected())?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| expected())?;
    Duration::try_from(duration).map_err(|_| expected())
}

/// Parses a time such as `2025-11-11T09:00:00Z`. Returns nanoseconds since 1970.
///
/// # Errors
/// The text is not a time, or the time is not between the years 1677 and 2262.
pub fn instant(text: &str) -> Result<i64, String> {
    let time: Timestamp =
        text.parse().map_err(|_| format!("{text:?} is not a time; expected a format like 2025-11-11T09:00:00Z"))?;
    i64::try_from(time.as_nanosecond()).map_err(|_| format!("{text:?} is not between the years 1677 and 2262"))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn positive_numbers_fit_their_type() {
        assert_eq!(positive("4294967295"), Ok(NonZeroU32::MAX));
        for text in ["0", "-1", "4294967296", "", "1.5", "x"] {
            let error = positive::<NonZeroU32>(text).unwrap_err();
            assert_eq!(error, "expected a number of at least 1 that is not too large", "{text:?}");
        }
    }

    #[test]
    fn counts_are_bounded_by_their_type() {
        assert_eq!((count("0"), count("4294967295")), (Ok(0_u32), Ok(u32::MAX)));
        assert_eq!(count("18446744073709551615"), Ok(u64::MAX));
        for text in ["-1", "4294967296", "", "1.5", "x"] {
            assert_eq!(count::<u32>(text), Err("expected a number from 0 to 4294967295".to_owned()), "{text:?}");
        }
        let error = count::<u64>("99999999999999999999").unwrap_err();
        assert_eq!(error, "expected a number from 0 to 18446744073709551615");
    }

    #[test]
    fn durations_have_units() {
        for (text, seconds) in [("0s", 0), ("90s", 90), ("12h", 43_200), ("2d", 172_800), ("1h 30m", 5_400)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "5", "-1h", "1 fortnight", "2mo"] {
            assert!(duration(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("512KiB"), Ok(512 << 10));
        assert_eq!(size("64 MiB"), Ok(64 << 20));
        for text in ["", "0", "-1", "1.5MiB", "MiB", "64MB", "99999999999999999GiB"] {
            assert!(size(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn times_are_instants() {
        assert_eq!(instant("2025-11-11T09:00:00Z"), Ok(1_762_851_600_000_000_000));
        assert_eq!(instant("2025-11-11T10:00:00+01:00"), instant("2025-11-11T09:00:00Z"));
        for text in ["", "now", "2025-11-11", "9999-01-01T00:00:00Z"] {
            assert!(instant(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn pairs_have_keys() {
        assert_eq!(pair("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(pair("a="), Ok(("a".to_owned(), String::new())));
        assert!(pair("=b").is_err() && pair("ab").is_err());
        assert_eq!(external_label("a=b"), pair("a=b"));
        assert!(external_label("a=").is_err() && external_label("=b").is_err());
    }
}
