//! Requirements of every symbol table and labelset store, as functions that panic if one is not met.
//!
//! Each function takes a constructor of an empty table or store, and a seed. It compares the implementation with a
//! model over `BTreeMap`, which is slow, short and obviously correct. The model passes the same checks.
//!
//! ```
//! use chronoxide_labels::KeysetStore;
//! use chronoxide_testkit::conformance;
//!
//! conformance::check_labelset_store(KeysetStore::new, 1);
//! ```

mod model;
mod stores;
mod tables;

pub use model::{ModelStore, ModelSymbolTable};
pub use stores::{check_labelset_store, check_labelsets};
pub use tables::check_symbol_table;
