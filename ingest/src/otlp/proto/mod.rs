//! Requests of OTLP as protobuf, borrowed from their bytes.
//!
//! | module | contents |
//! | --- | --- |
//! | `walk` | one walk over a request, without a model in memory |
//! | `value` | attribute values |
//!
//! The fields of messages are read by [`protobuf`](crate::protobuf). The protocol lets a writer split a message into
//! pieces, which together mean the message that is their concatenation: the walk joins pieces where they occur.
//!
//! Tests compare the walk with a generated decoder, request by request.

mod value;
mod walk;

pub(super) use value::key_value;
pub(crate) use walk::decode_within;
pub use walk::{decode_otlp_proto, looks_like_request};
