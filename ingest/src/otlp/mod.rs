//! OTLP metrics: the parts of a request that become labels, and the text forms of attribute values.
//!
//! | module | contents |
//! | --- | --- |
//! | `requests` | [`Requests`]: what was decoded, as arrays |
//! | `request` | [`Request`]: one of them, as it is read |
//! | `kind` | [`MetricKind`], the kinds of metrics |
//! | `value` | attribute values as text |
//! | `json` | decoding of requests as JSON |
//! | `proto` | decoding of requests as protobuf |
//!
//! Both decoders write a request into arrays, in one walk and without a model in memory. Threads decode; what is
//! decoded is read once, by the [`Assembler`](crate::Assembler).
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
//! use chronoxide_ingest::otlp::{Needs, Requests, decode_otlp_json};
//!
//! let record = br#"{"resourceMetrics":[{
//!     "resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}}]},
//!     "scopeMetrics":[{"scope":{"name":"http"},"metrics":[{"name":"requests","sum":{"dataPoints":[
//!         {"attributes":[{"key":"code","value":{"intValue":"200"}}],"timeUnixNano":"7"}]}}]}]}]}"#;
//! let mut requests = Requests::default();
//! let place = decode_otlp_json(record, Needs::default(), &mut requests)?;
//! let resource = requests.get(&place, record).resources().next().ok_or("a resource")?;
//! let attribute = resource.attributes().flat_map(|list| list.iter()).next().ok_or("an attribute")??;
//! assert_eq!(attribute, ("service.name".into(), "cart".into()));
//! let metric = resource.scopes().flat_map(|scope| scope.metrics()).next().ok_or("a metric")?;
//! assert_eq!(metric.metadata().name, "requests");
//! let times: Vec<u64> = metric.points().map(|point| point.time_unix_nano()).collect();
//! assert_eq!(times, [7]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod json;
mod kind;
mod proto;
mod request;
mod requests;
mod value;

pub(crate) use json::Text;
pub use json::decode_otlp_json;
pub(crate) use json::decode_within as decode_json_within;
pub use kind::MetricKind;
pub(crate) use proto::decode_within as decode_proto_within;
pub use proto::{decode_otlp_proto, looks_like_request};
pub use request::{AttributeList, Metric, NO_RECORDED_VALUE, Point, Request, Resource, Scope};
pub use requests::{Level, Needs, RequestPlace, Requests};
