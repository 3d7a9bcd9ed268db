//! Labelsets in memory: symbol tables, labelset stores, and `seal`, which turns a store into a block.
//!
//! A store takes the labelsets of a time window as they arrive, gives each distinct one a number, and
//! is sealed into the bytes of a block when the window closes. Stores are traits with one conformance
//! suite, since there are several ways to trade memory for speed; blocks are the same whatever the store was.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`labelset`] | what a labelset must be: order and limits |
//! | [`symbols`] | [`SymbolTable`], every distinct string once |
//! | [`arena`] | [`ArenaSymbolTable`], the one that is used |
//! | [`store`] | [`LabelSetStore`], every distinct labelset once |
//! | [`keyset`] | [`KeysetStore`], series as rows of value codes |
//! | [`seal`] | a store as a block: what is used, ranked, remapped and sorted |
//! | [`error`] | [`LabelError`] |
//!
//! ```
//! use chronoxide_labels::{KeysetStore, LabelSetStore};
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
pub mod keyset;
pub mod labelset;
pub mod seal;
pub mod store;
pub mod symbols;

pub use arena::ArenaSymbolTable;
pub use chronoxide_planner::{Layout, Origin};
pub use error::{Counted, LabelError};
pub use keyset::{KeysetStore, LabelId, StoreKeyId, ValueCode};
pub use labelset::{MAX_LABELS, MAX_SYMBOL_LEN};
pub use seal::{SealError, Sealed};
pub use store::{LabelSetStore, StoreRef};
pub use symbols::{StoreSymbolId, SymbolTable};
