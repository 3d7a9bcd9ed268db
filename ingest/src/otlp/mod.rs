//! OTLP metrics as JSON: what of a request makes labels, and the text forms of attribute values.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `sink` | [`OtlpSink`], what takes the parts of a request in order |
//! | `schema` | the part of the protocol that labels come from |
//! | `walk` | one walk over a request, without a model in memory |
//! | `value` | attribute values as text |
//! | `text` | strings and integers as JSON writes them |
//!
//! The mapping is that of the [protocol's JSON encoding][json]: 64-bit integers may be strings or numbers, enums are
//! not looked at, unknown fields are ignored. Field names may be `camelCase` or `snake_case`, and those of captures
//! that are older than scopes (`instrumentationLibraryMetrics`, `instrumentationLibrary`) are known.
//!
//! [json]: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
//!
//! # The text of an attribute
//!
//! Labels are text, and attributes need not be. The forms are those that the OpenTelemetry Collector gives
//! (`AsString` of its `pdata` package), with one exception for numbers that JSON cannot hold:
//!
//! | attribute | text |
//! | --- | --- |
//! | string | itself |
//! | bool | `true`, `false` |
//! | int | decimal: `-42` |
//! | double | the shortest decimal that reads back as the same number: `0.1`, `3`, `-0`; with an exponent below 1e-6 and from 1e21 on: `1e-7`, `1.5e+21`; and `NaN`, `Infinity`, `-Infinity` |
//! | bytes | base64 with padding, standard alphabet |
//! | array | JSON without spaces: `["a",1,true,null]` |
//! | key-value list | JSON without spaces, keys in byte order, the last of equal keys: `{"a":1,"b":[]}` |
//! | no value | the empty string, which is no label |
//!
//! In arrays and key-value lists strings and bytes stand in quotes, and so do `NaN`, `Infinity` and `-Infinity`.
//!
//! ```
//! use chronoxide_ingest::otlp::{Level, OtlpSink, Point, decode_otlp_json};
//! use std::convert::Infallible;
//!
//! /// Prints what it gets.
//! #[derive(Default)]
//! struct Lines(Vec<String>);
//!
//! impl OtlpSink for Lines {
//!     type Error = Infallible;
//!     fn attribute(&mut self, level: Level, key: &str, value: &str) -> Result<(), Infallible> {
//!         self.0.push(format!("{level:?} {key}={value}"));
//!         Ok(())
//!     }
//!     fn metric(&mut self, name: &str) -> Result<(), Infallible> {
//!         self.0.push(format!("metric {name}"));
//!         Ok(())
//!     }
//!     fn point(&mut self, point: Point) -> Result<(), Infallible> {
//!         self.0.push(format!("{:?} at {}", point.kind, point.time_unix_nano));
//!         Ok(())
//!     }
//! }
//!
//! let mut lines = Lines::default();
//! decode_otlp_json(br#"{"resourceMetrics":[{
//!     "resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}}]},
//!     "scopeMetrics":[{"scope":{"name":"http"},"metrics":[{"name":"requests","sum":{"dataPoints":[
//!         {"attributes":[{"key":"code","value":{"intValue":"200"}}],"timeUnixNano":"7"}]}}]}]}]}"#, &mut lines)?;
//! assert_eq!(lines.0, [
//!     "Resource service.name=cart", "Scope otel_scope_name=http", "metric requests", "Point code=200", "Sum at 7",
//! ]);
//! # Ok::<(), chronoxide_ingest::DecodeError<Infallible>>(())
//! ```

mod schema;
mod sink;
mod text;
mod value;
mod walk;

pub use schema::MetricKind;
pub use sink::{Level, NO_RECORDED_VALUE, OtlpSink, Point};
pub use walk::decode_otlp_json;

pub(crate) use text::Text;
