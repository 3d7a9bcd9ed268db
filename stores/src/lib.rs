//! Symbol tables and labelset stores that are compared with each other, and an allocator that counts.
//!
//! [`chronoxide_labels`] has one symbol table and one store, which ingest uses. This crate has the alternatives, behind
//! the same traits and the same conformance suite, so that anyone can measure them on their own data, and so that each
//! is an oracle for the others. `docs/stores.md` has the comparison and says which store fits which use.
//!
//! | symbol table | keeps a string |
//! | --- | --- |
//! | [`ArenaSymbolTable`](chronoxide_labels::ArenaSymbolTable) of `labels` | in one arena, 4 bytes for its end |
//! | [`UnpackedArenaSymbolTable`] | in one arena, 8 bytes for offset and length |
//! | [`PackedArenaSymbolTable`] | in one arena, 6 bytes for offset and length |
//! | [`ArcSymbolTable`] | as `Arc<str>`, 16 bytes and an allocation |
//! | [`GermanSymbolTable`] | as `GermanStr`, 16 bytes, an allocation if longer than 12 bytes |
//! | [`SmolStrSymbolTable`] | as `SmolStr`, 24 bytes, an allocation if longer than 23 bytes |
//! | [`ByteViewSymbolTable`] | as `StrView` of byteview, 24 bytes, an allocation if longer than 20 bytes |
//! | [`LassoSymbolTable`] | in the arena of the crate `lasso`, 16 bytes for a slice |
//!
//! | labelset store | keeps a series |
//! | --- | --- |
//! | [`NaiveLabelSetStore`] | as pairs of `String` |
//! | [`FlatInternedLabelSetStore`] | as pairs of symbol ids, 8 bytes per label |
//! | [`KeySetDictEncodedLabelSetStore`], the articles' name for [`KeysetStore`](chronoxide_labels::KeysetStore) | as a row of value codes, 4 bytes per label |
//! | [`FixedWidthPackedKeySetLabelSetStore`] | in a sealed block, a row of whole bytes |
//! | [`BitPackedKeySetLabelSetStore`] | in a sealed block, a row of bits |
//!
//! ```
//! use chronoxide_labels::{LabelSetStore, LabelSets, StoreRef};
//! use chronoxide_stores::{FlatInternedLabelSetStore, NaiveLabelSetStore};
//!
//! let labels = [("__name__", "up"), ("job", "cart")];
//! let mut naive = NaiveLabelSetStore::new();
//! let mut flat = FlatInternedLabelSetStore::new();
//! assert_eq!(naive.insert(&labels)?, (StoreRef(0), true));
//! assert_eq!(flat.insert(&labels)?, (StoreRef(0), true));
//! assert_eq!(naive.find(&labels)?, flat.find(&labels)?);
//! # Ok::<(), chronoxide_labels::LabelError>(())
//! ```

mod allocator;
mod collisions;
mod labelsets;
mod symbols;

pub use allocator::{Allocations, TrackingAllocator};
pub use collisions::hash_collisions;
pub use labelsets::{
    BitPackedKeySetLabelSetStore, ExactBits, FixedWidthPackedKeySetLabelSetStore, FlatInternedLabelSetStore,
    KeySetDictEncodedLabelSetStore, NaiveLabelSetStore, RowWidth, SealedLabelSets, WholeBytes,
};
pub use symbols::{
    ArcSymbolTable, ByteViewSymbolTable, GermanSymbolTable, LassoSymbolTable, LocatedSymbolTable, Location,
    OwnedSymbolTable, OwnedText, PackedArenaSymbolTable, PackedLocation, SmolStrSymbolTable, UnpackedArenaSymbolTable,
    UnpackedLocation,
};
