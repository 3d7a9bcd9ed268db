//! Searches for many labelsets at once.

use chronoxide_format::view::Keyset;
use chronoxide_format::{KeyId, SeriesRef};
use hashbrown::HashMap;

use crate::conditions::condition::Dictionary;
use crate::{Searcher, SelectError};

/// Reason why a search for many labelsets failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindManyError {
    /// Two labels of a labelset have the same name.
    #[error("labelset {position}: two labels have the same name")]
    DuplicateName {
        /// Position of the labelset, from 0.
        position: usize,
    },
    /// The query failed.
    #[error(transparent)]
    Select(#[from] SelectError),
}

/// Labelsets between two checks of the limits.
const LABELSETS_PER_CHECK: usize = 1024;

/// Labels of a labelset, as keys and codes.
type Codes = [(KeyId, u32)];

/// A wanted labelset: its codes, and its position among the queries.
type Wanted = (Vec<(KeyId, u32)>, usize);

/// Returns the keys of some labels.
fn keys_of(codes: &Codes) -> impl ExactSizeIterator<Item = KeyId> + use<'_> {
    codes.iter().map(|(key, _)| *key)
}

impl Searcher<'_, '_> {
    /// Returns the series with exactly these labels, for each of many labelsets, in their order; see
    /// [`BlockView::find`](chronoxide_format::view::BlockView::find).
    ///
    /// Each distinct name and value is searched once. Labelsets are sorted by their codes, so that neighbours share a
    /// keyset, and equal ones a search. Takes 8 bytes of memory per label.
    ///
    /// # Errors
    /// [`FindManyError::DuplicateName`] if two labels of a labelset have one name and the block has that name;
    /// [`FindManyError::Select`] if the block is damaged in a byte that was read, and for the
    /// [`Limits`](crate::Limits).
    pub fn find_many<'l, I>(&self, labelsets: I) -> Result<Vec<Option<SeriesRef>>, FindManyError>
    where
        I: IntoIterator,
        I::Item: IntoIterator<Item = (&'l [u8], &'l [u8])>,
    {
        let policy = self.view.meta().map_err(SelectError::from)?.policy();
        let mut keys: HashMap<&[u8], Option<KeyId>> = HashMap::new();
        let mut values: HashMap<(KeyId, &[u8]), Option<u32>> = HashMap::new();
        let mut found = Vec::new();
        let mut wanted: Vec<Wanted> = Vec::new();
        for (position, labels) in labelsets.into_iter().enumerate() {
            found.push(None);
            let mut codes: Vec<(KeyId, u32)> = Vec::new();
            let mut is_known = true;
            for (name, value) in labels {
                if value.is_empty() {
                    continue;
                }
                let key = match keys.get(name) {
                    Some(key) => *key,
                    None => {
                        let stored = policy.name_bytes(name);
                        let key = stored
                            .map(|stored| self.view.key(stored.as_ref()))
                            .transpose()
                            .map_err(SelectError::from)?;
                        *keys.entry(name).or_insert(key.flatten())
                    }
                };
                let Some(key) = key else {
                    is_known = false;
                    continue;
                };
                let code = match values.get(&(key, value)) {
                    Some(code) => *code,
                    None => {
                        let stored = policy.value_bytes(value);
                        let code = stored.map(|stored| self.code(key, stored.as_ref())).transpose()?.flatten();
                        *values.entry((key, value)).or_insert(code)
                    }
                };
                is_known &= code.is_some();
                codes.push((key, code.unwrap_or(u32::MAX)));
            }
            codes.sort_unstable();
            if codes.windows(2).any(|pair| matches!(pair, [(left, _), (right, _)] if left == right)) {
                return Err(FindManyError::DuplicateName { position });
            }
            if is_known && !codes.is_empty() {
                wanted.push((codes, position));
            }
        }
        // Labelsets with equal keys come together, in the order of their rows.
        wanted.sort_unstable_by(|(left, _), (right, _)| {
            left.len().cmp(&right.len()).then_with(|| keys_of(left).cmp(keys_of(right))).then_with(|| left.cmp(right))
        });
        self.find_sorted(&wanted, &mut found)?;
        Ok(found)
    }

    fn find_sorted(&self, wanted: &[Wanted], found: &mut [Option<SeriesRef>]) -> Result<(), SelectError> {
        let mut keysets: Vec<Keyset<'_, '_>> = Vec::new();
        let mut last: Option<(&Codes, Option<SeriesRef>)> = None;
        for (number, (codes, position)) in wanted.iter().enumerate() {
            if number % LABELSETS_PER_CHECK == 0 {
                self.limits.check()?;
            }
            let series = match last {
                Some((same, series)) if same == &codes[..] => series,
                _ => {
                    if last.is_none_or(|(other, _)| keys_of(other).ne(keys_of(codes))) {
                        let numbers = self.index.keysets_with_keys(keys_of(codes)).iter();
                        let opened: Result<Vec<_>, _> =
                            numbers.filter_map(|one| self.view.keyset(one.keyset).transpose()).collect();
                        keysets = opened?;
                    }
                    let mut series = None;
                    for keyset in &keysets {
                        series = keyset.find(codes)?;
                        if series.is_some() {
                            break;
                        }
                    }
                    series
                }
            };
            if let Some(slot) = found.get_mut(*position) {
                *slot = series;
            }
            last = Some((codes, series));
        }
        Ok(())
    }

    /// Returns the code of a value, or `None` if the key does not have it.
    fn code(&self, key: KeyId, value: &[u8]) -> Result<Option<u32>, SelectError> {
        match Dictionary::open(self.view, key)? {
            Some(dictionary) => dictionary.code(value),
            None => Ok(None),
        }
    }
}
