//! [`Tally`]: the number of selected series of each label.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use chronoxide_format::view::{BlockView, Domain, Keyset, Table};
use chronoxide_format::{KeyId, SeriesRef, TableId};
use hashbrown::HashMap;

use crate::conditions::selected::SelectedRows;
use crate::results::project::for_each_keyset;
use crate::rows::lists::Lists;
use crate::rows::scan::each_code;
use crate::{CodeCounts, ColumnReader, Matcher, Ranges, Searcher, SelectError, Selection};

/// The number of selected series of each keyset, key and value.
///
/// Counts pass from the rows of keysets down to dictionaries, table by table. A row of a shared table is passed on
/// once, however many series it stands for.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    keysets: Vec<(u32, u64)>,
    /// Series of each value, by key and code. Keys without selected series have no entry.
    keys: BTreeMap<u32, Vec<u64>>,
}

impl Tally {
    /// Returns the number of selected series.
    #[must_use]
    pub fn series_count(&self) -> u64 {
        self.keysets.iter().map(|(_, count)| count).sum()
    }

    /// Returns the numbers of the keysets that have selected series, in order, each with its number of selected series.
    #[must_use]
    pub fn keysets(&self) -> &[(u32, u64)] {
        &self.keysets
    }

    /// Returns the keys that selected series have, in the order of their names.
    pub fn keys(&self) -> impl Iterator<Item = KeyId> + use<'_> {
        self.keys.keys().map(|&key| KeyId(key))
    }

    /// Returns the codes of the values of a key that selected series have, in order, and the number of series of each.
    pub fn values(&self, key: KeyId) -> impl Iterator<Item = (u32, u64)> + use<'_> {
        let counts = self.keys.get(&key.0).map(Vec::as_slice).unwrap_or_default();
        (0..).zip(counts).map(|(code, &count)| (code, count)).filter(|(_, count)| *count > 0)
    }
}

/// Counts of selections, series by series.
#[derive(Default)]
struct SeriesCounts {
    keysets: Vec<(u32, u64)>,
    keys: BTreeMap<u32, CodeCounts>,
    reader: ColumnReader,
}

impl SeriesCounts {
    /// Adds a selection whose series come after those before.
    fn add(&mut self, searcher: &Searcher<'_, '_>, selection: &Selection) -> Result<(), SelectError> {
        for_each_keyset(searcher, selection, |keyset, places| {
            match self.keysets.last_mut().filter(|(number, _)| *number == keyset.id()) {
                Some((_, count)) => *count += u64::from(places.count()),
                None => self.keysets.push((keyset.id(), places.count().into())),
            }
            let keys = keyset.keys()?.collect::<Result<Vec<_>, _>>()?;
            let counts = keys.iter().map(|key| match self.keys.remove(&key.0) {
                Some(counts) => Ok(counts),
                None => Ok(CodeCounts::new(searcher.view.cardinality(*key)?.unwrap_or(0))),
            });
            let mut counts = counts.collect::<Result<Vec<_>, SelectError>>()?;
            let first = keyset.first().0;
            for places in places.as_slice() {
                let series = SeriesRef(first.saturating_add(places.start))..SeriesRef(first.saturating_add(places.end));
                self.reader.count(searcher, series, &keys, &mut counts)?;
            }
            self.keys.extend(keys.iter().map(|key| key.0).zip(counts));
            Ok(())
        })
    }

    fn into_tally(self) -> Tally {
        let keys = self.keys.into_iter().map(|(key, counts)| (key, counts.into_counts())).collect();
        Tally { keysets: self.keysets, keys }
    }
}

