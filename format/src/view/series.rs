//! [`Series`]: labels of a series (spec, section 9).

use std::cmp::Ordering;
use std::iter::FusedIterator;

use super::codes::LabelCodes;
use super::symbol::binary_search;
use super::{BlockView, Column, Domain, Keyset, LabelIds, Labels, Table};
use crate::error::{Place, corrupt_at};
use crate::layout::MAX_DEPTH;
use crate::{KeyId, Result, Rule, SeriesRef};

/// A series of a block, from which its labels are read.
#[derive(Clone, Copy, Debug)]
pub struct Series<'data, 'view> {
    series: SeriesRef,
    keyset: u32,
    pub(super) table: Table<'data, 'view>,
    pub(super) row: u32,
    /// Row of the pool's table, for a keyset with lists.
    member: u32,
    /// Number of the pool's table.
    list_table: u32,
    pub(super) leaf_count: u32,
}

impl<'data, 'view> Series<'data, 'view> {
    #[inline]
    pub(crate) fn open(
        keyset: &Keyset<'data, 'view>,
        series: SeriesRef,
        row: u32,
        in_list: u32,
        leaf_count: u32,
    ) -> Result<Self> {
        let (member, list_table) = match keyset.stored_list(row)? {
            Some(list) => (list.stored_member(in_list)?, keyset.pool().map_or(0, |pool| pool.table_id().0)),
            None => (0, 0),
        };
        Ok(Self { series, keyset: keyset.id(), table: keyset.table(), row, member, list_table, leaf_count })
    }

    /// Returns the ref of the series.
    #[must_use]
    pub const fn series_ref(&self) -> SeriesRef {
        self.series
    }

    /// Returns the number of its keyset.
    #[must_use]
    pub const fn keyset(&self) -> u32 {
        self.keyset
    }

    /// Returns the number of labels.
    #[must_use]
    pub const fn label_count(&self) -> u32 {
        self.leaf_count
    }

    /// Returns label number `leaf` (from 0, in the order of names) as ids, or `None` if `leaf` is out of range. Costs
    /// O(depth).
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    #[inline]
    pub fn ids(&self, leaf: u32) -> Result<Option<LabelIds>> {
        (leaf < self.leaf_count).then(|| self.stored_ids(leaf)).transpose()
    }

    /// Returns a label that the series must have; a label out of range is corruption.
    #[inline]
    pub(super) fn stored_ids(&self, leaf: u32) -> Result<LabelIds> {
        let (column, position) = self.table.stored_leaf_place(leaf)?;
        self.follow(&self.table.stored_column(column)?, position)
    }

    /// Returns the label that is leaf `position` of the series' code in `column`.
    #[inline(always)]
    fn follow(&self, column: &Column, position: u32) -> Result<LabelIds> {
        let row = match column.domain {
            Domain::Pool(_) => self.member,
            _ => self.table.stored_code(self.row, column)?,
        };
        let view = self.table.view;
        match column.domain {
            Domain::Table(key) if key.0 < view.key_count() && position == 0 => {
                Ok(LabelIds { key: KeyId(key.0), code: row, value: view.dictionary_value(KeyId(key.0), row)? })
            }
            domain => follow(&self.table, domain, row, position),
        }
    }

    /// Returns the labels in the order of their names, as ids. Nothing is allocated.
    #[must_use]
    pub fn label_ids(&self) -> LabelIdsIter<'data, 'view> {
        let mut ids = LabelIdsIter { series: *self, next: 0, codes: LabelCodes::NONE };
        ids.codes.open(self);
        ids
    }

    /// Returns the table and the row that column `number` leads to, if it is that of the list.
    pub(super) fn list_member(&self, number: u32) -> Option<(u32, u32)> {
        let column = self.table.stored_column(number).ok()?;
        matches!(column.domain, Domain::Pool(_)).then_some((self.list_table, self.member))
    }

    /// Returns the labels in the order of their names, as bytes of the arena. Nothing is allocated.
    #[must_use]
    pub fn labels(&self) -> Labels<'data, 'view> {
        Labels::new(self)
    }

    /// Returns the value of the label `name`, or `None` if the series does not have it. Costs a binary search over the
    /// block's keys and one over the series' labels. The value borrows the block's bytes, not the view.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Result<Option<&'data [u8]>> {
        let view = self.table.view;
        match view.key(name)? {
            Some(key) => self.get_key(key)?.map(|ids| view.referenced_symbol(ids.value)).transpose(),
            None => Ok(None),
        }
    }

    /// Returns the label of `key`, or `None` if the series does not have it. Costs a binary search over its labels.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn get_key(&self, key: KeyId) -> Result<Option<LabelIds>> {
        let found = binary_search(self.leaf_count, |leaf| Ok(self.table.stored_leaf_key(leaf)?.cmp(&key)))?;
        found.ok().map(|leaf| self.stored_ids(leaf)).transpose()
    }
}

/// Returns the label that is leaf `leaf` of row `row` of a domain of `table`, through maps and shared tables.
pub(super) fn follow(table: &Table<'_, '_>, domain: Domain, row: u32, leaf: u32) -> Result<LabelIds> {
    let (mut domain, mut row, mut leaf) = (domain, row, leaf);
    for _ in 0..=MAX_DEPTH {
        let Some(behind) = table.behind(domain)? else { break };
        if behind.is_dictionary() {
            behind.expect_only_leaf(leaf)?;
            let key = KeyId(behind.id().0);
            return Ok(LabelIds { key, code: row, value: behind.view.dictionary_value(key, row)? });
        }
        let (number, position) = behind.stored_leaf_place(leaf)?;
        let column = behind.stored_column(number)?;
        row = behind.stored_code(row, &column)?;
        (domain, leaf) = (column.domain, position);
    }
    Err(corrupt_at(Rule::TableDepth, Place::Table(table.id().0.into())))
}

