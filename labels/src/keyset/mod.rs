//! [`KeysetStore`]: series as rows of value codes, one table of rows per list of keys.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `keys` | label names, each with the dictionary of its values |
//! | `rows` | the series of one list of keys: rows of codes and their hash table |
//! | `arrangement` | which slot of a row each label goes to, remembered per order of keys |
//! | `store` | the store over them |

mod arrangement;
mod keys;
mod rows;
mod store;

pub use keys::{LabelId, StoreKeyId, ValueCode};
pub use store::KeysetStore;

pub(crate) use store::StoreCounts;

pub(crate) use rows::Keyset;
