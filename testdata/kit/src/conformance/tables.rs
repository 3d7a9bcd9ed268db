//! Requirements of a symbol table.

use chronoxide_labels::{LabelError, MAX_SYMBOL_LEN, StoreSymbolId, SymbolTable};

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
    strings_that_no_block_can_hold(make());
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
    let long = "x".repeat(MAX_SYMBOL_LEN);
    let prefix = &long[1..];
    let texts = ["ab", "c", "a", "bc", "abc", "", "\0", "a\0", "é", "e\u{301}", "🦀", &long, prefix];
    for (id, text) in (0u32..).zip(texts) {
        assert_eq!(table.intern(text), Ok(StoreSymbolId(id)), "{text:.20?} is new");
    }
    let used = table.used_bytes();
    for (id, text) in (0u32..).zip(texts) {
        assert_eq!(table.intern(text), Ok(StoreSymbolId(id)), "{text:.20?} is known");
        assert_eq!(table.get(text), Some(StoreSymbolId(id)));
        assert_eq!(table.resolve(StoreSymbolId(id)), Some(text));
    }
    assert_eq!(table.len(), texts.len());
    assert_eq!(table.used_bytes(), used, "known strings take no memory");
}

/// A table may refuse strings that are too long for a block, and stays as it was then.
fn strings_that_no_block_can_hold<T: SymbolTable>(mut table: T) {
    let text = "x".repeat(MAX_SYMBOL_LEN + 1);
    match table.intern(&text) {
        Ok(id) => assert_eq!((id, table.resolve(id)), (StoreSymbolId(0), Some(&*text))),
        Err(LabelError::SymbolTooLong { len, limit }) => {
            assert_eq!((len, limit), (text.len(), MAX_SYMBOL_LEN));
            assert_eq!((table.len(), table.get(&text)), (0, None));
        }
        Err(error) => panic!("{error}"),
    }
    let next = StoreSymbolId(table.len() as u32);
    assert_eq!(table.intern("next"), Ok(next));
    assert_eq!(table.resolve(next), Some("next"));
}

fn random_strings<T: SymbolTable>(mut table: T, seed: u64) {
    let mut random = Random::new(seed);
    let mut model = ModelSymbolTable::default();
    let empty = table.estimated_bytes();
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
    assert!(table.estimated_bytes() > empty, "seed {seed}: strings take memory");
    let (used, text) = (table.used_bytes(), model.text_bytes());
    assert!(text < used && used <= table.estimated_bytes(), "seed {seed}: {text} bytes of text, {used} used");
}
