//! Every implementation, and the model itself, passes the conformance suite.

use chronoxide_labels::{ArenaSymbolTable, KeysetStore};
use chronoxide_testkit::conformance::{ModelStore, ModelSymbolTable, check_labelset_store, check_symbol_table};

const SEEDS: std::ops::Range<u64> = 1..9;

#[test]
fn arena_symbol_table() {
    SEEDS.for_each(|seed| check_symbol_table(ArenaSymbolTable::new, seed));
}

#[test]
fn model_symbol_table() {
    SEEDS.for_each(|seed| check_symbol_table(ModelSymbolTable::default, seed));
}

#[test]
fn keyset_store() {
    SEEDS.for_each(|seed| check_labelset_store(KeysetStore::new, seed));
}

/// Every string, keyset and row collides with every other.
#[test]
fn stores_whose_hashes_all_collide() {
    type Constant = std::hash::BuildHasherDefault<ConstantHasher>;
    check_symbol_table(ArenaSymbolTable::<Constant>::default, 1);
    check_labelset_store(KeysetStore::<Constant>::default, 1);
}

/// Gives every value the same hash.
#[derive(Default)]
struct ConstantHasher;

impl std::hash::Hasher for ConstantHasher {
    fn write(&mut self, _bytes: &[u8]) {}

    fn finish(&self) -> u64 {
        0x5555_5555_5555_5555
    }
}

#[test]
fn model_store() {
    SEEDS.for_each(|seed| check_labelset_store(ModelStore::default, seed));
}
