//! From a series ref to labels (spec, section 9).

use std::cmp::Ordering;

use super::symbol::binary_search;
use super::{BlockView, Domain, Keyset, Table};
use crate::error::{Place, corrupt};
use crate::layout::MAX_DEPTH;
use crate::{KeyId, Result, Rule, SeriesRef, SymbolId};

/// A series of a block: a place from which its labels are read.
#[derive(Clone, Copy, Debug)]
pub struct Series<'v> {
    series: SeriesRef,
    keyset: u32,
    table: Table<'v>,
    row: u32,
    /// The row of the pool's table, for a keyset with lists.
    member: u32,
    leaf_count: u32,
}

/// A label by ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelIds {
    /// The key, whose number is also that of its dictionary.
    pub key: KeyId,
    /// The value's place in the key's dictionary.
    pub code: u32,
    /// The value.
    pub value: SymbolId,
}

/// A label as it stands in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'v> {
    /// The label name.
    pub name: &'v [u8],
    /// The label value.
    pub value: &'v [u8],
}

impl<'v> Series<'v> {
    #[inline]
    pub(crate) fn open(
        keyset: &Keyset<'v>,
        series: SeriesRef,
        row: u32,
        in_list: u32,
        leaf_count: u32,
    ) -> Result<Self> {
        let member = match keyset.list(row)? {
            Some(list) => list.get(in_list)?,
            None => 0,
        };
        Ok(Self { series, keyset: keyset.id(), table: keyset.table(), row, member, leaf_count })
    }

    /// The ref of the series.
    pub const fn series_ref(&self) -> SeriesRef {
        self.series
    }

    /// The number of its keyset.
    pub const fn keyset(&self) -> u32 {
        self.keyset
    }

    /// How many labels it has.
    pub const fn label_count(&self) -> u32 {
        self.leaf_count
    }

    /// Label number `leaf`, in the order of names, by ids: O(depth).
    ///
    /// # Errors
    /// Damage to what was touched, or a label that the series does not have.
    #[inline]
    pub fn ids(&self, leaf: u32) -> Result<LabelIds> {
        let (mut table, mut row, mut leaf) = (self.table, self.row, leaf);
        // Each level of depth is one table of several columns and at most one map before it.
        for _ in 0..=2 * MAX_DEPTH + 2 {
            if table.is_dictionary() {
                table.expect_only_leaf(leaf)?;
                let value = table.code_at(row, 0)?;
                return Ok(LabelIds { key: KeyId(table.id().0), code: row, value: SymbolId(value) });
            }
            let (column, position) = table.leaf_place(leaf)?;
            let column = table.column(column)?;
            row = match column.domain {
                Domain::Pool(_) => self.member,
                _ => table.code(row, &column)?,
            };
            match table.behind(column.domain)? {
                Some(behind) => (table, leaf) = (behind, position),
                None => break,
            }
        }
        Err(corrupt(Rule::TableDepth, Place::Table(self.table.id().0.into()), MAX_DEPTH.into(), MAX_DEPTH.into()))
    }

    /// The labels in the order of their names, as ids.
    pub fn label_ids(&self) -> impl Iterator<Item = Result<LabelIds>> + use<'v> {
        let series = *self;
        let mut stopped = false;
        (0..self.leaf_count).map_while(move |leaf| {
            if stopped {
                return None;
            }
            let ids = series.ids(leaf);
            stopped = ids.is_err();
            Some(ids)
        })
    }

    /// The labels in the order of their names, as bytes of the arena. Nothing is allocated.
    pub fn labels(&self) -> Labels<'v> {
        Labels { series: *self, next: 0 }
    }

    /// The value of the label `name`, if the series has it: a binary search over its keys.
    ///
    /// # Errors
    /// Damage to what was touched.
    pub fn get(&self, name: &[u8]) -> Result<Option<&'v [u8]>> {
        let view = self.table.view;
        match view.key(name)? {
            Some(key) => self.get_key(key)?.map(|ids| view.symbol_of(ids.value)).transpose(),
            None => Ok(None),
        }
    }

    /// The label of `key`, if the series has it.
    ///
    /// # Errors
    /// Damage to what was touched.
    pub fn get_key(&self, key: KeyId) -> Result<Option<LabelIds>> {
        let found = binary_search(self.leaf_count, |leaf| Ok(self.table.leaf_key(leaf)?.cmp(&key)))?;
        found.ok().map(|leaf| self.ids(leaf)).transpose()
    }

    fn label(&self, leaf: u32) -> Result<Label<'v>> {
        let view = self.table.view;
        let ids = self.ids(leaf)?;
        Ok(Label { name: view.key_name(ids.key)?, value: view.symbol_of(ids.value)? })
    }
}

/// The labels of a series, in the order of their names. After damage it returns the error once and then nothing.
#[derive(Clone, Debug)]
pub struct Labels<'v> {
    series: Series<'v>,
    next: u32,
}

impl<'v> Iterator for Labels<'v> {
    type Item = Result<Label<'v>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.series.leaf_count {
            return None;
        }
        let label = self.series.label(self.next);
        self.next = if label.is_ok() { self.next + 1 } else { self.series.leaf_count };
        Some(label)
    }
}

/// The series of a keyset in the order of their refs. After damage it returns the error once and then nothing.
#[derive(Clone, Debug)]
pub struct KeysetSeries<'v> {
    keyset: Keyset<'v>,
    leaf_count: u32,
    /// Series already seen.
    seen: u32,
    row: u32,
    in_list: u32,
    list_len: u32,
}

impl<'v> KeysetSeries<'v> {
    pub(crate) fn new(keyset: &Keyset<'v>) -> Result<Self> {
        let leaf_count = keyset.table().leaf_count()?;
        Ok(Self { keyset: *keyset, leaf_count, seen: 0, row: 0, in_list: 0, list_len: 0 })
    }

    #[inline]
    fn advance(&mut self) -> Result<Series<'v>> {
        if self.in_list == 0 {
            self.list_len = self.keyset.list(self.row)?.map_or(1, |list| list.len());
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

impl<'v> Iterator for KeysetSeries<'v> {
    type Item = Result<Series<'v>>;

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

/// All series of a block in the order of their refs. After damage it returns the error once and then nothing.
#[derive(Clone, Debug)]
pub struct AllSeries<'v> {
    view: &'v BlockView<'v>,
    next_keyset: u32,
    current: Option<KeysetSeries<'v>>,
}

impl<'v> AllSeries<'v> {
    pub(crate) const fn new(view: &'v BlockView<'v>) -> Self {
        Self { view, next_keyset: 0, current: None }
    }

    fn stop(&mut self) {
        self.current = None;
        self.next_keyset = self.view.keyset_count();
    }
}

impl<'v> Iterator for AllSeries<'v> {
    type Item = Result<Series<'v>>;

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
            match self.view.keyset(self.next_keyset).and_then(|keyset| keyset.series()) {
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

/// Compares the keys of a keyset with a sorted list of keys, a list coming after its own beginnings.
pub(crate) fn compare_keys(keyset: &Keyset<'_>, keys: impl Iterator<Item = KeyId>) -> Result<Ordering> {
    let mut wanted = keys;
    for key in keyset.keys()? {
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
