//! Fingerprints of series and of projections, without resolving labels.

use std::iter;

use chronoxide_format::identity::{Fingerprint, LabelHasher};
use chronoxide_format::view::BlockView;
use chronoxide_format::{KeyId, SymbolId};

use super::Labels;
use super::fold::{Fold, Folding};
use super::groups::SERIES_PER_CHECK;
use super::spans::{for_each_keyset, room_for, rows_of};
use crate::rows::lists::Cursor;
use crate::{Searcher, SelectError, Selection};

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
    /// costs a few nanoseconds, and 16 bytes of memory.
    ///
    /// # Errors
    /// As [`Searcher::project`].
    pub fn fingerprints(&self, selection: &Selection, labels: Labels<'_>) -> Result<Vec<Fingerprint>, SelectError> {
        let mut folding = Folding::new(self, labels.keys(self)?, Product);
        let mut fingerprints = room_for(selection)?;
        let (mut read, mut unchecked) = (Vec::new(), 0_u32);
        for_each_keyset(self, selection, |keyset, places| {
            let columns = folding.columns(keyset)?;
            let members = columns.member_table.map(|table| folding.rows(table)).transpose()?.flatten();
            let rows = rows_of(keyset, places)?;
            let first_row = rows.start;
            let products = folding.row_values(keyset, &columns, rows)?;
            let mut cursor = Cursor::new(*keyset);
            for range in places.as_slice() {
                let mut place = range.start;
                while place < range.end && cursor.move_to(place)? {
                    let end = range.end.min(cursor.before.saturating_add(cursor.len));
                    unchecked += end - place;
                    if unchecked > SERIES_PER_CHECK {
                        unchecked = 0;
                        self.limits.check()?;
                    }
                    // Only in a damaged block can the row be before the first.
                    let row = products.get(cursor.row.wrapping_sub(first_row) as usize).copied();
                    let row = row.unwrap_or(Fingerprint::ONE);
                    if let Some(products) = &members {
                        read.clear();
                        cursor.push_members(place..end, &mut read)?;
                        let product = |&member: &u32| products.get(member as usize).map_or(row, |&member| row * member);
                        fingerprints.extend(read.iter().map(product));
                    } else {
                        fingerprints.extend(iter::repeat_n(row, (end - place) as usize));
                    }
                    place = end;
                }
            }
            Ok(())
        })?;
        Ok(fingerprints)
    }
}
