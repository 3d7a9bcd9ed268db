//! Attribute values as text, independent of their encoding.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Attribute value as text, with its form in JSON.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    /// No value.
    Empty,
    /// Text that is quoted in JSON.
    Text(Cow<'a, str>),
    /// Text that is valid JSON: a number, `true`, an array.
    Json(Cow<'a, str>),
}

impl<'a> Value<'a> {
    /// Returns the text of the attribute.
    pub(super) fn into_text(self) -> Cow<'a, str> {
        match self {
            Self::Empty => Cow::Borrowed(""),
            Self::Text(text) | Self::Json(text) => text,
        }
    }

    /// Copies borrowed text.
    pub(super) fn into_owned(self) -> Value<'static> {
        match self {
            Self::Empty => Value::Empty,
            Self::Text(text) => Value::Text(text.into_owned().into()),
            Self::Json(text) => Value::Json(text.into_owned().into()),
        }
    }

    /// Appends the value as part of an array or key-value list.
    fn append_json(&self, out: &mut String) {
        match self {
            Self::Empty => out.push_str("null"),
            Self::Text(text) => append_string(text, out),
            Self::Json(text) => out.push_str(text),
        }
    }
}

/// Appends a quoted string.
fn append_string(text: &str, out: &mut String) {
    // A `Value::String` displays as JSON, which cannot fail.
    out.push_str(&serde_json::Value::from(text).to_string());
}

/// Converts a signed integer.
pub(super) fn int_value(value: i64) -> Value<'static> {
    Value::Json(value.to_string().into())
}

/// Converts a double, which is quoted in JSON if it is not finite.
pub(super) fn double_value(value: f64) -> Value<'static> {
    let text = Cow::Owned(double_text(value));
    if value.is_finite() { Value::Json(text) } else { Value::Text(text) }
}

/// Encodes bytes as base64 with padding, in the standard alphabet.
pub(super) fn bytes_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Encodes an array as JSON.
pub(super) fn array_text<'a, E>(mut next: impl FnMut() -> Result<Option<Value<'a>>, E>) -> Result<String, E> {
    let mut text = String::new();
    while let Some(value) = next()? {
        text.push(if text.is_empty() { '[' } else { ',' });
        value.append_json(&mut text);
    }
    text.push_str(if text.is_empty() { "[]" } else { "]" });
    Ok(text)
}

/// Encodes a key-value list as JSON. Keys are sorted, so that lists in different order get equal text. The last of
/// equal keys wins.
pub(super) fn pairs_text<'a, E>(
    mut next: impl FnMut() -> Result<Option<(Cow<'a, str>, Value<'a>)>, E>,
) -> Result<String, E> {
    let mut pairs = BTreeMap::new();
    while let Some((key, value)) = next()? {
        pairs.insert(key, value);
    }
    let mut text = String::new();
    for (key, value) in &pairs {
        text.push(if text.is_empty() { '{' } else { ',' });
        append_string(key, &mut text);
        text.push(':');
        value.append_json(&mut text);
    }
    text.push_str(if text.is_empty() { "{}" } else { "}" });
    Ok(text)
}

/// Formats a double: see the table in the documentation of [`otlp`](crate::otlp).
pub(super) fn double_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let size = value.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return value.to_string();
    }
    // Rust writes no sign before a positive exponent.
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}
