//! Values, and decimal text as nanoseconds.

/// Returns true if text is a value: decimal with fraction and exponent, `NaN`, or an infinity. As in Prometheus there
/// are no hexadecimal numbers, underscores or signs of `NaN`, and numbers that are too large for a double are invalid.
pub(super) fn is_value(text: &str) -> bool {
    /// Number of digits that are always a finite double.
    const MAX_FINITE_DIGITS: usize = 300;
    if (1..=MAX_FINITE_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return true;
    }
    let Ok(value) = text.parse::<f64>() else { return false };
    let unsigned = text.strip_prefix(['+', '-']);
    let is_word = unsigned.unwrap_or(text).starts_with(|first: char| first.is_ascii_alphabetic());
    value.is_finite() || (is_word && !(value.is_nan() && unsigned.is_some()))
}

/// Decimal number in parts: `digits × 10^exponent`, or its negative.
pub(super) struct Decimal<'a> {
    is_negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
    is_plain: bool,
}

impl<'a> Decimal<'a> {
    /// Parses digits with an optional sign, fraction and exponent.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let is_negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (unsigned, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !are_digits(whole) || !are_digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let is_plain = exponent.is_none() && whole.len() == mantissa.len();
        let exponent = match exponent {
            None => 0,
            Some(text) => {
                let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
                if digits.is_empty() || !are_digits(digits) {
                    return None;
                }
                // A larger exponent makes no difference: no line has that many digits.
                let size = digits.parse::<i64>().unwrap_or(i64::MAX).min(i64::MAX / 4);
                if text.starts_with('-') { -size } else { size }
            }
        };
        Some(Self { is_negative, whole, fraction, exponent, is_plain })
    }

    /// Returns true if it is written as an integer.
    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Returns the number times `10^shift` as an integer, truncated, or `None` if it does not fit.
    pub(super) fn scaled(&self, shift: i64) -> Option<i64> {
        let mut digits = self.whole.bytes().chain(self.fraction.bytes());
        let mut point = i64::try_from(self.whole.len()).ok()?.checked_add(self.exponent)?.checked_add(shift)?;
        let mut value = 0_i64;
        // Negative, because there is one more negative number than positive ones.
        while point > 0 {
            let digit = match digits.next() {
                Some(digit) => i64::from(digit - b'0'),
                None if value == 0 => return Some(0),
                None => 0,
            };
            value = value.checked_mul(10)?.checked_sub(digit)?;
            point -= 1;
        }
        if self.is_negative { Some(value) } else { value.checked_neg() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_that_prometheus_reads() {
        for text in [
            "0", "-1", "+1", "1.5", "1.", ".5", "1e3", "1E-3", "NaN", "nan", "Inf", "+Inf", "-inf", "infinity",
            "1e-999",
        ] {
            assert!(is_value(text), "{text}");
        }
        for text in
            ["", "+", ".", "e1", "0x1p-2", "0x10", "1_000", "+NaN", "-nan", "1e999", "-1e999", "1e", "infin", "1,5"]
        {
            assert!(!is_value(text), "{text}");
        }
    }

    #[test]
    fn decimal_text_becomes_an_exact_integer() {
        let scaled = |text| Decimal::parse(text).expect("a decimal").scaled(9);
        for (text, expected) in [
            ("0", Some(0)),
            ("1", Some(1_000_000_000)),
            ("-1", Some(-1_000_000_000)),
            ("1520879607.789", Some(1_520_879_607_789_000_000)),
            ("1520879607.123456789", Some(1_520_879_607_123_456_789)),
            ("0.1", Some(100_000_000)),
            (".3", Some(300_000_000)),
            ("1.e1", Some(10_000_000_000)),
            ("1.5e9", Some(1_500_000_000_000_000_000)),
            ("15E-1", Some(1_500_000_000)),
            ("0.0000000019", Some(1)),
            ("-0.0000000019", Some(-1)),
            ("1e-999999999999999999999", Some(0)),
            ("0e999999999999999999999", Some(0)),
            ("9223372036.854775807", Some(i64::MAX)),
            ("-9223372036.854775808", Some(i64::MIN)),
            ("9223372036.854775808", None),
            ("-9223372036.854775809", None),
            ("1e999999999999999999999", None),
        ] {
            assert_eq!(scaled(text), expected, "{text}");
        }
        for text in ["", "-", ".", "1e", "1e+", "--1", "1.2.3", "NaN", "Inf", "0x1", "1_0", " 1"] {
            assert!(Decimal::parse(text).is_none(), "{text}");
        }
    }
}