/// Iterator over the labels of a series as ids, in the order of their names. After an error it ends.
#[derive(Clone, Debug)]
pub struct LabelIdsIter<'data, 'view> {
    series: Series<'data, 'view>,
    next: u32,
    codes: LabelCodes,
}

impl LabelIdsIter<'_, '_> {
    /// Ends the iterator.
    pub(super) fn stop(&mut self) {
        self.next = self.series.leaf_count;
    }

    #[inline(always)]
    fn try_next(&mut self) -> Option<LabelIds> {
        let view = self.series.table.view;
        let (key, code) = self.codes.next(view)?;
        let key = KeyId(key);
        Some(LabelIds { key, code, value: view.try_dictionary_value(key, code)? })
    }

    /// Reads the next label by its place, which works for any tables.
    #[cold]
    #[inline(never)]
    fn next_by_place(&mut self) -> Result<LabelIds> {
        self.codes.skip(&self.series, self.next);
        self.series.stored_ids(self.next)
    }
}

impl Iterator for LabelIdsIter<'_, '_> {
    type Item = Result<LabelIds>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.series.leaf_count {
            return None;
        }
        if let Some(ids) = self.try_next() {
            self.next += 1;
            return Some(Ok(ids));
        }
        let ids = self.next_by_place();
        match ids {
            Ok(_) => self.next += 1,
            Err(_) => self.stop(),
        }
        Some(ids)
    }
}

impl FusedIterator for LabelIdsIter<'_, '_> {}

/// Iterator over the series of a keyset, in the order of their refs. After an error it ends.
#[derive(Clone, Debug)]
pub struct KeysetSeries<'data, 'view> {
    keyset: Keyset<'data, 'view>,
    leaf_count: u32,
    /// Number of series already returned.
    seen: u32,
    row: u32,
    in_list: u32,
    list_len: u32,
}

impl<'data, 'view> KeysetSeries<'data, 'view> {
    pub(crate) fn new(keyset: &Keyset<'data, 'view>) -> Result<Self> {
        let leaf_count = keyset.table().leaf_count()?;
        Ok(Self { keyset: *keyset, leaf_count, seen: 0, row: 0, in_list: 0, list_len: 0 })
    }

    #[inline]
    fn advance(&mut self) -> Result<Series<'data, 'view>> {
        if self.in_list == 0 {
            self.list_len = self.keyset.stored_list(self.row)?.map_or(1, |list| list.len());
        }
        let series_ref = SeriesRef(self.keyset.first().0.saturating_add(self.seen));
        let series = Series::open(&self.keyset, series_ref, self.row, self.in_list, self.leaf_count)?;
        self.seen += 1;
        self.in_list += 1;
        if self.in_list == self.list_len {
            self.in_list = 0;
            self.row += 1;
        }
        Ok(series)
    }
}

impl<'data, 'view> Iterator for KeysetSeries<'data, 'view> {
    type Item = Result<Series<'data, 'view>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.seen >= self.keyset.series_count() {
            return None;
        }
        let series = self.advance();
        if series.is_err() {
            self.seen = self.keyset.series_count();
        }
        Some(series)
    }
}

impl FusedIterator for KeysetSeries<'_, '_> {}

/// Iterator over all series of a block, in the order of their refs. After an error it ends.
#[derive(Clone, Debug)]
pub struct SeriesIter<'data, 'view> {
    view: &'view BlockView<'data>,
    next_keyset: u32,
    current: Option<KeysetSeries<'data, 'view>>,
}

impl<'data, 'view> SeriesIter<'data, 'view> {
    pub(crate) const fn new(view: &'view BlockView<'data>) -> Self {
        Self { view, next_keyset: 0, current: None }
    }

    fn stop(&mut self) {
        self.current = None;
        self.next_keyset = self.view.keyset_count();
    }
}

impl<'data, 'view> Iterator for SeriesIter<'data, 'view> {
    type Item = Result<Series<'data, 'view>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(series) = self.current.as_mut().and_then(Iterator::next) {
                if series.is_err() {
                    self.stop();
                }
                return Some(series);
            }
            if self.next_keyset >= self.view.keyset_count() {
                return None;
            }
            match Keyset::open(self.view, self.next_keyset).and_then(|keyset| keyset.series()) {
                Ok(series) => self.current = Some(series),
                Err(error) => {
                    self.stop();
                    return Some(Err(error));
                }
            }
            self.next_keyset += 1;
        }
    }
}

impl FusedIterator for SeriesIter<'_, '_> {}

/// Compares the keys of a keyset's table with a sorted list of keys. A list is greater than its own prefixes.
pub(crate) fn compare_keys(table: &Table<'_, '_>, keys: impl Iterator<Item = KeyId>) -> Result<Ordering> {
    let mut wanted = keys;
    for key in table.keys()? {
        match wanted.next() {
            None => return Ok(Ordering::Greater),
            Some(want) => match key?.cmp(&want) {
                Ordering::Equal => {}
                unequal => return Ok(unequal),
            },
        }
    }
    Ok(if wanted.next().is_some() { Ordering::Less } else { Ordering::Equal })
}
