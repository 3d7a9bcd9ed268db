//! Units of timestamps: [`TimestampUnit`].

use super::cursor::shown;
use super::error::LineError;
use super::number::Decimal;

/// Unit of timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampUnit {
    /// Integer milliseconds since 1970: the exposition text format.
    Milliseconds,
    /// Seconds since 1970, with optional fraction and exponent: OpenMetrics.
    Seconds,
    /// Unit by the notation of each timestamp. Timestamps with a fraction or an exponent, and integers below 10^11, are
    /// seconds. Other integers are milliseconds: 10^11 milliseconds are in March 1973, and 10^11 seconds are in the
    /// year 5138.
    #[default]
    ByShape,
}

/// Time of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Time {
    /// The line has no timestamp.
    #[default]
    Absent,
    /// Nanoseconds since 1970.
    At(i64),
    /// The timestamp does not fit into 64-bit nanoseconds, or its last digits may be missing.
    Unusable,
}

/// A timestamp of today that lacks digits before its decimal point is earlier: 10^9 seconds are in the year 2001.
const LEAST_COMPLETE: i64 = 1_000_000_000_000_000_000;

impl Time {
    /// Returns the time of a line that ends without a line break, where the end of the input may have cut it.
    pub(super) fn at_end(self) -> Self {
        match self {
            Self::At(time) if time < LEAST_COMPLETE => Self::Unusable,
            time => time,
        }
    }
}

/// Integers from here on are milliseconds.
const LEAST_MILLISECONDS: i64 = 100_000_000_000;

impl TimestampUnit {
    /// Returns the timestamp in nanoseconds since 1970, truncated.
    pub(super) fn nanoseconds(self, token: &[u8], offset: usize) -> Result<Time, LineError> {
        let expected = |expected| LineError::Expected { offset, expected, found: format!("{:?}", shown(token)) };
        let decimal = std::str::from_utf8(token).ok().and_then(Decimal::parse);
        let is_plain = decimal.as_ref().is_some_and(Decimal::is_plain);
        let (decimal, shift) = match (self, decimal) {
            (Self::Milliseconds, Some(decimal)) if is_plain => (decimal, 6),
            (Self::Milliseconds, _) => return Err(expected("a timestamp in milliseconds")),
            (_, None) => return Err(expected("a timestamp")),
            (Self::Seconds, Some(decimal)) => (decimal, 9),
            (Self::ByShape, Some(decimal)) => {
                let is_small =
                    decimal.scaled(0).is_some_and(|integer| integer.unsigned_abs() < LEAST_MILLISECONDS.unsigned_abs());
                let shift = if !is_plain || is_small { 9 } else { 6 };
                (decimal, shift)
            }
        };
        Ok(decimal.scaled(shift).map_or(Time::Unusable, Time::At))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_as_asked_for_or_as_it_looks() {
        use TimestampUnit::{ByShape, Milliseconds, Seconds};
        const OUT: Option<i64> = Some(i64::MAX);
        for (unit, text, expected) in [
            (Milliseconds, "1395066363000", Some(1_395_066_363_000_000_000)),
            (Milliseconds, "-3982045", Some(-3_982_045_000_000)),
            (Milliseconds, "7", Some(7_000_000)),
            (Milliseconds, "7.5", None),
            (Milliseconds, "7e5", None),
            (Milliseconds, "9223372036855", OUT),
            (Seconds, "1395066363", Some(1_395_066_363_000_000_000)),
            (Seconds, "1395066363000", OUT),
            (ByShape, "1395066363", Some(1_395_066_363_000_000_000)),
            (ByShape, "1395066363000", Some(1_395_066_363_000_000_000)),
            (ByShape, "1395066363.25", Some(1_395_066_363_250_000_000)),
            (ByShape, "1.395066363e9", Some(1_395_066_363_000_000_000)),
            (ByShape, "1.395066363e12", OUT),
            (ByShape, "100000000000", Some(100_000_000_000_000_000)),
            (ByShape, "-100000000000", Some(-100_000_000_000_000_000)),
            (ByShape, "99999999999", OUT),
            (ByShape, "9000000000", Some(9_000_000_000_000_000_000)),
            (ByShape, "NaN", None),
            (ByShape, "", None),
        ] {
            let expected = expected.map(|time| if time == i64::MAX { Time::Unusable } else { Time::At(time) });
            assert_eq!(unit.nanoseconds(text.as_bytes(), 0).ok(), expected, "{unit:?} {text}");
        }
    }
}
