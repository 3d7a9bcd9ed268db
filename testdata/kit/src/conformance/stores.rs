//! Requirements of a labelset store.

use chronoxide_labels::{Counted, LabelError, LabelSetStore, LabelSets, MAX_LABELS, MAX_SYMBOL_LEN, StoreRef};

use super::model::ModelStore;
use crate::random::Random;

/// Checks a labelset store against the model.
///
/// # Panics
///
/// Panics if the store differs from the model. The message names the seed.
pub fn check_labelset_store<S: LabelSetStore>(make: impl Fn() -> S, seed: u64) {
    empty_store(&make());
    invalid_labelsets_are_refused(make());
    limits_are_inclusive(make());
    labelsets_that_are_easily_confused(make());
    repeated_series(make());
    random_labelsets(make(), seed);
}

/// Checks labelsets that are only read against the model. `make` gets labelsets in random order, each once.
///
/// # Panics
///
/// Panics if the labelsets differ from the model. The message names the seed.
pub fn check_labelsets<S: LabelSets>(make: impl Fn(&[Vec<(String, String)>]) -> S, seed: u64) {
    empty_store(&make(&[]));
    let mut random = Random::new(seed);
    let mut model = ModelStore::default();
    for step in 0..2_000 {
        let labels = random.labels(if step % 2 == 0 { 2 } else { 12 });
        model.insert(&borrowed(&labels)).unwrap();
    }
    let sets = make(model.series());
    assert_eq!(sets.len(), model.len(), "seed {seed}");
    let mut is_found = vec![false; sets.len()];
    for labels in model.series() {
        let series = sets.find(&borrowed(labels)).unwrap().unwrap_or_else(|| panic!("seed {seed}: no {labels:?}"));
        assert_eq!(labels_of(&sets, series).as_ref(), Ok(labels), "seed {seed}: {series:?}");
        assert!(!std::mem::replace(&mut is_found[series.index()], true), "seed {seed}: {series:?} twice");
    }
    for number in [sets.len() as u32, u32::MAX] {
        assert_eq!(labels_of(&sets, StoreRef(number)), Err(unknown(number)), "seed {seed}");
    }
    let mut absent = 0;
    for step in 0..2_000 {
        let labels = random.labels(if step % 2 == 0 { 2 } else { 12 });
        let labels = borrowed(&labels);
        let is_known = model.find(&labels).unwrap().is_some();
        assert_eq!(sets.find(&labels).unwrap().is_some(), is_known, "seed {seed}, step {step}: {labels:?}");
        absent += u32::from(!is_known);
    }
    assert!(absent > 500, "seed {seed}: {absent} absent labelsets");
    for (labels, error) in [
        (&[][..], LabelError::NoLabels),
        (&[("", "v")][..], LabelError::EmptyName { position: 0 }),
        (&[("b", "v"), ("a", "v")][..], LabelError::NotSorted { position: 1 }),
        (&[("a", "v"), ("a", "w")][..], LabelError::DuplicateName { position: 1 }),
    ] {
        assert_eq!(sets.find(labels), Err(error));
    }
    let text: usize = model.series().iter().flatten().map(|(name, value)| name.len() + value.len()).sum();
    assert!(sets.used_bytes() <= sets.estimated_bytes() && sets.used_bytes() < 2 * text + 4096, "seed {seed}");
}

fn labels_of<S: LabelSets>(store: &S, series: StoreRef) -> Result<Vec<(String, String)>, LabelError> {
    let mut labels = Vec::new();
    store.visit(series, |name, value| labels.push((name.to_owned(), value.to_owned())))?;
    Ok(labels)
}

