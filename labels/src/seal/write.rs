//! Walk over a store in the order of a block.

use chronoxide_planner::ThreadLimit;

use super::order::{BlockKey, BlockKeyset, BlockOrder};
use super::rows::SortedRows;
use super::selection::Selection;
use crate::keyset::KeysetStore;
use crate::store::StoreRef;

/// Sink of the parts of a block, in the order of a block: all symbols, all keys, all keysets. Ids are those of the
/// block.
pub(crate) trait BlockTarget {
    /// Error of refusing a part.
    type Error;

    /// Takes the next symbol, in byte order.
    fn symbol(&mut self, text: &str) -> Result<(), Self::Error>;

    /// Takes the next key with its name and values, sorted by name.
    fn key(&mut self, name: &str, key: &BlockKey) -> Result<(), Self::Error>;

    /// Takes the next keyset with its rows of value codes, sorted by lists of keys.
    fn keyset(&mut self, keys: &[u32], rows: Vec<u32>) -> Result<(), Self::Error>;
}

/// Writes the selected series of a store into `target`. Returns the numbers of the series in order of the block.
///
/// Memory holds two copies of the rows of the largest keyset besides the result: the keysets of a wave, whose rows are
/// sorted on all threads, have no more together.
pub(crate) fn write<T: BlockTarget>(
    store: &KeysetStore,
    selection: &Selection,
    target: &mut T,
    limit: ThreadLimit,
) -> Result<Vec<StoreRef>, T::Error> {
    let order = BlockOrder::new(store, selection);
    for symbol in &order.symbols {
        target.symbol(store.symbols().text(symbol.0))?;
    }
    for key in &order.keys {
        let name = order.symbols.get(key.name as usize).map_or("", |name| store.symbols().text(name.0));
        target.key(name, key)?;
    }
    let mut series = Vec::new();
    let threads = limit.start(order.keysets.iter().map(BlockKeyset::row_len).sum());
    let most = order.keysets.iter().map(BlockKeyset::row_len).max().unwrap_or_default();
    let mut rest = &order.keysets[..];
    while !rest.is_empty() {
        let (wave, others) = rest.split_at(wave_len(rest, most));
        let sorted = threads.map(wave.iter().collect(), |keyset: &BlockKeyset| {
            let source = store.keysets().get(keyset.source);
            source.map(|source| SortedRows::new(keyset.source, source, selection, &order.code_ranks))
        });
        for (keyset, rows) in wave.iter().zip(sorted) {
            let Some(rows) = rows else { continue };
            target.keyset(&keyset.keys, rows.codes)?;
            series.extend(rows.series);
        }
        rest = others;
    }
    Ok(series)
}

