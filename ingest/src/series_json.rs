//! Series as JSON objects of label names and values, as in responses of Prometheus's series API.
//!
//! If an object has a name twice, the last value wins, as in most JSON readers.
//!
//! ```
//! use chronoxide_ingest::{SeriesSink, series_json::decode_series_json};
//! use std::convert::Infallible;
//!
//! #[derive(Default)]
//! struct Labels(Vec<String>);
//!
//! impl SeriesSink for Labels {
//!     type Error = Infallible;
//!     fn label(&mut self, name: &str, value: &str) -> Result<(), Infallible> {
//!         self.0.push(format!("{name}={value}"));
//!         Ok(())
//!     }
//! }
//!
//! let mut labels = Labels::default();
//! decode_series_json(br#"{"__name__":"up","job":"cart"}"#, &mut labels)?;
//! assert_eq!(labels.0, ["__name__=up", "job=cart"]);
//! # Ok::<(), chronoxide_ingest::DecodeError<Infallible>>(())
//! ```

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use crate::error::DecodeError;
use crate::otlp::Text;
use crate::series::SeriesSink;

/// Decodes one JSON object of label names and values, and gives its labels to `sink`.
///
/// # Errors
///
/// The bytes are not JSON or not an object of strings, or the sink refuses a part.
pub fn decode_series_json<S: SeriesSink>(bytes: &[u8], sink: &mut S) -> Result<(), DecodeError<S::Error>> {
    let text = std::str::from_utf8(bytes)?;
    sink.series_begins().map_err(DecodeError::Sink)?;
    let mut failure = None;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let result =
        Series { sink, failure: &mut failure }.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    match (failure, result) {
        (Some(failure), _) => Err(DecodeError::Sink(failure)),
        (None, Ok(())) => sink.series_ends().map_err(DecodeError::Sink),
        (None, Err(error)) => Err(DecodeError::Json(error)),
    }
}

struct Series<'s, S: SeriesSink> {
    sink: &'s mut S,
    failure: &'s mut Option<S::Error>,
}

impl<'de, S: SeriesSink> DeserializeSeed<'de> for Series<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S: SeriesSink> Visitor<'de> for Series<'_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of label to value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(Text)? {
            let value = map.next_value_seed(Text)?;
            if let Err(failure) = self.sink.label(&name, &value) {
                *self.failure = Some(failure);
                return Err(A::Error::custom("stopped by the sink"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    struct Nothing;

    impl SeriesSink for Nothing {
        type Error = Infallible;
        fn label(&mut self, _: &str, _: &str) -> Result<(), Infallible> {
            Ok(())
        }
    }

    #[test]
    fn only_objects_of_strings_are_series() {
        for (bytes, part) in [
            (&b"[]"[..], "an object of label to value"),
            (b"1", "an object of label to value"),
            (br#"{"a":1}"#, "expected a string"),
            (br#"{"a":{}}"#, "expected a string"),
            (br#"{"a":"b""#, "EOF"),
            (br#"{"a":"b"} {"#, "trailing characters"),
            (b"", "EOF"),
            (b"{\"a\":\"\xff\"}", "not valid UTF-8"),
        ] {
            let error = decode_series_json(bytes, &mut Nothing).unwrap_err().to_string();
            assert!(error.contains(part), "{}: {error}", String::from_utf8_lossy(bytes));
        }
    }
}