impl<'data> Searcher<'_, 'data> {
    /// Counts the selected series of each keyset, key and value.
    ///
    /// Costs a few nanoseconds per selected row and column, and per row of each table that these refer to. Takes 8
    /// bytes of memory per row of these tables.
    ///
    /// # Errors
    /// As [`Searcher::select`]; the number of series is not limited.
    pub fn tally(&self, matchers: &[Matcher]) -> Result<Tally, SelectError> {
        if self.times()?.is_some() {
            return self.tally_series(matchers);
        }
        let mut tally = Tally::default();
        let mut counts = Counts::new(self);
        self.for_each_part(matchers, |part| {
            let count = counts.add_part(&part)?;
            if count > 0 {
                tally.keysets.push((part.keyset.id(), count));
            }
            Ok(())
        })?;
        tally.keys = counts.into_rows()?;
        tally.keys.retain(|&table, _| self.index.is_dictionary(table));
        Ok(tally)
    }

    /// Counts the series of a selection by keyset, key and value, series by series.
    ///
    /// Costs about a nanosecond per series and key, and some 100 ns per keyset and key. Takes 8 bytes of memory per
    /// value of the keys that these series have.
    ///
    /// # Errors
    /// As [`Searcher::tally`].
    pub fn tally_selection(&self, selection: &Selection) -> Result<Tally, SelectError> {
        let mut counts = SeriesCounts::default();
        counts.add(self, selection)?;
        Ok(counts.into_tally())
    }

    /// Counts as [`Searcher::tally`], series by series.
    fn tally_series(&self, matchers: &[Matcher]) -> Result<Tally, SelectError> {
        let mut counts = SeriesCounts::default();
        self.for_each_page(matchers, |page| counts.add(self, &page))?;
        Ok(counts.into_tally())
    }

    /// Returns the number of series that have each key, in the order of keys. Costs some 100 ns per keyset, and a few
    /// nanoseconds per key of each.
    ///
    /// # Errors
    /// [`SelectError::Block`] if the block is damaged in a byte that was read.
    pub fn series_per_key(&self) -> Result<Vec<u64>, SelectError> {
        let mut counts = vec![0; self.view.key_count() as usize];
        for (keyset, keys) in self.view.keysets().zip(self.index.keys_of_keysets()) {
            let series_count = u64::from(keyset?.series_count());
            for key in keys {
                if let Some(count) = counts.get_mut(key.0 as usize) {
                    *count += series_count;
                }
            }
        }
        Ok(counts)
    }

    /// Returns the names of the labels that selected series have, in order. Costs as much as [`Searcher::count`].
    ///
    /// # Errors
    /// As [`Searcher::select`]; the number of series is not limited.
    pub fn label_names(&self, matchers: &[Matcher]) -> Result<Vec<&'data [u8]>, SelectError> {
        if self.times()?.is_none() && matchers.is_empty() {
            // Each label is one of a series.
            return Ok(self.view.label_names().collect::<Result<_, _>>()?);
        }
        let mut keys = vec![false; self.view.key_count() as usize];
        let mut add = |keyset: &Keyset<'_, '_>| {
            for key in keyset.keys()? {
                if let Some(seen) = keys.get_mut(key?.0 as usize) {
                    *seen = true;
                }
            }
            Ok(())
        };
        if self.times()?.is_some() {
            self.for_each_page(matchers, |page| for_each_keyset(self, &page, |keyset, _| add(keyset)))?;
        } else {
            self.for_each_part(
                matchers,
                |part| if part.count(&self.limits)? > 0 { add(&part.keyset) } else { Ok(()) },
            )?;
        }
        let seen = (0..).zip(keys).filter(|(_, seen)| *seen);
        seen.map(|(key, _)| Ok(self.view.key_name(KeyId(key))?)).collect()
    }
}

/// Series of each row of tables, on their way down.
pub(crate) struct Counts<'s, 'a, 'data> {
    searcher: &'s Searcher<'a, 'data>,
    tables: BTreeMap<u32, Vec<u64>>,
}

impl<'s, 'a, 'data> Counts<'s, 'a, 'data> {
    pub(crate) fn new(searcher: &'s Searcher<'a, 'data>) -> Self {
        Self { searcher, tables: BTreeMap::new() }
    }

