//! Requirements of a symbol table.

use chronoxide_labels::{StoreSymbolId, SymbolTable};

use super::model::ModelSymbolTable;
use crate::random::Random;

/// Checks a symbol table against the model.
///
/// # Panics
///
/// Panics if the table differs from the model. The message names the seed.
pub fn check_symbol_table<T: SymbolTable>(make: impl Fn() -> T, seed: u64) {
    empty_table(make());
    strings_that_are_easily_confused(make());
    random_strings(make(), seed);
}

fn empty_table<T: SymbolTable>(table: T) {
    assert_eq!((table.len(), table.is_empty()), (0, true));
    assert_eq!(table.get(""), None);
    assert_eq!(table.resolve(StoreSymbolId(0)), None);
    assert_eq!(table.resolve(StoreSymbolId(u32::MAX)), None);
}

/// Strings that an arena without separators or a hash of a prefix would mix up.
fn strings_that_are_easily_confused<T: SymbolTable>(mut table: T) {
    let long = "x".repeat(65_535);
    let longer = format!("{long}x");
    let texts = ["ab", "c", "a", "bc", "abc", "", "\0", "a\0", "é", "e\u{301}", "🦀", &long, &longer];
    for (id, text) in (0u32..).zip(texts) {
        assert_eq!(table.intern(text), Ok(StoreSymbolId(id)), "{text:.20?} is new");
    }
    for (id, text) in (0u32..).zip(texts) {
        assert_eq!(table.intern(text), Ok(StoreSymbolId(id)), "{text:.20?} is known");
        assert_eq!(table.get(text), Some(StoreSymbolId(id)));
        assert_eq!(table.resolve(StoreSymbolId(id)), Some(text));
    }
    assert_eq!(table.len(), texts.len());
}

fn random_strings<T: SymbolTable>(mut table: T, seed: u64) {
    let mut random = Random::new(seed);
    let mut model = ModelSymbolTable::default();
    let empty = table.memory_used();
    for step in 0..5_000 {
        let text = random.text();
        assert_eq!(table.get(&text), model.get(&text), "seed {seed}, step {step}: get {text:?}");
        if random.below(3) > 0 {
            assert_eq!(table.intern(&text), model.intern(&text), "seed {seed}, step {step}: intern {text:?}");
        }
        let id = StoreSymbolId(random.below(model.len() + 2) as u32);
        assert_eq!(table.resolve(id), model.resolve(id), "seed {seed}, step {step}: resolve {id:?}");
        assert_eq!(table.len(), model.len(), "seed {seed}, step {step}");
    }
    assert!(table.memory_used() > empty, "seed {seed}: strings take memory");
}
