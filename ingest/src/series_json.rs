//! Series as JSON objects of label names and values, as in responses of Prometheus's series API.
//!
//! If an object has a name twice, the last value wins, as in most JSON readers. A number in the field `series_ref`,
//! which exports of blocks have, is not a label. The labels may be an object in the field `metric`, as in exports of
//! VictoriaMetrics and in results of queries, or `labels`, as in exports of blocks; of the fields after it only the
//! times are read.
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

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};

use crate::error::DecodeError;
use crate::otlp::Text;
use crate::prometheus::give_point;
use crate::series::SeriesSink;
use crate::surrogates::replace_lone;

/// Field of exports with the ref of a series in its block.
pub(crate) const SERIES_REF: &str = "series_ref";

/// Returns true if the name is that of refs: exports put underscores before it if labels have this name too.
pub(crate) fn is_ref_name(name: &str) -> bool {
    name.trim_start_matches('_') == SERIES_REF
}

/// Fields that hold the labels of a series as an object.
pub(crate) const WRAPPERS: [&str; 2] = ["metric", "labels"];

/// Field with the times of the samples of a series, in milliseconds, in exports of VictoriaMetrics.
const TIMESTAMPS: &str = "timestamps";

/// Fields with a sample, a time in seconds and a value, in results of queries.
const SAMPLE: [&str; 2] = ["value", "histogram"];

/// Fields with a list of samples.
const SAMPLES: [&str; 2] = ["values", "histograms"];

/// Decodes one JSON object of label names and values, and gives its labels to `sink`.
///
/// # Errors
///
/// The bytes are not JSON or not an object of strings, or the sink refuses a part.
pub fn decode_series_json<S: SeriesSink>(bytes: &[u8], sink: &mut S) -> Result<(), DecodeError<S::Error>> {
    let text = replace_lone(std::str::from_utf8(bytes)?);
    sink.series_begins().map_err(DecodeError::Sink)?;
    let mut failure = None;
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    let result =
        Series { sink, failure: &mut failure }.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    match (failure, result) {
        (Some(failure), _) => Err(DecodeError::Sink(failure)),
        (None, Ok(())) => sink.series_ends().map_err(DecodeError::Sink),
        (None, Err(error)) => Err(DecodeError::Json(error)),
    }
}

/// Object of labels, or object whose field `metric` or `labels` is one.
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
        let Self { sink, failure } = self;
        let mut is_wrapped = false;
        while let Some(name) = map.next_key_seed(Text)? {
            if is_wrapped {
                rest_of_wrapper(&name, &mut map, sink, failure)?;
                continue;
            }
            is_wrapped = map.next_value_seed(Field { name: &name, sink: &mut *sink, failure: &mut *failure })?;
        }
        Ok(())
    }
}

/// Reads a field behind the labels of a series: times of its samples, or a field without a meaning here.
fn rest_of_wrapper<'de, S: SeriesSink, A: MapAccess<'de>>(
    name: &str,
    map: &mut A,
    sink: &mut S,
    failure: &mut Option<S::Error>,
) -> Result<(), A::Error> {
    let mut give = |milliseconds| give_point(milliseconds, sink).map_err(|error| stopped(failure, error));
    match name {
        TIMESTAMPS => map.next_value::<Vec<i64>>()?.into_iter().try_for_each(give),
        _ if SAMPLE.contains(&name) => map.next_value::<SampleTime>()?.0.map_or(Ok(()), give),
        _ if SAMPLES.contains(&name) => {
            map.next_value::<Vec<SampleTime>>()?.into_iter().filter_map(|sample| sample.0).try_for_each(&mut give)
        }
        _ => map.next_value::<IgnoredAny>().map(drop),
    }
}

/// Time of a sample in milliseconds, or `None` for a value without one.
struct SampleTime(Option<i64>);

impl<'de> Deserialize<'de> for SampleTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SampleVisitor)
    }
}

struct SampleVisitor;

