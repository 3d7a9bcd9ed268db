//! A request as protobuf, borrowed from its bytes.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `wire` | fields of a message, one after the other |
//! | `walk` | one walk over a request, without a model in memory |
//! | `value` | attribute values |
//!
//! Generated decoders build a tree with a `String` for each key and value, most of which are known already: see the
//! `decode` group of the crate's benches. Here a message is a slice. What the protocol lets a writer split (a
//! message that comes in several pieces is the same as its pieces one after the other) is put together where it happens.
//!
//! Tests compare the walk with a generated decoder, request by request.

mod value;
mod walk;
mod wire;

pub use walk::{decode_otlp_proto, looks_like_request};
pub use wire::ProtoError;
