//! [`KeysetStore`]: symbols, keys, keysets, and the place of each series.

use std::hash::BuildHasher;

use chronoxide_planner::Origin;
use foldhash::fast::RandomState;

use super::arrangement::Arrangements;
use super::keys::{Keys, LabelId, StoreKeyId, ValueCode};
use super::rows::Keyset;
use crate::arena::ArenaSymbolTable;
use crate::error::{Counted, LabelError};
use crate::growth::push;
use crate::labelset::{self, MAX_LABELS, check_count, check_name, check_value};
use crate::number_index::NumberIndex;
use crate::store::{LabelSetStore, LabelSets, StoreRef};
use crate::symbols::SymbolTable;

/// Labelset store with a value dictionary per label key, and rows of value codes per list of keys.
///
/// A series costs 4 bytes per label, 18 to 24 more bytes, and the cost of its new strings. No series is allocated
/// separately, and series are hashed and compared by codes instead of strings.
///
/// [`insert`](LabelSetStore::insert) takes strings. For labels that many series share,
/// [`intern_label`](Self::intern_label) interns them once, and [`insert_ids`](Self::insert_ids) inserts series as lists
/// of labels in any order. The sorting is cached per order of keys.
///
/// ```
/// use chronoxide_labels::{KeysetStore, LabelSetStore};
///
/// let mut store = KeysetStore::new();
/// let pod = store.intern_label("pod", "cart-7f9c")?;
/// let name = store.intern_label("__name__", "up")?;
/// let (series, inserted) = store.insert_ids(&[pod, name])?;
/// assert!(inserted);
/// assert_eq!(store.insert(&[("__name__", "up"), ("pod", "cart-7f9c")])?, (series, false));
/// # Ok::<(), chronoxide_labels::LabelError>(())
/// ```
#[derive(Debug, Default, Clone)]
pub struct KeysetStore<H = RandomState> {
    symbols: ArenaSymbolTable<H>,
    keys: Keys,
    keysets: Vec<Keyset>,
    /// Keyset numbers by their keys, in the byte order of names.
    keyset_index: NumberIndex,
    /// Number of keys of all keysets.
    keyset_keys: usize,
    arrangements: Arrangements<H>,
    /// Memory of all keysets in bytes, kept so that no pass over them is needed.
    keyset_bytes: usize,
    /// Number of codes of all series, and the bits that they have in a block.
    code_count: usize,
    code_bits: u64,
    /// Number of refs and codes of the largest keyset.
    largest_keyset: usize,
    /// Keyset and row of each series.
    places: Vec<Place>,
    /// Expected next series. Sources repeat their series in the same order, so this is usually the successor of the
    /// last
    /// one: its row can be compared without hashing and a lookup.
    expected: StoreRef,
    hasher: H,
    scratch: Scratch,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    keyset: u32,
    row: u32,
}

/// Keyset of a row, and the position of each label in it: see [`KeysetStore::make_row`].
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RowShape {
    keyset: u32,
    slots: Vec<u16>,
}

impl RowShape {
    /// Returns the position in the row of each label, in order of the list that made it.
    #[must_use]
    pub fn slots(&self) -> &[u16] {
        &self.slots
    }
}

/// Counts of a store, which determine the memory of sealing it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreCounts {
    /// Memory of the store in bytes.
    pub(crate) store_bytes: usize,
    pub(crate) keys: usize,
    pub(crate) keysets: usize,
    /// Number of keys of all keysets.
    pub(crate) keyset_keys: usize,
    /// Number of labels of all series.
    pub(crate) codes: usize,
    /// Number of refs and codes of the largest keyset.
    pub(crate) largest_keyset: usize,
    /// Length of the codes of all series in bytes, with the bits that they have in a block.
    pub(crate) packed_bytes: usize,
    pub(crate) series: usize,
    pub(crate) values: usize,
    pub(crate) symbols: usize,
    /// Length of all strings in bytes.
    pub(crate) text_len: usize,
}