impl<'de> Visitor<'de> for SampleVisitor {
    type Value = SampleTime;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sample")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<SampleTime, A::Error> {
        let seconds: Option<f64> = parts.next_element()?;
        while parts.next_element::<IgnoredAny>()?.is_some() {}
        // A time out of range is one that does not fit into milliseconds either.
        Ok(SampleTime(seconds.map(|seconds| (seconds * 1_000.0).round() as i64)))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<SampleTime, E> {
        Ok(SampleTime(None))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<SampleTime, E> {
        Ok(SampleTime(None))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<SampleTime, E> {
        Ok(SampleTime(None))
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<SampleTime, E> {
        Ok(SampleTime(None))
    }

    fn visit_unit<E: Error>(self) -> Result<SampleTime, E> {
        Ok(SampleTime(None))
    }
}

/// Keeps the error of the sink, and returns the one that ends the decoding.
fn stopped<E, F: Error>(failure: &mut Option<E>, error: E) -> F {
    *failure = Some(error);
    F::custom("stopped by the sink")
}

/// Field of an object. Its value is true if the field holds the labels of the series.
struct Field<'s, 'n, S: SeriesSink> {
    name: &'n str,
    sink: &'s mut S,
    failure: &'s mut Option<S::Error>,
}

impl<'de, S: SeriesSink> DeserializeSeed<'de> for Field<'_, '_, S> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: SeriesSink> Visitor<'de> for Field<'_, '_, S> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<bool, E> {
        let Self { name, sink, failure } = self;
        sink.label(name, value).map_err(|error| stopped(failure, error))?;
        Ok(false)
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        self.visit_str("")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<bool, E> {
        match self.name {
            name if is_ref_name(name) => Ok(false),
            _ => Err(E::invalid_type(Unexpected::Unsigned(number), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        if !WRAPPERS.contains(&self.name) {
            return Err(A::Error::invalid_type(Unexpected::Map, &self));
        }
        let Self { sink, failure, .. } = self;
        while let Some(name) = map.next_key_seed(Text)? {
            let value = map.next_value_seed(Text)?;
            sink.label(&name, &value).map_err(|error| stopped(failure, error))?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Sink that keeps labels and times as texts.
    #[derive(Default)]
    struct Texts(Vec<String>);

    impl SeriesSink for Texts {
        type Error = Infallible;

        fn label(&mut self, name: &str, value: &str) -> Result<(), Infallible> {
            self.0.push(format!("{name}={value}"));
            Ok(())
        }

        fn points(&mut self, first: i64, _: i64) -> Result<(), Infallible> {
            self.0.push(first.to_string());
            Ok(())
        }

        fn point_without_time(&mut self) -> Result<(), Infallible> {
            self.0.push("no time".to_owned());
            Ok(())
        }
    }

    #[test]
    fn labels_are_found_in_the_shapes_of_exports() {
        for (bytes, expected) in [
            (r#"{"series_ref":7,"a":"b","c":null}"#, "a=b c="),
            (r#"{"series_ref":"7","a":"b"}"#, "series_ref=7 a=b"),
            (r#"{"__series_ref":7,"_series_ref":"x","series_ref":"y"}"#, "_series_ref=x series_ref=y"),
            (r#"{"series_ref":0,"labels":{"a":"b"}}"#, "a=b"),
            (
                r#"{"metric":{"a":"b","metric":"x"},"values":[1,null],"timestamps":[1,2]}"#,
                "a=b metric=x 1000000 2000000",
            ),
            (r#"{"metric":{"a":"b"},"value":[1549891472.01,"1"]}"#, "a=b 1549891472010000000"),
            (r#"{"metric":{"a":"b"},"values":[[1,"1"],[2.5,"NaN"]]}"#, "a=b 1000000000 2500000000"),
            (r#"{"metric":{"a":"b"},"values":[1.5,"NaN",null,-1]}"#, "a=b"),
            (r#"{"metric":{"a":"b"},"histogram":[1,{"count":"2"}]}"#, "a=b 1000000000"),
            (r#"{"metric":{"a":"b"},"value":[1e300,"1"]}"#, "a=b no time"),
            (r#"{"metric":{"a":"b"},"timestamps":[9223372036854775807]}"#, "a=b no time"),
            (r#"{"metric":"m","labels":"l"}"#, "metric=m labels=l"),
            (r#"{"metric":{}}"#, ""),
        ] {
            let mut texts = Texts::default();
            decode_series_json(bytes.as_bytes(), &mut texts).unwrap_or_else(|error| panic!("{bytes}: {error}"));
            assert_eq!(texts.0.join(" "), expected, "{bytes}");
        }
    }

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
            (br#"{"series_ref":-1,"a":"b"}"#, "expected a string"),
            (br#"{"series_ref":{},"a":"b"}"#, "expected a string"),
            (br#"{"metric":{"a":1}}"#, "expected a string"),
            (br#"{"metric":{"a":"b"},"timestamps":["x"]}"#, "invalid type"),
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
