//! Fingerprints of series and of projections, without resolving labels.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::iter;

use chronoxide_format::identity::{Fingerprint, LabelHasher};
use chronoxide_format::view::BlockView;
use chronoxide_format::{KeyId, SeriesRef, SymbolId};
use siphasher::sip128::{Hasher128, SipHasher13};

use super::Labels;
use super::fold::{Fold, Folding, KeptKeys, value_of};
use super::spans::{for_each_keyset, room_for, rows_of};
use crate::rows::runs::{Runs, SERIES_PER_READ};
use crate::{Searcher, SelectError, Selection};

/// Symbols of the block per selected series from which on the labels of each series are hashed, and not all values.
const SYMBOLS_PER_SERIES: u64 = 64;

/// Hashes labels, and combines the hashes of a series in any order.
pub(crate) trait LabelHash {
    type Hash: Copy;

    /// Hash of a series without labels.
    const EMPTY: Self::Hash;

    /// Returns the function that hashes the labels with a name by their values.
    fn named(&self, name: &[u8]) -> impl Fn(&[u8]) -> Self::Hash;

    fn combine(left: Self::Hash, right: Self::Hash) -> Self::Hash;
}

impl<H: LabelHash> Fold for H {
    type Value = H::Hash;

    const EMPTY: H::Hash = H::EMPTY;

    fn dictionary(&mut self, view: &BlockView<'_>, key: KeyId) -> Result<Vec<H::Hash>, SelectError> {
        let hash = self.named(view.key_name(key)?);
        let Some(dictionary) = view.dictionary(key)? else { return Ok(Vec::new()) };
        let column = dictionary.column(0)?;
        let value = |code| Ok(hash(view.symbol(SymbolId(dictionary.code(code, &column)?))?));
        (0..dictionary.row_count()).map(value).collect()
    }

    #[inline]
    fn join(&mut self, left: H::Hash, right: H::Hash) -> H::Hash {
        H::combine(left, right)
    }
}

/// Multiplies the fingerprints of labels.
pub(super) struct Product;

impl LabelHash for Product {
    type Hash = Fingerprint;

    const EMPTY: Fingerprint = Fingerprint::ONE;

    fn named(&self, name: &[u8]) -> impl Fn(&[u8]) -> Fingerprint {
        let hasher = LabelHasher::new(name);
        move |value| hasher.label(value)
    }

    #[inline]
    fn combine(left: Fingerprint, right: Fingerprint) -> Fingerprint {
        left * right
    }
}

/// Adds hashes of labels that depend on a random key: unlike for fingerprints, labelsets cannot be constructed to
/// collide. For blocks that are read by one query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RandomHash {
    hasher: SipHasher13,
}

impl RandomHash {
    /// Chooses a key.
    pub(crate) fn new() -> Self {
        let [first, second] = [1, 2].map(|number| RandomState::new().hash_one(number));
        Self { hasher: SipHasher13::new_with_keys(first, second) }
    }
}

impl LabelHash for RandomHash {
    type Hash = [u64; 2];

    const EMPTY: [u64; 2] = [0; 2];

    fn named(&self, name: &[u8]) -> impl Fn(&[u8]) -> [u64; 2] {
        let mut hasher = self.hasher;
        hasher.write(&(name.len() as u64).to_le_bytes());
        hasher.write(name);
        move |value| {
            let mut hasher = hasher;
            hasher.write(value);
            let hash = hasher.finish128();
            [hash.h1, hash.h2]
        }
    }

    #[inline]
    fn combine([left, left_2]: [u64; 2], [right, right_2]: [u64; 2]) -> [u64; 2] {
        [left.wrapping_add(right), left_2.wrapping_add(right_2)]
    }
}

impl Searcher<'_, '_> {
    /// Returns the fingerprint of the kept labels of each selected series, in order. Refs that are out of range are
    /// left out.
    ///
    /// A fingerprint depends on the labels alone: equal labelsets have equal fingerprints in every block, of every
    /// layout, on every machine. It has 2 numbers of 61 bits. Two labelsets can be constructed to collide: compare
    /// labels where that matters. Each distinct value is hashed once, and each row of a table multiplied once: a series
    /// costs a few nanoseconds, and 16 bytes of memory. The labels of few series are hashed themselves.
    ///
    /// # Errors
    /// As [`Searcher::project`].
    pub fn fingerprints(&self, selection: &Selection, labels: Labels<'_>) -> Result<Vec<Fingerprint>, SelectError> {
        let mut fingerprints = room_for(selection)?;
        self.each_hash(selection, labels.keys(self)?, Product, |fingerprint| fingerprints.push(fingerprint))?;
        Ok(fingerprints)
    }

    /// Calls `each` with the hash of all labels of each selected series, in order. Costs as much as
    /// [`Searcher::fingerprints`], and takes no memory per series.
    pub(crate) fn each_random_hash(
        &self,
        selection: &Selection,
        hash: RandomHash,
        each: impl FnMut([u64; 2]),
    ) -> Result<(), SelectError> {
        self.each_hash(selection, Labels::All.keys(self)?, hash, each)
    }

    fn each_hash<H: LabelHash>(
        &self,
        selection: &Selection,
        kept: KeptKeys,
        hash: H,
        mut each: impl FnMut(H::Hash),
    ) -> Result<(), SelectError> {
        if u64::from(selection.count()) * SYMBOLS_PER_SERIES < u64::from(self.view.symbols().count()) {
            for series in selection.iter() {
                self.hash_of(series, &kept, &hash)?.into_iter().for_each(&mut each);
            }
            return Ok(());
        }
        let mut folding = Folding::new(self, kept, hash);
        let mut runs = Runs::for_selection(self, selection);
        for_each_keyset(self, selection, |keyset, places| {
            let columns = folding.columns(keyset)?;
            let members = columns.member_table.map(|table| folding.rows(table)).transpose()?.flatten();
            let rows = rows_of(keyset, places)?;
            let first_row = rows.start;
            let of_rows = folding.row_values(keyset, &columns, rows)?;
            let mut runs = runs.open(keyset, places.count(), members.is_some())?;
            for places in places.in_steps(SERIES_PER_READ) {
                let rows = runs.read(&self.limits, places)?;
                let table = keyset.table().id();
                let rows = rows.map(|row| value_of(&of_rows, row.wrapping_sub(first_row), table));
                if let Some(members) = &members {
                    for (row, read) in rows.zip(runs.members_of_rows()) {
                        let row = row?;
                        for &member in read {
                            each(H::combine(row, value_of(members, member, table)?));
                        }
                    }
                } else {
                    for (row, &len) in rows.zip(runs.lens()) {
                        iter::repeat_n(row?, len as usize).for_each(&mut each);
                    }
                }
            }
            Ok(())
        })
    }

    /// Returns the hash of the kept labels of a series, or `None` if it is out of range.
    fn hash_of<H: LabelHash>(
        &self,
        series: SeriesRef,
        kept: &KeptKeys,
        hash: &H,
    ) -> Result<Option<H::Hash>, SelectError> {
        self.limits.check()?;
        let Some(series) = self.view.series(series)? else { return Ok(None) };
        let mut all = H::EMPTY;
        for label in series.label_ids() {
            let label = label?;
            if kept.has(label.key) {
                let hash = hash.named(self.view.key_name(label.key)?);
                all = H::combine(all, hash(self.view.symbol(label.value)?));
            }
        }
        Ok(Some(all))
    }
}
