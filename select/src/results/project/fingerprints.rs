//! Fingerprints of series and of projections, without resolving labels.

use std::iter;

use chronoxide_format::identity::{Fingerprint, LabelHasher};
use chronoxide_format::view::BlockView;
use chronoxide_format::{KeyId, SeriesRef, SymbolId};

use super::Labels;
use super::fold::{Fold, Folding, KeptKeys};
use super::spans::{for_each_keyset, room_for, rows_of};
use crate::rows::runs::{Runs, SERIES_PER_READ};
use crate::{Searcher, SelectError, Selection};

/// Symbols of the block per selected series from which on the labels of each series are hashed, and not all values.
const SYMBOLS_PER_SERIES: u64 = 64;

/// Multiplies the fingerprints of labels.
pub(super) struct Product;

impl Fold for Product {
    type Value = Fingerprint;

    const EMPTY: Fingerprint = Fingerprint::ONE;

    fn dictionary(&mut self, view: &BlockView<'_>, key: KeyId) -> Result<Vec<Fingerprint>, SelectError> {
        let hasher = LabelHasher::new(view.key_name(key)?);
        let Some(dictionary) = view.dictionary(key)? else { return Ok(Vec::new()) };
        let column = dictionary.column(0)?;
        let value = |code| Ok(hasher.label(view.symbol(SymbolId(dictionary.code(code, &column)?))?));
        (0..dictionary.row_count()).map(value).collect()
    }

    fn join(&mut self, left: Fingerprint, right: Fingerprint) -> Fingerprint {
        left * right
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
        let kept = labels.keys(self)?;
        let mut fingerprints = room_for(selection)?;
        if u64::from(selection.count()) * SYMBOLS_PER_SERIES < u64::from(self.view.symbols().count()) {
            for series in selection.iter() {
                fingerprints.extend(self.fingerprint(series, &kept)?);
            }
            return Ok(fingerprints);
        }
        let mut folding = Folding::new(self, kept, Product);
        let mut runs = Runs::for_selection(self, selection);
        for_each_keyset(self, selection, |keyset, places| {
            let columns = folding.columns(keyset)?;
            let members = columns.member_table.map(|table| folding.rows(table)).transpose()?.flatten();
            let rows = rows_of(keyset, places)?;
            let first_row = rows.start;
            let products = folding.row_values(keyset, &columns, rows)?;
            let mut runs = runs.open(keyset, places.count(), members.is_some())?;
            for places in places.in_steps(SERIES_PER_READ) {
                let rows = runs.read(&self.limits, places)?;
                // Only in a damaged block can a row be before the first, or after the last.
                let product = |row: u32| products.get(row.wrapping_sub(first_row) as usize).copied();
                let rows = rows.map(|row| product(row).unwrap_or(Fingerprint::ONE));
                if let Some(members) = &members {
                    for (row, read) in rows.zip(runs.members_of_rows()) {
                        let product = |&member: &u32| members.get(member as usize).map_or(row, |&member| row * member);
                        fingerprints.extend(read.iter().map(product));
                    }
                } else {
                    for (row, &len) in rows.zip(runs.lens()) {
                        fingerprints.extend(iter::repeat_n(row, len as usize));
                    }
                }
            }
            Ok(())
        })?;
        Ok(fingerprints)
    }

    /// Returns the fingerprint of the kept labels of a series, or `None` if it is out of range.
    fn fingerprint(&self, series: SeriesRef, kept: &KeptKeys) -> Result<Option<Fingerprint>, SelectError> {
        self.limits.check()?;
        let Some(series) = self.view.series(series)? else { return Ok(None) };
        let mut product = Fingerprint::ONE;
        for label in series.label_ids() {
            let label = label?;
            if kept.has(label.key) {
                let hasher = LabelHasher::new(self.view.key_name(label.key)?);
                product = product * hasher.label(self.view.symbol(label.value)?);
            }
        }
        Ok(Some(product))
    }
}
