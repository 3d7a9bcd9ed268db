//! What every symbol table and labelset store must do, as functions that panic when one does not.
//!
//! Each takes a function that makes an empty table or store, and a seed. They compare the
//! implementation with a model over `BTreeMap`, which is slow, short and obviously right, and which has
//! to pass as well.
//!
//! ```
//! use chronoxide_labels::{KeysetStore, conformance};
//! conformance::check_labelset_store(KeysetStore::new, 1);
//! ```

mod model;
mod random;
mod stores;
mod tables;

pub use model::{ModelStore, ModelSymbolTable};
pub use random::Random;
pub use stores::check_labelset_store;
pub use tables::check_symbol_table;
