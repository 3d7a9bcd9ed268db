//! Lengths of time ranges.

use std::fmt;
use std::str::FromStr;

use chronoxide_format::view::TimeRange;

const SECOND: i64 = 1_000_000_000;
/// Units in nanoseconds, the largest first.
const UNITS: [(&str, i64); 4] = [("d", 86_400 * SECOND), ("h", 3_600 * SECOND), ("m", 60 * SECOND), ("s", SECOND)];

/// Lengths of the ranges in which blocks are merged, such as the default `2h,6h,1d,7d`. Each length is a multiple of
/// the one before it, so that each range lies in one range of the next length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranges {
    /// Lengths in nanoseconds, at least one.
    lengths: Vec<i64>,
}

/// Error of parsing [`Ranges`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RangesError {
    /// A length is malformed.
    #[error("{text:?} is not a valid length: expected a number and d, h, m or s, such as 2h")]
    Length { text: String },
    /// A length is zero or too long.
    #[error("{text} is out of range: a length is 1s to 292 years")]
    Size { text: String },
    /// A length is not a multiple of the one before it.
    #[error("{longer} is not a longer multiple of {shorter}: each length must be a multiple of the one before it")]
    Multiple { shorter: Length, longer: Length },
}

impl Ranges {
    /// Returns the lengths in nanoseconds, the shortest first.
    #[must_use]
    pub fn lengths(&self) -> &[i64] {
        &self.lengths
    }
}

impl Default for Ranges {
    fn default() -> Self {
        let [(_, day), (_, hour), ..] = UNITS;
        Self { lengths: vec![2 * hour, 6 * hour, day, 7 * day] }
    }
}

impl FromStr for Ranges {
    type Err = RangesError;

    fn from_str(text: &str) -> Result<Self, RangesError> {
        let lengths = text.split(',').map(|text| length(text.trim())).collect::<Result<Vec<i64>, _>>()?;
        for pair in lengths.windows(2) {
            if pair[1] <= pair[0] || pair[1] % pair[0] != 0 {
                return Err(RangesError::Multiple { shorter: Length(pair[0]), longer: Length(pair[1]) });
            }
        }
        Ok(Self { lengths })
    }
}

fn length(text: &str) -> Result<i64, RangesError> {
    let unit = UNITS.iter().find_map(|(unit, nanoseconds)| Some((text.strip_suffix(unit)?, nanoseconds)));
    let digits = unit.filter(|(digits, _)| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
    let (digits, unit) = digits.ok_or_else(|| RangesError::Length { text: text.to_owned() })?;
    let length = digits.parse().ok().and_then(|number: i64| number.checked_mul(*unit));
    length.filter(|length| *length > 0).ok_or_else(|| RangesError::Size { text: text.to_owned() })
}

impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, length) in self.lengths.iter().enumerate() {
            write!(f, "{}{}", if at > 0 { "," } else { "" }, Length(*length))?;
        }
        Ok(())
    }
}

/// A duration in nanoseconds. Displayed in the largest unit that divides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length(pub i64);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, nanoseconds)| self.0 % nanoseconds == 0) {
            Some((unit, nanoseconds)) => write!(f, "{}{unit}", self.0 / nanoseconds),
            None => write!(f, "{}ns", self.0),
        }
    }
}

/// Returns the aligned range of this length that contains `extent`, if there is one.
pub(super) fn range_of(extent: TimeRange, length: i64) -> Option<TimeRange> {
    let number = extent.start.div_euclid(length);
    // An empty extent counts as its first nanosecond.
    let last = extent.end.saturating_sub(1).max(extent.start).div_euclid(length);
    if number != last {
        return None;
    }
    // The first and the last range exceed 64 bits.
    let start = number.saturating_mul(length);
    let end = i64::try_from((i128::from(number) + 1) * i128::from(length)).unwrap_or(i64::MAX);
    Some(TimeRange { start, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_and_written() {
        for (text, lengths) in [
            ("2h", vec![7_200 * SECOND]),
            ("90s,15m", vec![90 * SECOND, 900 * SECOND]),
            ("2h,6h,1d,7d", Ranges::default().lengths),
        ] {
            let ranges: Ranges = text.parse().unwrap();
            assert_eq!(ranges.lengths(), lengths, "{text}");
            assert_eq!(ranges.to_string(), text);
        }
        assert_eq!(" 2h, 24h".parse::<Ranges>().unwrap().to_string(), "2h,1d");
    }

    #[test]
    fn what_names_no_ranges_is_refused() {
        let each = "each length must be a multiple of the one before it";
        for (text, message) in [
            ("", "\"\" is not a valid length: expected a number and d, h, m or s, such as 2h".to_owned()),
            ("2h,", "\"\" is not a valid length: expected a number and d, h, m or s, such as 2h".to_owned()),
            ("2", "\"2\" is not a valid length: expected a number and d, h, m or s, such as 2h".to_owned()),
            ("h", "\"h\" is not a valid length: expected a number and d, h, m or s, such as 2h".to_owned()),
            ("-2h", "\"-2h\" is not a valid length: expected a number and d, h, m or s, such as 2h".to_owned()),
            ("0h", "0h is out of range: a length is 1s to 292 years".to_owned()),
            ("999999d", "999999d is out of range: a length is 1s to 292 years".to_owned()),
            ("2h,3h", format!("3h is not a longer multiple of 2h: {each}")),
            ("2h,2h", format!("2h is not a longer multiple of 2h: {each}")),
            ("6h,2h", format!("2h is not a longer multiple of 6h: {each}")),
        ] {
            assert_eq!(text.parse::<Ranges>().unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn ranges_are_aligned_to_multiples_since_1970() {
        let range = |start, end| TimeRange { start, end };
        for (extent, expected) in [
            (range(0, 10), Some(range(0, 10))),
            (range(3, 4), Some(range(0, 10))),
            (range(9, 10), Some(range(0, 10))),
            (range(9, 11), None),
            (range(10, 20), Some(range(10, 20))),
            (range(-1, 0), Some(range(-10, 0))),
            (range(-1, 1), None),
            (range(-10, -5), Some(range(-10, 0))),
            (range(i64::MIN, i64::MIN + 1), Some(range(i64::MIN, -9_223_372_036_854_775_800))),
            (range(i64::MAX - 1, i64::MAX), Some(range(9_223_372_036_854_775_800, i64::MAX))),
        ] {
            assert_eq!(range_of(extent, 10), expected, "{extent:?}");
        }
    }
}
