//! Every implementation, and the model itself, does what the conformance suite wants.

use chronoxide_labels::conformance::{ModelStore, ModelSymbolTable, check_labelset_store, check_symbol_table};
use chronoxide_labels::{ArenaSymbolTable, KeysetStore};

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

#[test]
fn model_store() {
    SEEDS.for_each(|seed| check_labelset_store(ModelStore::default, seed));
}