    /// Adds the series of a keyset; returns their number.
    pub(crate) fn add_part(&mut self, part: &SelectedRows<'data, 'a>) -> Result<u64, SelectError> {
        let (table, limits) = (part.keyset.table(), self.searcher.limits);
        let lists = Lists::open(&part.keyset);
        let columns = table.columns().collect::<Result<Vec<_>, _>>()?;
        // Series of each selected row; a row of a keyset without lists is one.
        let mut series = Vec::new();
        // Series and rows of each list.
        let mut known: HashMap<u32, (u64, u64)> = HashMap::new();
        let mut total = u64::from(part.rows.count());
        if let Some(lists) = &lists {
            each_code(&table, &lists.column, &part.rows, &limits, |list| {
                let (len, rows) = match known.get_mut(&list) {
                    Some(known) => known,
                    None => known.entry(list).or_insert((list_count(lists, list, part)?, 0)),
                };
                *rows += 1;
                series.push(*len);
                Ok(())
            })?;
            total = known.values().map(|(len, rows)| len * rows).sum();
        }
        if total == 0 {
            return Ok(0);
        }
        for (number, column) in columns.iter().enumerate() {
            match (&lists, number + 1 == columns.len()) {
                (Some(lists), true) => self.add_members(lists, part, &known)?,
                _ => {
                    let Domain::Table(domain) = column.domain else { continue };
                    let Some(counts) = rows_of(&mut self.tables, self.searcher.view, domain)? else { continue };
                    let mut series = series.iter();
                    let is_plain = lists.is_none();
                    each_code(&table, column, &part.rows, &limits, |code| {
                        let added = if is_plain { 1 } else { series.next().copied().unwrap_or(0) };
                        add(counts, code, added);
                        Ok(())
                    })?;
                }
            }
        }
        Ok(total)
    }

    /// Adds the members of lists, each as often as rows end in the list.
    fn add_members(
        &mut self,
        lists: &Lists<'data, 'a>,
        part: &SelectedRows<'data, 'a>,
        known: &HashMap<u32, (u64, u64)>,
    ) -> Result<(), SelectError> {
        let Some(counts) = rows_of(&mut self.tables, self.searcher.view, lists.pool.table_id())? else {
            return Ok(());
        };
        let mut members = Vec::new();
        for (&list, &(_, rows)) in known {
            members.clear();
            lists.pool.list(list)?.push_members(&mut members)?;
            for &member in &members {
                if part.members.as_ref().is_none_or(|kept| kept.contains(member)) {
                    add(counts, member, rows);
                }
            }
        }
        Ok(())
    }

    /// Passes all counts down to the dictionaries: a table refers to earlier ones only. Returns the number of series of
    /// each row of each inner table and dictionary that has any.
    pub(crate) fn into_rows(mut self) -> Result<BTreeMap<u32, Vec<u64>>, SelectError> {
        let view = self.searcher.view;
        let mut rows = BTreeMap::new();
        while let Some((number, counts)) = self.tables.pop_last() {
            self.searcher.limits.check()?;
            let table = if self.searcher.index.is_dictionary(number) { None } else { view.table(TableId(number))? };
            for column in table.iter().flat_map(Table::columns) {
                let column = column?;
                let (Some(table), Domain::Table(domain)) = (&table, column.domain) else { continue };
                let Some(below) = rows_of(&mut self.tables, view, domain)? else { continue };
                let mut counts = counts.iter();
                each_code(table, &column, &Ranges::up_to(table.row_count()), &self.searcher.limits, |code| {
                    add(below, code, counts.next().copied().unwrap_or(0));
                    Ok(())
                })?;
            }
            rows.insert(number, counts);
        }
        Ok(rows)
    }
}

/// Returns what is known of each row of a table, at first the default.
pub(crate) fn rows_of<'t, T: Clone + Default>(
    tables: &'t mut BTreeMap<u32, Vec<T>>,
    view: &BlockView<'_>,
    table: TableId,
) -> Result<Option<&'t mut Vec<T>>, SelectError> {
    match tables.entry(table.0) {
        Entry::Occupied(rows) => Ok(Some(rows.into_mut())),
        Entry::Vacant(place) => match view.table(table)? {
            Some(opened) => Ok(Some(place.insert(vec![T::default(); opened.row_count() as usize]))),
            None => Ok(None),
        },
    }
}

/// Returns the number of selected members of a list.
fn list_count(lists: &Lists<'_, '_>, list: u32, part: &SelectedRows<'_, '_>) -> Result<u64, SelectError> {
    Ok(match &part.members {
        Some(members) => members.count(&lists.pool, list)?.into(),
        None => lists.pool.list_len(list)?.into(),
    })
}

#[inline]
fn add(counts: &mut [u64], place: u32, added: u64) {
    if let Some(count) = counts.get_mut(place as usize) {
        *count = count.saturating_add(added);
    }
}
