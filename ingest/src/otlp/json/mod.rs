//! Requests of OTLP as JSON.
//!
//! | module | contents |
//! | --- | --- |
//! | `schema` | the messages and fields that labels need |
//! | `walk` | one walk over a request, without a model in memory |
//! | `value` | attribute values |
//! | `text` | strings and numbers in JSON |

mod schema;
mod text;
mod value;
mod walk;

pub(crate) use text::Text;
pub use walk::decode_otlp_json;
pub(crate) use walk::decode_within;