/// Buffers that are reused for each series.
#[derive(Debug, Default, Clone)]
struct Scratch {
    ids: Vec<LabelId>,
    keys: Vec<u32>,
    codes: Vec<u32>,
}

impl KeysetStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<H: BuildHasher> KeysetStore<H> {
    /// Returns the key of a label name, and adds the name if it is new.
    ///
    /// # Errors
    ///
    /// The name is empty or too long, or there are 2^32 - 1 keys or symbols. The position in the error is 0.
    pub fn intern_name(&mut self, name: &str) -> Result<StoreKeyId, LabelError> {
        check_name(name, 0)?;
        self.keys.intern(&mut self.symbols, name)
    }

    /// Returns the label of a key and a value, and adds it if it is new. Labels without series do not reach a block.
    ///
    /// # Errors
    ///
    /// The value is empty or too long, the key is not of this store, or there are 2^32 - 1 values of this key or
    /// symbols. The position in the error is 0.
    pub fn intern_value(&mut self, key: StoreKeyId, value: &str) -> Result<LabelId, LabelError> {
        check_value(value, 0)?;
        self.intern_in_key(key, value)
    }

    fn intern_in_key(&mut self, key: StoreKeyId, value: &str) -> Result<LabelId, LabelError> {
        let (code, is_wider) = self.keys.intern_value(&mut self.symbols, key, value)?;
        if is_wider {
            for &keyset in self.keys.keysets(key) {
                if let Some(keyset) = self.keysets.get_mut(keyset as usize) {
                    keyset.row_bits += 1;
                    self.code_bits += keyset.len() as u64;
                }
            }
        }
        Ok(LabelId { key, code })
    }

    /// Returns the label of a name and a value, and adds it if it is new.
    ///
    /// # Errors
    ///
    /// Errors of [`intern_name`](Self::intern_name) and [`intern_value`](Self::intern_value).
    pub fn intern_label(&mut self, name: &str, value: &str) -> Result<LabelId, LabelError> {
        let key = self.intern_name(name)?;
        self.intern_value(key, value)
    }

    /// Records an origin of the labels of a key for the planner: a key whose labels come only from resources describes
    /// the sender.
    pub fn note_origin(&mut self, key: StoreKeyId, origin: Origin) {
        self.keys.note_origin(key, origin);
    }

