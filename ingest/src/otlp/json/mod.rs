//! A request as JSON.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `schema` | the part of the protocol that labels come from |
//! | `walk` | one walk over a request, without a model in memory |
//! | `value` | attribute values |
//! | `text` | strings and numbers as JSON writes them |

mod schema;
mod text;
mod value;
mod walk;

pub(crate) use text::Text;
pub use walk::decode_otlp_json;
