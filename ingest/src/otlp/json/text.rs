//! Strings and integers in JSON: borrowed where possible, integers as numbers or strings.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, Unexpected, Visitor};

/// String, borrowed unless it has escapes. `null` is the empty string.
pub(crate) struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }
}

/// Unsigned 64-bit integer, as a number or as a string of decimal digits. `null` is 0.
pub(super) struct Unsigned;

impl<'de> DeserializeSeed<'de> for Unsigned {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        let value = deserializer.deserialize_any(Integer)?;
        u64::try_from(value).map_err(|_| D::Error::custom(format_args!("{value} is not an unsigned 64-bit integer")))
    }
}

/// Signed 64-bit integer, as a number or as a string of decimal digits. `null` is 0.
pub(super) struct Signed;

impl<'de> DeserializeSeed<'de> for Signed {
    type Value = i64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<i64, D::Error> {
        let value = deserializer.deserialize_any(Integer)?;
        i64::try_from(value).map_err(|_| D::Error::custom(format_args!("{value} is not a signed 64-bit integer")))
    }
}

struct Integer;

impl Visitor<'_> for Integer {
    type Value = i128;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer, as a number or as a string")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<i128, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<i128, E> {
        Ok(value.into())
    }

    /// The JSON mapping allows `1e3` for an integer. Beyond 2^53 a double does not determine the integer.
    fn visit_f64<E: Error>(self, value: f64) -> Result<i128, E> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if value.fract() == 0.0 && value.abs() <= EXACT {
            Ok(value as i128)
        } else {
            Err(E::invalid_value(Unexpected::Float(value), &self))
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<i128, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_unit<E: Error>(self) -> Result<i128, E> {
        Ok(0)
    }
}

/// Double, as a number or as a string, which may be `NaN`, `Infinity` or `-Infinity`. `null` is 0.
pub(super) struct Double;

impl<'de> DeserializeSeed<'de> for Double {
    type Value = f64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<f64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Double {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a double, as a number or as a string")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        match text {
            "NaN" => Ok(f64::NAN),
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            // Rust also parses "inf" and similar, which the mapping does not allow.
            _ if text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
                let finite = text.parse().ok().filter(|value: &f64| value.is_finite());
                finite.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<f64, E> {
        Ok(0.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::value::double_text;
    use super::*;

    fn read<'de, S: DeserializeSeed<'de>>(seed: S, json: &'de str) -> Result<S::Value, String> {
        seed.deserialize(&mut serde_json::Deserializer::from_str(json)).map_err(|error| error.to_string())
    }

    #[test]
    fn integers_are_numbers_or_strings() {
        for (json, value) in [
            ("0", 0),
            ("\"0\"", 0),
            ("null", 0),
            ("18446744073709551615", u64::MAX),
            ("\"18446744073709551615\"", u64::MAX),
            ("1e3", 1_000),
            ("9007199254740992.0", 1 << 53),
        ] {
            assert_eq!(read(Unsigned, json), Ok(value), "{json}");
        }
        assert_eq!(read(Signed, "\"-9223372036854775808\""), Ok(i64::MIN));
        assert_eq!(read(Signed, "-9223372036854775808"), Ok(i64::MIN));
        for json in ["1.5", "1e300", "\"\"", "\" 1\"", "\"1e3\"", "true", "[]", "{}", "1e16"] {
            let error = read(Unsigned, json).unwrap_err();
            assert!(error.contains("an integer, as a number or as a string"), "{json}: {error}");
        }
        for json in ["-1", "\"-1\"", "\"18446744073709551616\""] {
            let error = read(Unsigned, json).unwrap_err();
            assert!(error.contains("not an unsigned 64-bit integer"), "{json}: {error}");
        }
        let error = read(Signed, "9223372036854775808").unwrap_err();
        assert!(error.contains("9223372036854775808 is not a signed 64-bit integer"), "{error}");
    }

    #[test]
    fn doubles_have_the_collectors_text() {
        for (json, text) in [
            ("0", "0"),
            ("-0.0", "-0"),
            ("3.0", "3"),
            ("-42", "-42"),
            ("0.1", "0.1"),
            ("0.30000000000000004", "0.30000000000000004"),
            ("1e-6", "0.000001"),
            ("9.99e-7", "9.99e-7"),
            ("-1e-7", "-1e-7"),
            ("5e-324", "5e-324"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("-1.5e21", "-1.5e+21"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("\"NaN\"", "NaN"),
            ("\"Infinity\"", "Infinity"),
            ("\"-Infinity\"", "-Infinity"),
            ("\"1.5\"", "1.5"),
            ("18446744073709551615", "18446744073709552000"),
            ("null", "0"),
        ] {
            assert_eq!(read(Double, json).map(double_text), Ok(text.to_owned()), "{json}");
        }
        for json in ["\"inf\"", "\"nan\"", "\"\"", "\"1e999\"", "\"+1\"", "true"] {
            assert!(read(Double, json).unwrap_err().contains("a double"), "{json}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn doubles_survive_their_text(bits: u64) {
            let value = f64::from_bits(bits);
            let text = double_text(value);
            let again = if value.is_finite() { read(Double, &text) } else { read(Double, &format!("\"{text}\"")) };
            let again = again.unwrap();
            prop_assert!(again.to_bits() == bits || value.is_nan() && again.is_nan(), "{value:e} {text} {again:e}");
        }
    }
}