    /// Inserts a series with these labels, in any order. Returns its ref, and true if it is new.
    ///
    /// For a known series in a known order of keys this costs two lookups and no comparison of strings.
    ///
    /// # Errors
    ///
    /// There are no labels or too many, two have the same key, a label is not of this store, or a count is exhausted.
    pub fn insert_ids(&mut self, labels: &[LabelId]) -> Result<(StoreRef, bool), LabelError> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let result = self.insert_arranged(labels, &mut scratch.keys, &mut scratch.codes);
        self.scratch = scratch;
        result
    }

    fn insert_arranged(
        &mut self,
        labels: &[LabelId],
        keys: &mut Vec<u32>,
        codes: &mut Vec<u32>,
    ) -> Result<(StoreRef, bool), LabelError> {
        let (keyset, _) = self.arrange_labels(labels, keys, codes)?;
        self.insert_codes(keyset, codes)
    }

    /// Puts the codes of labels into the order of their keyset. Returns the keyset and the slot of each label.
    fn arrange_labels(
        &mut self,
        labels: &[LabelId],
        keys: &mut Vec<u32>,
        codes: &mut Vec<u32>,
    ) -> Result<(u32, &[u16]), LabelError> {
        keys.clear();
        keys.extend(labels.iter().map(|label| label.key.0));
        if self.arrangements.get(keys).is_none() {
            self.arrange(keys)?;
        }
        let (keyset, slots) = self.arrangements.get(keys).ok_or(LabelError::NoLabels)?;
        codes.clear();
        codes.resize(labels.len(), 0);
        for (label, &slot) in labels.iter().zip(slots) {
            if let Some(code) = codes.get_mut(usize::from(slot)) {
                *code = label.code.0;
            }
        }
        Ok((keyset, slots))
    }

    /// Makes the row of a labelset, with labels in any order, without inserting it. Replaces `shape` and `row`.
    ///
    /// To insert neighbours with the same keys by [`insert_row`](Self::insert_row), change the codes that differ.
    ///
    /// # Errors
    ///
    /// There are no labels or too many, two have the same key, a key is not of this store, or there are 2^32 - 1
    /// keysets.
    pub fn make_row(&mut self, labels: &[LabelId], shape: &mut RowShape, row: &mut Vec<u32>) -> Result<(), LabelError> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let result = self.arrange_labels(labels, &mut scratch.keys, row);
        let result = result.map(|(keyset, slots)| {
            shape.keyset = keyset;
            shape.slots.clear();
            shape.slots.extend_from_slice(slots);
        });
        self.scratch = scratch;
        result
    }

    /// Inserts a series as a row of this store: the codes of its values, each at the [slot](RowShape::slots) of its
    /// key. Returns its ref, and true if it is new.
    ///
    /// # Errors
    ///
    /// The shape is not of this store, the row has another length than its list of keys, a code is not of this store,
    /// or a count is exhausted.
    pub fn insert_row(&mut self, shape: &RowShape, row: &[u32]) -> Result<(StoreRef, bool), LabelError> {
        self.insert_codes(shape.keyset, row)
    }

    fn insert_codes(&mut self, keyset_id: u32, codes: &[u32]) -> Result<(StoreRef, bool), LabelError> {
        let unknown = LabelError::Unknown { what: Counted::Keyset, number: keyset_id };
        let keyset = self.keysets.get_mut(keyset_id as usize).ok_or(unknown)?;
        let expected = self.expected;
        if let Some(place) = self.places.get(expected.index())
            && place.keyset == keyset_id
            && keyset.row(place.row) == Some(codes)
        {
            self.expected = StoreRef(expected.0.wrapping_add(1));
            return Ok((expected, false));
        }
        let hash = Keyset::hash(&self.hasher, codes);
        if let Some(series) = keyset.find(hash, codes) {
            self.expected = StoreRef(series.0.wrapping_add(1));
            return Ok((series, false));
        }
        // Only new rows are checked: the codes of a known row are valid.
        if codes.len() != keyset.keys().len() {
            return Err(unknown);
        }
        for (&key, &code) in keyset.keys().iter().zip(codes) {
            if !self.keys.has_value(key, ValueCode(code)) {
                return Err(LabelError::Unknown { what: Counted::Value, number: code });
            }
        }
        let series = StoreRef(Counted::Series.next(self.places.len())?);
        self.expected = StoreRef(series.0.wrapping_add(1));
        let before = keyset.estimated_bytes();
        let row = keyset.push(&self.hasher, hash, codes, series)?;
        self.keyset_bytes += keyset.estimated_bytes() - before;
        self.largest_keyset = self.largest_keyset.max(keyset.len() * (codes.len() + 1));
        self.code_bits += u64::from(keyset.row_bits);
        push(&mut self.places, Place { keyset: keyset_id, row });
        self.code_count += codes.len();
        Ok((series, true))
    }

    /// Sorts a list of keys that arrived in a new order, and caches the result.
    fn arrange(&mut self, keys: &[u32]) -> Result<(), LabelError> {
        check_count(keys.len())?;
        let mut sorted = Vec::with_capacity(keys.len());
        for (position, &key) in (0u16..).zip(keys) {
            let unknown = LabelError::Unknown { what: Counted::Key, number: key };
            sorted.push((self.keys.name(&self.symbols, StoreKeyId(key)).ok_or(unknown)?, position, StoreKeyId(key)));
        }
        sorted.sort_unstable();
        for pair in sorted.windows(2) {
            if let [(_, _, left), (_, position, right)] = pair
                && left == right
            {
                return Err(LabelError::DuplicateName { position: usize::from(*position) });
            }
        }
        let canonical: Box<[StoreKeyId]> = sorted.iter().map(|&(_, _, key)| key).collect();
        let mut slots = vec![0; keys.len()];
        for (slot, &(_, position, _)) in (0u16..).zip(&sorted) {
            if let Some(place) = slots.get_mut(usize::from(position)) {
                *place = slot;
            }
        }
        let keyset = self.intern_keyset(canonical)?;
        self.arrangements.insert(keys, &slots, keyset, self.keyset_keys);
        Ok(())
    }

    /// Returns the number of the keyset with these keys, if any.
    fn get_keyset(&self, keys: &[StoreKeyId]) -> Option<u32> {
        let same = |keyset: u32| self.keysets.get(keyset as usize).is_some_and(|keyset| keyset.keys() == keys);
        self.keyset_index.find(self.hasher.hash_one(keys), same)
    }

    fn intern_keyset(&mut self, keys: Box<[StoreKeyId]>) -> Result<u32, LabelError> {
        if let Some(keyset) = self.get_keyset(&keys) {
            return Ok(keyset);
        }
        let keyset = Counted::Keyset.next(self.keysets.len())?;
        let hash = self.hasher.hash_one(&*keys);
        self.keyset_keys += keys.len();
        let row_bits = self.keys.note_keyset(keyset, &keys);
        let new = Keyset::new(keys, row_bits);
        self.keyset_bytes += new.estimated_bytes();
        self.keysets.push(new);
        let Self { keysets, keyset_index, hasher, .. } = self;
        keyset_index.push(hash, |other| hasher.hash_one(keysets.get(other as usize).map_or(&[][..], Keyset::keys)));
        Ok(keyset)
    }

    /// Returns the name of a key, or `None` if it is not of this store.
    #[must_use]
    pub fn name(&self, key: StoreKeyId) -> Option<&str> {
        self.keys.name(&self.symbols, key)
    }

    /// Returns the value of a label, or `None` if it is not of this store.
    #[must_use]
    pub fn value(&self, label: LabelId) -> Option<&str> {
        self.keys.value(&self.symbols, label)
    }

    /// Returns the number of label names.
    #[must_use]
    pub fn key_count(&self) -> usize {
        self.keys.as_slice().len()
    }

    /// Returns the number of lists of keys.
    #[must_use]
    pub fn keyset_count(&self) -> usize {
        self.keysets.len()
    }

    /// Returns the number of distinct strings, names and values.
    #[must_use]
    pub fn symbol_count(&self) -> usize {
        self.symbols.len()
    }

    /// Returns the hash of each series, by keyset, and in order of refs within a keyset. Series of different keysets
    /// are in different hash tables.
    pub fn hashes(&self) -> impl Iterator<Item = impl Iterator<Item = u64>> {
        self.keysets.iter().map(|keyset| keyset.rows().map(|(_, codes)| Keyset::hash(&self.hasher, codes)))
    }

    /// Returns the counts of the store without a pass over it.
    pub(crate) fn counts(&self) -> StoreCounts {
        StoreCounts {
            store_bytes: self.estimated_bytes(),
            keys: self.key_count(),
            keysets: self.keysets.len(),
            keyset_keys: self.keyset_keys,
            codes: self.code_count,
            largest_keyset: self.largest_keyset,
            packed_bytes: usize::try_from(self.code_bits / 8).unwrap_or(usize::MAX),
            series: self.places.len(),
            values: self.keys.value_count(),
            symbols: self.symbols.len(),
            text_len: self.symbols.text_len(),
        }
    }

    pub(crate) fn symbols(&self) -> &ArenaSymbolTable<H> {
        &self.symbols
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Returns the keyset and the row of a series.
    pub(crate) fn place(&self, series: usize) -> Option<(u32, u32)> {
        self.places.get(series).map(|place| (place.keyset, place.row))
    }

    pub(crate) fn keysets(&self) -> &[Keyset] {
        &self.keysets
    }
}

