//! OTLP metrics: the parts of a request that become labels, and the text forms of attribute values.
//!
//! | module | contents |
//! | --- | --- |
//! | `sink` | [`OtlpSink`], the sink of the parts of a request |
//! | `kind` | [`MetricKind`], the kinds of metrics |
//! | `value` | attribute values as text |
//! | `json` | decoding of requests as JSON |
//! | `proto` | decoding of requests as protobuf |
//!
//! Both decoders read a request in one walk, without a model in memory. Parts are borrowed from the bytes.
//!
//! JSON follows the [protocol's mapping][json]: 64-bit integers may be strings or numbers, and unknown fields are
//! ignored. Field names may be `camelCase` or `snake_case`, or those of captures that are older than scopes
//! (`instrumentationLibraryMetrics`, `instrumentationLibrary`).
//!
//! [json]: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
//!
//! # The text of an attribute
//!
//! Labels are text. Attributes of other types get the text that the OpenTelemetry Collector gives them (`AsString` of
//! its `pdata` package), except for numbers that JSON cannot represent:
//!
//! | attribute | text |
//! | --- | --- |
//! | string | itself |
//! | bool | `true`, `false` |
//! | int | decimal: `-42` |
//! | double | shortest decimal that reads back: `0.1`, `3`, `-0`; below 1e-6 and from 1e21: `1e-7`, `1.5e+21`; `NaN`,
//! `Infinity` |
//! | bytes | base64 with padding, standard alphabet |
//! | array | JSON without spaces: `["a",1,true,null]` |
//! | key-value list | JSON without spaces, keys in byte order, the last of equal keys: `{"a":1,"b":[]}` |
//! | no value | the empty string, which removes the label |
//!
//! In arrays and key-value lists, strings, bytes, `NaN`, `Infinity` and `-Infinity` are quoted.
//!
//! ```
//! use chronoxide_format::metadata::MetricMetadata;
//! use chronoxide_ingest::otlp::{Level, OtlpSink, Point, decode_otlp_json};
//! use std::convert::Infallible;
//!
//! /// Collects the parts as lines.
//! #[derive(Default)]
//! struct Lines(Vec<String>);
//!
//! impl OtlpSink for Lines {
//!     type Error = Infallible;
//!     fn attribute(&mut self, level: Level, key: &str, value: &str) -> Result<(), Infallible> {
//!         self.0.push(format!("{level:?} {key}={value}"));
//!         Ok(())
//!     }
//!     fn metric(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), Infallible> {
//!         self.0.push(format!("metric {}", metadata.name));
//!         Ok(())
//!     }
//!     fn point(&mut self, point: &Point<'_>) -> Result<(), Infallible> {
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

mod json;
mod kind;
mod proto;
mod sink;
mod value;

pub(crate) use json::Text;
pub use json::decode_otlp_json;
pub use kind::MetricKind;
pub use proto::{decode_otlp_proto, looks_like_request};
pub(crate) use proto::{odd_attribute, run_of_attributes};
pub use sink::{Level, NO_RECORDED_VALUE, Needs, OtlpSink, Owner, Point};