fn borrowed(labels: &[(String, String)]) -> Vec<(&str, &str)> {
    labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

fn unknown(number: u32) -> LabelError {
    LabelError::Unknown { what: Counted::Series, number }
}

fn empty_store<S: LabelSets>(store: &S) {
    assert_eq!((store.len(), store.is_empty()), (0, true));
    assert_eq!(store.find(&[("a", "b")]), Ok(None));
    assert_eq!(labels_of(store, StoreRef(0)), Err(unknown(0)));
}

fn invalid_labelsets_are_refused<S: LabelSetStore>(mut store: S) {
    let long = "x".repeat(MAX_SYMBOL_LEN + 1);
    let names: Vec<String> = (0..=MAX_LABELS).map(|number| format!("{number:04}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "v")).collect();
    let cases: [(&[(&str, &str)], LabelError); 10] = [
        (&[], LabelError::NoLabels),
        (&many, LabelError::TooManyLabels { count: MAX_LABELS + 1 }),
        (&[("", "v")], LabelError::EmptyName { position: 0 }),
        (&[("a", "v"), ("", "v")], LabelError::EmptyName { position: 1 }),
        (&[("a", "v"), ("b", "")], LabelError::EmptyValue { position: 1 }),
        (&[(&long, "v")], LabelError::NameTooLong { position: 0, len: MAX_SYMBOL_LEN + 1 }),
        (&[("a", &long)], LabelError::ValueTooLong { position: 0, len: MAX_SYMBOL_LEN + 1 }),
        (&[("b", "v"), ("a", "v")], LabelError::NotSorted { position: 1 }),
        (&[("a", "v"), ("b", "v"), ("b", "w")], LabelError::DuplicateName { position: 2 }),
        // Byte order: U+10000 comes after U+FFFF, and in UTF-16 it would not.
        (&[("\u{10000}", "v"), ("\u{ffff}", "v")], LabelError::NotSorted { position: 1 }),
    ];
    for (labels, error) in cases {
        assert_eq!(store.insert(labels), Err(error), "insert");
        assert_eq!(store.find(labels), Err(error), "find");
        assert_eq!(store.len(), 0, "{error}");
    }
    assert_eq!(store.insert(&[("a", "v")]), Ok((StoreRef(0), true)), "a refusal uses up no ref");
}

fn limits_are_inclusive<S: LabelSetStore>(mut store: S) {
    let long = "x".repeat(MAX_SYMBOL_LEN);
    let names: Vec<String> = (0..MAX_LABELS).map(|number| format!("{number:04}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "v")).collect();
    assert_eq!(store.insert(&many), Ok((StoreRef(0), true)));
    assert_eq!(store.insert(&[(&long, &long)]), Ok((StoreRef(1), true)));
    assert_eq!(store.find(&many), Ok(Some(StoreRef(0))));
    assert_eq!(labels_of(&store, StoreRef(1)), Ok(vec![(long.clone(), long)]));
    assert_eq!(labels_of(&store, StoreRef(0)).map(|labels| labels.len()), Ok(MAX_LABELS));
}

/// Labelsets that a store would mix up if it compared joined strings, values without keys, or codes without keysets.
fn labelsets_that_are_easily_confused<S: LabelSetStore>(mut store: S) {
    let labelsets: [&[(&str, &str)]; 10] = [
        &[("a", "b")],
        &[("b", "a")],
        &[("a", "b"), ("b", "a")],
        &[("a", "a"), ("b", "b")],
        &[("a", "b"), ("b", "b")],
        &[("ab", "c")],
        &[("a", "bc")],
        &[("a", "b"), ("c", "d")],
        &[("a", "d"), ("c", "b")],
        &[("A", "b")],
    ];
    for (number, labels) in (0u32..).zip(labelsets) {
        assert_eq!(store.find(labels), Ok(None), "{labels:?} is new");
        assert_eq!(store.insert(labels), Ok((StoreRef(number), true)), "{labels:?} is new");
    }
    for (number, labels) in (0u32..).zip(labelsets) {
        assert_eq!(store.insert(labels), Ok((StoreRef(number), false)), "{labels:?} is known");
        assert_eq!(store.find(labels), Ok(Some(StoreRef(number))));
        let expected = labels.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        assert_eq!(labels_of(&store, StoreRef(number)), Ok(expected));
    }
}

/// Inserts series of several keysets with equal value codes, in every order of three and some twice in a row: a store
/// that caches its last series must not take it for the next.
fn repeated_series<S: LabelSetStore>(mut store: S) {
    let labelsets: [&[(&str, &str)]; 9] = [
        &[("a", "0")],
        &[("b", "0")],
        &[("a", "1")],
        &[("b", "1")],
        &[("a", "0"), ("b", "0")],
        &[("a", "0"), ("c", "0")],
        &[("b", "0"), ("c", "0")],
        &[("a", "0"), ("c", "1")],
        &[("b", "0"), ("c", "1")],
    ];
    for (number, labels) in (0u32..).zip(labelsets) {
        assert_eq!(store.insert(labels), Ok((StoreRef(number), true)), "{labels:?} is new");
    }
    let numbered = || (0u32..).zip(labelsets);
    for (first, before) in numbered() {
        for (second, labels) in numbered() {
            for (third, after) in numbered() {
                for (number, labels) in [(first, before), (second, labels), (second, labels), (third, after)] {
                    assert_eq!(
                        store.insert(labels),
                        Ok((StoreRef(number), false)),
                        "{before:?}, {labels:?}, {after:?}"
                    );
                }
            }
        }
    }
}

fn random_labelsets<S: LabelSetStore>(mut store: S, seed: u64) {
    let mut random = Random::new(seed);
    let mut model = ModelStore::default();
    let empty = store.estimated_bytes();
    for step in 0..3_000 {
        // Few labels repeat, many mostly do not.
        let most = if step % 2 == 0 { 2 } else { 12 };
        let labels = random.labels(most);
        let labels = borrowed(&labels);
        assert_eq!(store.find(&labels), model.find(&labels), "seed {seed}, step {step}: find {labels:?}");
        if random.below(4) > 0 {
            assert_eq!(store.insert(&labels), model.insert(&labels), "seed {seed}, step {step}: insert {labels:?}");
        }
        let series = StoreRef(random.below(model.len() + 2) as u32);
        assert_eq!(labels_of(&store, series), labels_of(&model, series), "seed {seed}, step {step}: {series:?}");
        assert_eq!(store.len(), model.len(), "seed {seed}, step {step}");
    }
    for (number, labels) in (0u32..).zip(model.series()) {
        assert_eq!(labels_of(&store, StoreRef(number)).as_ref(), Ok(labels), "seed {seed}, at the end");
    }
    assert!(store.estimated_bytes() > empty, "seed {seed}: series take memory");
    assert!(store.used_bytes() <= store.estimated_bytes(), "seed {seed}: {} bytes used", store.used_bytes());
}
