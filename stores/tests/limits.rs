//! Tables that are full and strings that are too long are errors, and leave a table unchanged.

use std::hash::{BuildHasherDefault, Hasher};

use chronoxide_labels::{LabelError, LabelSetStore, LabelSets, StoreRef, StoreSymbolId, SymbolTable};
use chronoxide_stores::{FlatInternedLabelSetStore, PackedArenaSymbolTable, UnpackedArenaSymbolTable, hash_collisions};

#[test]
fn a_packed_location_holds_65535_bytes() {
    let mut table = PackedArenaSymbolTable::<foldhash::fast::RandomState>::new();
    let text = "x".repeat(65_536);
    assert_eq!(table.intern(&text), Err(LabelError::SymbolTooLong { len: 65_536, limit: 65_535 }));
    assert_eq!(table.intern(&text[1..]), Ok(StoreSymbolId(0)));
    assert_eq!(table.resolve(StoreSymbolId(0)), Some(&text[1..]));
    let mut unpacked = UnpackedArenaSymbolTable::<foldhash::fast::RandomState>::new();
    assert_eq!(unpacked.intern(&text), Ok(StoreSymbolId(0)));
}

#[test]
fn a_full_arena_is_an_error_and_keeps_what_it_has() {
    let mut table = UnpackedArenaSymbolTable::<foldhash::fast::RandomState>::with_max_bytes(10);
    assert_eq!(table.intern("12345678"), Ok(StoreSymbolId(0)));
    assert_eq!(table.intern("abc"), Err(LabelError::ArenaFull { limit: 10 }));
    assert_eq!((table.len(), table.get("abc")), (1, None));
    assert_eq!(table.intern("ab"), Ok(StoreSymbolId(1)), "exactly full");
    assert_eq!(table.intern("c"), Err(LabelError::ArenaFull { limit: 10 }));
    assert_eq!(table.intern(""), Ok(StoreSymbolId(2)), "an empty string needs no room");
    assert_eq!(table.intern("12345678"), Ok(StoreSymbolId(0)), "known strings need no room");
    assert_eq!(table.resolve(StoreSymbolId(1)), Some("ab"));
}

#[test]
fn a_series_whose_strings_do_not_fit_is_not_inserted() {
    let table = PackedArenaSymbolTable::<foldhash::fast::RandomState>::with_max_bytes(8);
    let mut store = FlatInternedLabelSetStore::<_, foldhash::fast::RandomState>::with_symbols(table);
    assert_eq!(store.insert(&[("a", "1"), ("b", "2")]), Ok((StoreRef(0), true)));
    let full = Err(LabelError::ArenaFull { limit: 8 });
    assert_eq!(store.insert(&[("a", "1"), ("b", "too long")]), full);
    assert_eq!(store.len(), 1);
    assert_eq!(store.insert(&[("a", "2")]), Ok((StoreRef(1), true)));
    let mut labels = Vec::new();
    store.visit(StoreRef(1), |name, value| labels.push(format!("{name}={value}"))).unwrap();
    assert_eq!(labels, ["a=2"]);
}

#[test]
fn collisions_are_counted() {
    let mut table = UnpackedArenaSymbolTable::<BuildHasherDefault<LengthHasher>>::new();
    for text in ["a", "bb", "cc", "ddd", "eee", "fff"] {
        table.intern(text).unwrap();
    }
    assert_eq!(hash_collisions(table.hashes()), 5, "two of two bytes, three of three");
    assert_eq!(hash_collisions([]), 0);
}

/// Hashes a string by its length.
#[derive(Default)]
struct LengthHasher(u64);

impl Hasher for LengthHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = self.0 * 1_000 + bytes.len() as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
