//! Labelsets in memory: symbol tables and labelset stores, which are sealed into blocks.
//!
//! A store takes labelsets in any order of series, numbers each distinct one, and is sealed into the bytes of a block.
//! Symbol tables and stores are traits with a conformance suite, since implementations trade memory for speed. A block
//! does not depend on the implementation of its store.
//!
//! | module | contents |
//! | --- | --- |
//! | [`labelset`] | order and limits of labelsets |
//! | [`symbols`] | [`SymbolTable`], the set of distinct strings |
//! | [`arena`] | [`ArenaSymbolTable`], a symbol table in one arena |
//! | [`store`] | [`LabelSets`] and [`LabelSetStore`], the set of distinct labelsets |
//! | [`keyset`] | [`KeysetStore`], series as rows of value codes |
//! | [`seal`] | sealing of a store into a block |
//! | [`error`] | [`LabelError`] |
//!
//! ```
//! use chronoxide_labels::{KeysetStore, LabelSetStore, LabelSets};
//!
//! let mut store = KeysetStore::new();
//! let (series, inserted) = store.insert(&[("__name__", "up"), ("job", "cart")])?;
//! assert!(inserted);
//! assert_eq!(store.find(&[("__name__", "up"), ("job", "cart")])?, Some(series));
//!
//! let mut labels = Vec::new();
//! store.visit(series, |name, value| labels.push(format!("{name}={value}")))?;
//! assert_eq!(labels, ["__name__=up", "job=cart"]);
//! # Ok::<(), chronoxide_labels::LabelError>(())
//! ```

pub mod arena;
pub mod error;
mod growth;
pub mod keyset;
pub mod labelset;
mod number_index;
pub mod seal;
pub mod store;
pub mod symbols;

pub use arena::ArenaSymbolTable;
pub use chronoxide_planner::{Layout, Origin};
pub use error::{Counted, LabelError};
pub use keyset::{KeysetStore, LabelId, RowShape, StoreKeyId, ValueCode};
pub use labelset::{MAX_LABELS, MAX_SYMBOL_LEN};
pub use seal::{Plans, Prepared, SealError, Sealed};
pub use store::{LabelSetStore, LabelSets, StoreRef};
pub use symbols::{StoreSymbolId, SymbolTable};