impl<H: BuildHasher> LabelSets for KeysetStore<H> {
    fn find(&self, labels: &[(&str, &str)]) -> Result<Option<StoreRef>, LabelError> {
        labelset::check(labels)?;
        let mut keys = [StoreKeyId(0); MAX_LABELS];
        let mut codes = [0; MAX_LABELS];
        for ((&(name, value), key), code) in labels.iter().zip(&mut keys).zip(&mut codes) {
            let Some(found) = self.keys.get(&self.symbols, name) else {
                return Ok(None);
            };
            let Some(ValueCode(value)) = self.keys.get_value(&self.symbols, found, value) else {
                return Ok(None);
            };
            (*key, *code) = (found, value);
        }
        let (Some(keys), Some(codes)) = (keys.get(..labels.len()), codes.get(..labels.len())) else {
            return Ok(None);
        };
        let Some(keyset) = self.get_keyset(keys) else {
            return Ok(None);
        };
        let hash = Keyset::hash(&self.hasher, codes);
        Ok(self.keysets.get(keyset as usize).and_then(|keyset| keyset.find(hash, codes)))
    }

    fn visit(&self, series: StoreRef, mut each: impl FnMut(&str, &str)) -> Result<(), LabelError> {
        let unknown = LabelError::Unknown { what: Counted::Series, number: series.0 };
        let place = self.places.get(series.index()).ok_or(unknown)?;
        let keyset = self.keysets.get(place.keyset as usize).ok_or(unknown)?;
        let codes = keyset.row(place.row).ok_or(unknown)?;
        for (&key, &code) in keyset.keys().iter().zip(codes) {
            let label = LabelId { key, code: ValueCode(code) };
            if let (Some(name), Some(value)) = (self.name(key), self.value(label)) {
                each(name, value);
            }
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.places.len()
    }

    fn estimated_bytes(&self) -> usize {
        self.symbols.estimated_bytes()
            + self.keys.estimated_bytes()
            + self.keysets.capacity() * size_of::<Keyset>()
            + self.keyset_bytes
            + self.keyset_index.estimated_bytes()
            + self.arrangements.estimated_bytes()
            + self.places.capacity() * size_of::<Place>()
    }
    fn used_bytes(&self) -> usize {
        let keyset_bytes: usize = self.keysets.iter().map(Keyset::used_bytes).sum();
        self.symbols.used_bytes()
            + self.keys.used_bytes()
            + self.keysets.len() * size_of::<Keyset>()
            + self.keyset_index.used_bytes()
            + keyset_bytes
            + self.arrangements.estimated_bytes()
            + self.places.len() * size_of::<Place>()
    }
}

impl<H: BuildHasher> LabelSetStore for KeysetStore<H> {
    fn insert(&mut self, labels: &[(&str, &str)]) -> Result<(StoreRef, bool), LabelError> {
        labelset::check(labels)?;
        let mut ids = std::mem::take(&mut self.scratch.ids);
        ids.clear();
        for &(name, value) in labels {
            let key = self.keys.intern(&mut self.symbols, name)?;
            ids.push(self.intern_in_key(key, value)?);
        }
        let result = self.insert_ids(&ids);
        self.scratch.ids = ids;
        result
    }
}

#[cfg(test)]
mod tests {
    use chronoxide_testkit::random::Random;

    use super::*;

    #[test]
    fn codes_have_the_bits_of_the_largest_code_of_their_key() {
        let mut random = Random::new(11);
        let mut store = KeysetStore::new();
        for number in 0..3_000 {
            let labels = random.labels(5);
            let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (&**name, &**value)).collect();
            store.insert(&labels).unwrap();
            // Values without series count too, and so do those that come before the first series of a keyset.
            store.intern_label(labels[0].0, &number.to_string()).unwrap();
            if number % 97 > 0 {
                continue;
            }
            let bits = |key: &StoreKeyId| {
                let largest = store.keys.as_slice()[key.index()].values.len() as u32 - 1;
                u64::from(u32::BITS - largest.leading_zeros())
            };
            let model: u64 = (store.keysets.iter())
                .map(|keyset| keyset.len() as u64 * keyset.keys().iter().map(bits).sum::<u64>())
                .sum();
            assert_eq!(store.code_bits, model, "{number}");
        }
        assert!(store.keysets.len() > 5 && store.code_bits > 0);
    }
}