/// Returns the number of the first of these keysets that have at most `most` refs and codes together: at least one.
fn wave_len(keysets: &[BlockKeyset], most: usize) -> usize {
    let mut sum = 0_usize;
    let fits = |keyset: &&BlockKeyset| {
        sum += keyset.row_len();
        sum <= most
    };
    keysets.iter().take_while(fits).count().max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    use chronoxide_testkit::random::Random;

    use super::*;
    use crate::store::{LabelSetStore, LabelSets, StoreRef};

    /// Collects the parts, and asserts the order of a block.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Parts {
        symbols: Vec<String>,
        keys: Vec<(u32, Vec<u32>)>,
        keysets: Vec<(Vec<u32>, Vec<Vec<u32>>)>,
    }

    fn increasing<T: Ord>(items: &[T]) -> bool {
        items.windows(2).all(|pair| pair[0] < pair[1])
    }

    impl BlockTarget for Parts {
        type Error = Infallible;

        fn symbol(&mut self, text: &str) -> Result<(), Infallible> {
            assert!(self.keys.is_empty() && self.keysets.is_empty());
            self.symbols.push(text.to_owned());
            assert!(increasing(&self.symbols));
            Ok(())
        }

        fn key(&mut self, name: &str, key: &BlockKey) -> Result<(), Infallible> {
            assert_eq!(self.symbols[key.name as usize], name);
            assert!(self.keysets.is_empty() && !key.values.is_empty() && increasing(&key.values));
            self.keys.push((key.name, key.values.clone()));
            assert!(increasing(&self.keys.iter().map(|key| key.0).collect::<Vec<_>>()));
            Ok(())
        }

        fn keyset(&mut self, keys: &[u32], rows: Vec<u32>) -> Result<(), Infallible> {
            assert!(!keys.is_empty() && increasing(keys) && !rows.is_empty());
            let rows: Vec<Vec<u32>> = rows.chunks(keys.len()).map(<[u32]>::to_vec).collect();
            assert!(increasing(&rows), "{rows:?}");
            self.keysets.push((keys.to_vec(), rows));
            assert!(increasing(&self.keysets.iter().map(|keyset| &keyset.0).collect::<Vec<_>>()));
            Ok(())
        }
    }

    type Labels = Vec<(String, String)>;

    impl Parts {
        /// Returns the labels of each series in order of block refs, and the used symbols.
        fn series(&self) -> (Vec<Labels>, BTreeSet<&str>) {
            let mut used = BTreeSet::new();
            let mut all = Vec::new();
            for (keys, rows) in &self.keysets {
                for row in rows {
                    let mut labels = Vec::new();
                    for (&key, &code) in keys.iter().zip(row) {
                        let (name, values) = &self.keys[key as usize];
                        let name = self.symbols[*name as usize].as_str();
                        let value = self.symbols[values[code as usize] as usize].as_str();
                        used.extend([name, value]);
                        labels.push((name.to_owned(), value.to_owned()));
                    }
                    all.push(labels);
                }
            }
            (all, used)
        }
    }

    fn written(store: &KeysetStore) -> (Parts, Vec<u32>) {
        let mut parts = Parts::default();
        let Ok(series) = write(store, &Selection::ALL, &mut parts, ThreadLimit::default());
        assert_eq!(series.len(), store.len());
        // A series that is missing has the place of one behind all.
        let mut places = vec![u32::MAX; series.len()];
        series.iter().zip(0..).for_each(|(number, place)| places[number.index()] = place);
        (parts, places)
    }

    fn insert(store: &mut KeysetStore, labels: &[(String, String)]) {
        let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        store.insert(&labels).unwrap();
    }

    /// Store, and its distinct labelsets in order of arrival.
    #[derive(Default)]
    struct Modelled {
        store: KeysetStore,
        model: Vec<Labels>,
        known: BTreeSet<Labels>,
    }

    impl Modelled {
        fn insert(&mut self, labels: Labels) {
            insert(&mut self.store, &labels);
            if self.known.insert(labels.clone()) {
                self.model.push(labels);
            }
        }
    }

    /// Asserts that no series is lost, added or unused. `Parts` asserts the order.
    fn assert_equals_model(Modelled { store, model, .. }: &Modelled, seed: u64) {
        let (parts, refs) = written(store);
        let (series, used) = parts.series();
        assert_eq!(series.len(), model.len(), "seed {seed}");
        assert_eq!(refs.len(), model.len(), "seed {seed}");
        for (labels, &block_ref) in model.iter().zip(&refs) {
            assert_eq!(&series[block_ref as usize], labels, "seed {seed}");
        }
        let distinct: BTreeSet<u32> = refs.iter().copied().collect();
        assert_eq!(distinct.len(), refs.len(), "seed {seed}: refs are a permutation");
        assert_eq!(parts.symbols.iter().map(String::as_str).collect::<BTreeSet<_>>(), used, "seed {seed}");
        let values: usize = parts.keys.iter().map(|key| key.1.len()).sum();
        let pairs: BTreeSet<_> = model.iter().flatten().collect();
        assert_eq!(values, pairs.len(), "seed {seed}: each pair of name and value stands once");
    }

    #[test]
    fn random_stores_are_written_whole_and_in_order() {
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let mut modelled = Modelled::default();
            for _ in 0..random.below(1_500) {
                modelled.insert(random.labels(1 + seed as usize % 9));
            }
            assert_equals_model(&modelled, seed);
        }
    }

    #[test]
    fn rows_that_differ_only_after_64_bits_are_sorted() {
        let mut random = Random::new(7);
        let mut modelled = Modelled::default();
        for _ in 0..4_000 {
            let labels = (0..40)
                .map(|key| {
                    let values = if key < 20 { 9 } else { 3 };
                    // The first columns change only in the first series, but then need their bits.
                    let value = if key < 20 && random.below(30) > 0 { 0 } else { random.below(values) };
                    (format!("k{key:02}"), value.to_string())
                })
                .collect();
            modelled.insert(labels);
        }
        assert_equals_model(&modelled, 7);
    }

    #[test]
    fn blocks_do_not_depend_on_the_order_of_arrival() {
        let mut random = Random::new(3);
        let mut labelsets: Vec<_> = (0..500).map(|_| random.labels(6)).collect();
        let mut first = KeysetStore::new();
        labelsets.iter().for_each(|labels| insert(&mut first, labels));
        labelsets.reverse();
        let mut second = KeysetStore::new();
        labelsets.iter().for_each(|labels| insert(&mut second, labels));
        assert_eq!(written(&first).0, written(&second).0);
    }

    #[test]
    fn labels_without_series_are_not_written() {
        let mut store = KeysetStore::new();
        let key = store.intern_name("unused name").unwrap();
        store.intern_value(key, "unused value").unwrap();
        let label = store.intern_label("used name", "used value").unwrap();
        store.intern_label("used name", "another value").unwrap();
        store.insert_ids(&[label]).unwrap();
        let (parts, refs) = written(&store);
        assert_eq!(parts.symbols, ["used name", "used value"]);
        assert_eq!(parts.keys, [(0, vec![1])]);
        assert_eq!(parts.keysets, [(vec![0], vec![vec![0]])]);
        assert_eq!(refs, [0]);
    }

    #[test]
    fn an_empty_store_has_no_parts() {
        assert_eq!(written(&KeysetStore::new()), (Parts::default(), vec![]));
        let mut interned = KeysetStore::new();
        interned.intern_label("a", "b").unwrap();
        assert_eq!(written(&interned), (Parts::default(), vec![]));
    }

    #[test]
    fn a_block_ref_is_that_of_the_row() {
        let mut store = KeysetStore::new();
        for value in ["c", "a", "b"] {
            store.insert(&[("k", value)]).unwrap();
        }
        store.insert(&[("a", "z")]).unwrap();
        assert_eq!(written(&store).1, [3, 1, 2, 0]);
        assert_eq!(store.visit(StoreRef(0), |_, value| assert_eq!(value, "c")), Ok(()));
    }

    #[test]
    fn a_wave_has_no_more_than_the_largest_keyset() {
        let keysets: Vec<BlockKeyset> = [(5, 1), (2, 2), (1, 3), (3, 2), (9, 1), (1, 1)]
            .map(|(series, keys)| BlockKeyset { keys: vec![0; keys], source: 0, series })
            .into();
        let lens: Vec<usize> = keysets.iter().map(BlockKeyset::row_len).collect();
        assert_eq!(lens, [10, 6, 4, 9, 18, 2]);
        let waves = |most: usize| {
            let (mut rest, mut waves) = (&keysets[..], Vec::new());
            while !rest.is_empty() {
                waves.push(wave_len(rest, most));
                rest = &rest[waves[waves.len() - 1]..];
            }
            waves
        };
        assert_eq!(waves(18), [2, 2, 1, 1]);
        assert_eq!(waves(20), [3, 1, 2]);
        assert_eq!(waves(3), [1; 6], "one that is larger is a wave of its own");
    }
}
