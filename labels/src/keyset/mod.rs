//! [`KeysetStore`]: series as rows of value codes, one table of rows per list of keys.
//!
//! | module | contents |
//! | --- | --- |
//! | `keys` | label names, each with the dictionary of its values |
//! | `rows` | series of one list of keys: rows of codes and their hash table |
//! | `arrangement` | cache of row slots by order of keys |
//! | `store` | the store |

mod arrangement;
mod keys;
mod rows;
mod store;

pub use keys::{LabelId, StoreKeyId, ValueCode};
pub(crate) use rows::Keyset;
pub(crate) use store::StoreCounts;
pub use store::{KeysetStore, RowShape};
