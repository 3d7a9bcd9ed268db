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

/// Integers from here on are milliseconds.
const LEAST_MILLISECONDS: i64 = 100_000_000_000;

impl TimestampUnit {
    /// Returns the timestamp in nanoseconds since 1970, truncated.
    pub(super) fn nanoseconds(self, token: &[u8], offset: usize) -> Result<i64, LineError> {
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
        decimal.scaled(shift).ok_or_else(|| LineError::TimestampRange { offset, text: shown(token) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_as_asked_for_or_as_it_looks() {
        use TimestampUnit::{ByShape, Milliseconds, Seconds};
        for (unit, text, expected) in [
            (Milliseconds, "1395066363000", Some(1_395_066_363_000_000_000)),
            (Milliseconds, "-3982045", Some(-3_982_045_000_000)),
            (Milliseconds, "7", Some(7_000_000)),
            (Milliseconds, "7.5", None),
            (Milliseconds, "7e5", None),
            (Milliseconds, "9223372036855", None),
            (Seconds, "1395066363", Some(1_395_066_363_000_000_000)),
            (Seconds, "1395066363000", None),
            (ByShape, "1395066363", Some(1_395_066_363_000_000_000)),
            (ByShape, "1395066363000", Some(1_395_066_363_000_000_000)),
            (ByShape, "1395066363.25", Some(1_395_066_363_250_000_000)),
            (ByShape, "1.395066363e9", Some(1_395_066_363_000_000_000)),
            (ByShape, "1.395066363e12", None),
            (ByShape, "100000000000", Some(100_000_000_000_000_000)),
            (ByShape, "-100000000000", Some(-100_000_000_000_000_000)),
            (ByShape, "99999999999", None),
            (ByShape, "9000000000", Some(9_000_000_000_000_000_000)),
            (ByShape, "NaN", None),
            (ByShape, "", None),
        ] {
            assert_eq!(unit.nanoseconds(text.as_bytes(), 0).ok(), expected, "{unit:?} {text}");
        }
    }
}
