//! Inserting series as lists of label ids equals inserting them as strings.

use chronoxide_labels::{
    Counted, KeysetStore, LabelError, LabelId, LabelSetStore, LabelSets, RowShape, StoreKeyId, StoreRef, ValueCode,
};
use chronoxide_testkit::random::Random;
use proptest::prelude::*;

#[test]
fn any_order_of_labels_is_the_same_series() {
    let mut store = KeysetStore::new();
    let a = store.intern_label("a", "1").unwrap();
    let b = store.intern_label("b", "1").unwrap();
    let c = store.intern_label("c", "1").unwrap();
    assert_eq!(store.insert_ids(&[c, a, b]), Ok((StoreRef(0), true)));
    for order in [[a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, b, a], [c, a, b]] {
        assert_eq!(store.insert_ids(&order), Ok((StoreRef(0), false)));
    }
    assert_eq!(store.insert(&[("a", "1"), ("b", "1"), ("c", "1")]), Ok((StoreRef(0), false)));
    assert_eq!(store.keyset_count(), 1);
}

#[test]
fn interning_twice_gives_the_same_label() {
    let mut store = KeysetStore::new();
    let first = store.intern_label("name", "value").unwrap();
    assert_eq!(store.intern_label("name", "value"), Ok(first));
    let other = store.intern_label("value", "name").unwrap();
    assert_ne!(other, first);
    assert_eq!((store.name(first.key), store.value(first)), (Some("name"), Some("value")));
    assert_eq!((store.symbol_count(), store.key_count()), (2, 2));
}

#[test]
fn invalid_labelsets_are_refused() {
    let mut store = KeysetStore::new();
    let a = store.intern_label("a", "1").unwrap();
    let again = store.intern_label("a", "2").unwrap();
    let b = store.intern_label("b", "1").unwrap();
    let foreign_key = LabelId { key: StoreKeyId(2), code: ValueCode(0) };
    let foreign_value = LabelId { key: b.key, code: ValueCode(1) };
    let cases: [(&[LabelId], LabelError); 5] = [
        (&[], LabelError::NoLabels),
        (&[a; 1024], LabelError::TooManyLabels { count: 1024 }),
        (&[a, b, again], LabelError::DuplicateName { position: 2 }),
        (&[a, foreign_key], LabelError::Unknown { what: Counted::Key, number: 2 }),
        (&[a, foreign_value], LabelError::Unknown { what: Counted::Value, number: 1 }),
    ];
    for (labels, error) in cases {
        assert_eq!(store.insert_ids(labels), Err(error));
        assert_eq!(store.insert_ids(labels), Err(error), "and again, nothing was remembered");
        assert_eq!(store.len(), 0);
    }
    assert_eq!(store.intern_label("", "v"), Err(LabelError::EmptyName { position: 0 }));
    assert_eq!(store.intern_label("n", ""), Err(LabelError::EmptyValue { position: 0 }));
    assert_eq!(store.intern_value(StoreKeyId(9), "v"), Err(LabelError::Unknown { what: Counted::Key, number: 9 }));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ids_in_random_order_equal_sorted_strings(seed: u64) {
        let mut random = Random::new(seed);
        let (mut by_ids, mut by_strings) = (KeysetStore::new(), KeysetStore::new());
        for _ in 0..200 {
            let labels = random.labels(6);
            let strings: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let mut ids = Vec::new();
            for (name, value) in &strings {
                ids.push(by_ids.intern_label(name, value).unwrap());
            }
            for position in (1..ids.len()).rev() {
                ids.swap(position, random.below(position + 1));
            }
            prop_assert_eq!(by_ids.insert_ids(&ids), by_strings.insert(&strings));
            prop_assert_eq!(by_ids.find(&strings), by_strings.find(&strings));
        }
    }
}

#[test]
fn rows_are_the_series_of_their_labels() {
    let mut store = KeysetStore::new();
    let [a1, a2] = ["1", "2"].map(|value| store.intern_label("a", value).unwrap());
    let b1 = store.intern_label("b", "1").unwrap();
    let (mut shape, mut row) = (RowShape::default(), Vec::new());
    assert_eq!(store.make_row(&[b1, a1], &mut shape, &mut row), Ok(()));
    assert_eq!((shape.slots(), row.as_slice()), (&[1, 0][..], &[a1.code.0, b1.code.0][..]));
    assert_eq!(store.insert_row(&shape, &row), Ok((StoreRef(0), true)));
    assert_eq!(store.insert_ids(&[a1, b1]), Ok((StoreRef(0), false)));
    row[usize::from(shape.slots()[1])] = a2.code.0;
    assert_eq!(store.insert_row(&shape, &row), Ok((StoreRef(1), true)));
    assert_eq!(store.find(&[("a", "2"), ("b", "1")]), Ok(Some(StoreRef(1))));

    row[0] = 2;
    let unknown = |what, number| Err(LabelError::Unknown { what, number });
    assert_eq!(store.insert_row(&shape, &row), unknown(Counted::Value, 2));
    assert_eq!(store.insert_row(&shape, &[0]), unknown(Counted::Keyset, 0), "a row without all its codes");
    assert_eq!(KeysetStore::new().insert_row(&shape, &[0, 0]), unknown(Counted::Keyset, 0), "a shape of another store");
    assert_eq!(store.len(), 2);
    assert_eq!(store.make_row(&[a1, a2], &mut shape, &mut row), Err(LabelError::DuplicateName { position: 1 }));
    assert_eq!(store.make_row(&[], &mut shape, &mut row), Err(LabelError::NoLabels));
}
