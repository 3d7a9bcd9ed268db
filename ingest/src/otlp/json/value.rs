//! Attribute values as text.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose::NO_PAD};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::super::value::{Value, array_text, bytes_text, double_value, int_value, pairs_text};
use super::text::{Double, Signed, Text};

/// Reads an `AnyValue`: an object whose only field shows its type, or `null`.
pub(super) struct AnyValue;

impl<'de> DeserializeSeed<'de> for AnyValue {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an AnyValue")
    }

    fn visit_unit<E: Error>(self) -> Result<Value<'de>, E> {
        Ok(Value::Empty)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        let mut value = Value::Empty;
        while let Some(field) = map.next_key_seed(Text)? {
            match &*field {
                "stringValue" | "string_value" => value = Value::Text(map.next_value_seed(Text)?),
                "boolValue" | "bool_value" => {
                    value = match map.next_value()? {
                        Some(true) => Value::Json("true".into()),
                        Some(false) => Value::Json("false".into()),
                        None => Value::Empty,
                    }
                }
                "intValue" | "int_value" => value = int_value(map.next_value_seed(Signed)?),
                "doubleValue" | "double_value" => value = double_value(map.next_value_seed(Double)?),
                "bytesValue" | "bytes_value" => {
                    value = Value::Text(normal_base64(map.next_value_seed(Text)?).map_err(A::Error::custom)?);
                }
                "arrayValue" | "array_value" => value = Value::Json(map.next_value_seed(List::Array)?.into()),
                "kvlistValue" | "kvlist_value" => value = Value::Json(map.next_value_seed(List::Pairs)?.into()),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(value)
    }
}

/// Converts base64 in either alphabet, with or without padding, to the standard alphabet with padding.
fn normal_base64(text: Cow<'_, str>) -> Result<Cow<'_, str>, base64::DecodeError> {
    const LENIENT: GeneralPurposeConfig = NO_PAD.with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let is_url_safe = text.contains(['-', '_']);
    let alphabet = if is_url_safe { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
    let bytes = GeneralPurpose::new(alphabet, LENIENT).decode(text.as_bytes())?;
    Ok(bytes_text(&bytes).into())
}

/// Reads an `ArrayValue` or a `KeyValueList`, objects with one field `values`, as JSON text.
#[derive(Clone, Copy)]
enum List {
    Array,
    Pairs,
}

impl<'de> DeserializeSeed<'de> for List {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for List {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a list of values")
    }

    fn visit_unit<E: Error>(self) -> Result<String, E> {
        Ok(match self {
            Self::Array => "[]".to_owned(),
            Self::Pairs => "{}".to_owned(),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<String, A::Error> {
        let mut text = None;
        while let Some(field) = map.next_key_seed(Text)? {
            match &*field {
                "values" => text = Some(map.next_value_seed(Values(self))?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        text.map_or_else(|| self.visit_unit(), Ok)
    }
}

/// Reads the `values` of a list.
struct Values(List);

impl<'de> DeserializeSeed<'de> for Values {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Values {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of values")
    }

    fn visit_unit<E: Error>(self) -> Result<String, E> {
        self.0.visit_unit()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<String, A::Error> {
        match self.0 {
            List::Array => array_text(|| values.next_element_seed(AnyValue)),
            List::Pairs => pairs_text(|| values.next_element_seed(KeyValue)),
        }
    }
}

/// Reads a `KeyValue`: an attribute, or a member of a key-value list.
pub(super) struct KeyValue;

impl<'de> DeserializeSeed<'de> for KeyValue {
    type Value = (Cow<'de, str>, Value<'de>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for KeyValue {
    type Value = (Cow<'de, str>, Value<'de>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a KeyValue")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pair = (Cow::Borrowed(""), Value::Empty);
        while let Some(field) = map.next_key_seed(Text)? {
            match &*field {
                "key" => pair.0 = map.next_value_seed(Text)?,
                "value" => pair.1 = map.next_value_seed(AnyValue)?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(pair)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> Result<String, String> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let value = AnyValue.deserialize(&mut deserializer).map_err(|error| error.to_string())?;
        deserializer.end().map_err(|error| error.to_string())?;
        Ok(value.into_text().into_owned())
    }

    #[test]
    fn every_kind_of_value_has_its_text() {
        for (json, expected) in [
            (r#"{"stringValue":"a\"b\u00e9"}"#, "a\"bé"),
            (r#"{"stringValue":""}"#, ""),
            (r#"{"boolValue":true}"#, "true"),
            (r#"{"boolValue":false}"#, "false"),
            (r#"{"intValue":"-42"}"#, "-42"),
            (r#"{"intValue":42}"#, "42"),
            (r#"{"intValue":"007"}"#, "7"),
            (r#"{"int_value":"42"}"#, "42"),
            (r#"{"doubleValue":0.5}"#, "0.5"),
            (r#"{"doubleValue":"NaN"}"#, "NaN"),
            (r#"{"bytesValue":"AQID/w=="}"#, "AQID/w=="),
            (r#"{"bytesValue":"AQID_w"}"#, "AQID/w=="),
            (r#"{"bytesValue":""}"#, ""),
            (r#"{"arrayValue":{}}"#, "[]"),
            (r#"{"arrayValue":{"values":[]}}"#, "[]"),
            (r#"{"kvlistValue":{"values":[]}}"#, "{}"),
            (r#"{"kvlistValue":null}"#, "{}"),
            ("{}", ""),
            ("null", ""),
            (r#"{"laterValue":{"deep":[1,{}]}}"#, ""),
        ] {
            assert_eq!(text(json), Ok(expected.to_owned()), "{json}");
        }
    }

    #[test]
    fn nested_values_are_compact_json_with_sorted_keys() {
        let array = r#"{"arrayValue":{"values":[{"stringValue":"<a \"b\">"},{"intValue":"1"},{"doubleValue":1e21},
            {"doubleValue":"-Infinity"},{"boolValue":true},{"bytesValue":"AQID"},{},{"stringValue":""},
            {"arrayValue":{"values":[{"intValue":2}]}}]}}"#;
        let expected = r#"["<a \"b\">",1,1e+21,"-Infinity",true,"AQID",null,"",[2]]"#;
        assert_eq!(text(array), Ok(expected.to_owned()));

        let pairs = r#"{"kvlistValue":{"values":[{"key":"z","value":{"intValue":1}},{"value":{"stringValue":"v"},"key":"a\n"},
            {"key":"z","value":{"kvlistValue":{"values":[{"key":"","value":null}]}}},{"key":"m"}]}}"#;
        assert_eq!(text(pairs), Ok(r#"{"a\n":"v","m":null,"z":{"":null}}"#.to_owned()));
    }

    #[test]
    fn invalid_values_are_refused() {
        for (json, part) in [
            (r#"{"stringValue":1}"#, "expected a string"),
            (r#"{"boolValue":"true"}"#, "boolean"),
            (r#"{"intValue":"x"}"#, "an integer"),
            (r#"{"bytesValue":"*"}"#, "Invalid symbol"),
            (r#"{"arrayValue":[]}"#, "an object with a list of values"),
            (r#"{"arrayValue":{"values":{}}}"#, "an array of values"),
            (r#"{"kvlistValue":{"values":[1]}}"#, "a KeyValue"),
            ("[]", "an AnyValue"),
        ] {
            let error = text(json).unwrap_err();
            assert!(error.contains(part), "{json}: {error}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| {
            let (open, close) = (r#"{"arrayValue":{"values":["#, "]}}");
            format!("{}{}", open.repeat(depth), close.repeat(depth))
        };
        assert_eq!(text(&nested(20)), Ok(format!("{}{}", "[".repeat(20), "]".repeat(20))));
        assert!(text(&nested(100_000)).unwrap_err().contains("recursion limit exceeded"));
    }
}
