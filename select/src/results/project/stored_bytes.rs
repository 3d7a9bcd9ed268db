//! [`StoredBytes`]: the bytes of a block, split among the values of one label.

use std::collections::BTreeMap;

use chronoxide_format::layout::SectionKind;
use chronoxide_format::view::{BlockView, Keyset, Pool, Table};
use chronoxide_format::{KeyId, SymbolId};
use hashbrown::HashMap;

use super::weights::{Weigh, Weights};
use crate::results::tally::Counts;
use crate::rows::lists::Lists;
use crate::rows::scan::each_code;
use crate::{Ranges, Searcher, SelectError};

/// The bytes of a block by the value of one label. What series share, such as a string, a row of a table or a list, is
/// split evenly among the series that use it, as is the metadata of a metric among its series. The catalogue, columns
/// and all else is split evenly among all series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredBytes {
    by_code: Vec<f64>,
    absent: f64,
}

impl StoredBytes {
    /// Returns the bytes of the series with each value of the label, by its code: a position in the dictionary of the
    /// key.
    #[must_use]
    pub fn by_code(&self) -> &[f64] {
        &self.by_code
    }

    /// Returns the bytes of the series without the label.
    #[must_use]
    pub fn absent(&self) -> f64 {
        self.absent
    }
}

impl Searcher<'_, '_> {
    /// Splits the bytes of the file among all series, and sums them by the value of a key. The sum of all is the length
    /// of the file, unless it has no series.
    ///
    /// Costs as much as [`Searcher::text_bytes`] and [`Searcher::tally`]. Takes 24 bytes of memory per row of each
    /// table and per string.
    ///
    /// # Errors
    /// As [`Searcher::project`].
    pub fn stored_bytes(&self, by: KeyId) -> Result<StoredBytes, SelectError> {
        let users = Users::count(self)?;
        let (Weights { mut by_code, mut absent }, series) = (self.weights(by, &users)?, users.series_by_code(by));
        let used: f64 = by_code.iter().sum::<f64>() + absent;
        let all = f64::from(self.view.series_count()?);
        let rest = (self.view.bytes().len() as f64 - used) / all.max(1.0);
        let mut without = all;
        for (bytes, &series) in by_code.iter_mut().zip(series) {
            *bytes += rest * series as f64;
            without -= series as f64;
        }
        absent += rest * without;
        Ok(StoredBytes { by_code, absent })
    }
}

/// Numbers of series that use the rows, lists and strings of a block, and the bytes of these.
struct Users {
    /// Users of rows of inner tables and dictionaries, by table.
    rows: BTreeMap<u32, Vec<u64>>,
    /// Bytes of a row, by table.
    row_bytes: Vec<f64>,
    /// Users of lists, by pool.
    lists: BTreeMap<u32, Vec<u64>>,
    /// Bytes of a pool per list and member.
    list_bytes: BTreeMap<u32, f64>,
    /// Users of strings.
    symbols: Vec<u64>,
    /// Bytes of a string that do not depend on its length, and bytes of each byte of its text.
    symbol_bytes: [f64; 2],
    /// Dictionary of the names of metrics, and bytes of the metadata of each.
    metadata: Option<(u32, Vec<f64>)>,
}

/// Splits the bytes of metric metadata among metrics, by the lengths of their texts. Returns them by the code of the
/// metric's name, with the number of its dictionary; nothing if no metric has metadata.
fn metadata_by_name(view: &BlockView<'_>, bytes: f64) -> Result<Option<(u32, Vec<f64>)>, SelectError> {
    let metadata = view.metric_metadata()?;
    let mut lens: HashMap<&[u8], usize> = HashMap::new();
    for metric in metadata.iter() {
        let metric = metric?;
        *lens.entry(metric.name.as_bytes()).or_default() +=
            metric.name.len() + metric.unit.len() + metric.description.len();
    }
    let all = lens.values().sum::<usize>().max(1) as f64;
    let Some(key) = view.key("__name__")? else { return Ok(None) };
    let Some(dictionary) = view.dictionary(key)?.filter(|_| !lens.is_empty()) else { return Ok(None) };
    let column = dictionary.column(0)?;
    let of_name = |code| {
        let name = view.symbol(SymbolId(dictionary.code(code, &column)?))?;
        Ok(bytes * lens.get(name).copied().unwrap_or_default() as f64 / all)
    };
    let by_code = (0..dictionary.row_count()).map(of_name).collect::<Result<_, SelectError>>()?;
    Ok(Some((key.0, by_code)))
}

/// Returns the bytes of a table per row.
fn row_bytes(table: &Table<'_, '_>) -> f64 {
    table.len() as f64 / f64::from(table.row_count().max(1))
}

impl Users {
    fn count(searcher: &Searcher<'_, '_>) -> Result<Self, SelectError> {
        let view = searcher.view;
        let mut counts = Counts::new(searcher);
        searcher.for_each_part(&[], |part| counts.add_part(&part).map(drop))?;
        let rows = counts.into_rows()?;

        let mut lists: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for keyset in view.keysets() {
            let keyset = keyset?;
            let Some(Lists { pool, column, .. }) = Lists::open(&keyset) else { continue };
            let counts = lists.entry(pool.id().0).or_insert_with(|| vec![0; pool.list_count() as usize]);
            let table = keyset.table();
            each_code(&table, &column, &Ranges::up_to(table.row_count()), &searcher.limits, |list| {
                if let Some(count) = counts.get_mut(list as usize) {
                    *count += u64::from(pool.list_len(list)?);
                }
                Ok(())
            })?;
        }
        let mut list_bytes = BTreeMap::new();
        for pool in view.pools() {
            let pool = pool?;
            let items = u64::from(pool.list_count()) + u64::from(pool.member_count());
            list_bytes.insert(pool.id().0, pool.len() as f64 / items.max(1) as f64);
        }

        let mut symbols = vec![0; view.symbols().count() as usize];
        for key in (0..view.key_count()).map(KeyId) {
            let (Some(dictionary), Some(users)) = (view.dictionary(key)?, rows.get(&key.0)) else { continue };
            let column = dictionary.column(0)?;
            for (code, users) in (0..dictionary.row_count()).zip(users) {
                if let Some(symbol) = symbols.get_mut(dictionary.code(code, &column)? as usize) {
                    *symbol += users;
                }
            }
        }
        let bytes_of = |kinds: &[SectionKind]| {
            let sections = view.sections().filter(|section| section.known().is_some_and(|kind| kinds.contains(&kind)));
            sections.map(|section| section.length).sum::<u64>() as f64
        };
        let ends = bytes_of(&[SectionKind::Symbols]) / f64::from(view.symbols().count().max(1));
        let arena = bytes_of(&[SectionKind::Arena, SectionKind::PackedArena]);
        let text = arena / view.symbols().arena().len().max(1) as f64;
        let metadata = bytes_of(&[SectionKind::MetricMetadata, SectionKind::PackedMetricMetadata]);
        let row_bytes = view.tables().map(|table| Ok(row_bytes(&table?))).collect::<Result<_, SelectError>>()?;
        let metadata = metadata_by_name(view, metadata)?;
        Ok(Self { rows, row_bytes, lists, list_bytes, symbols, symbol_bytes: [ends, text], metadata })
    }

    /// Returns the number of series with each value of a key.
    fn series_by_code(&self, by: KeyId) -> &[u64] {
        self.rows.get(&by.0).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Splits bytes among users.
fn share(bytes: f64, users: Option<&u64>) -> f64 {
    bytes / users.copied().unwrap_or(1).max(1) as f64
}

impl Weigh for &Users {
    fn label(&self, _: &[u8], value: SymbolId, text: &[u8]) -> f64 {
        let [each, byte] = self.symbol_bytes;
        share(each + byte * text.len() as f64, self.symbols.get(value.0 as usize))
    }

    fn row(&self, table: u32, row: u32) -> f64 {
        let users = self.rows.get(&table).and_then(|rows| rows.get(row as usize));
        let metadata = self.metadata.as_ref().filter(|(names, _)| *names == table);
        let metadata = metadata.and_then(|(_, bytes)| bytes.get(row as usize)).copied().unwrap_or_default();
        share(self.row_bytes.get(table as usize).copied().unwrap_or_default() + metadata, users)
    }

    fn keyset_row(&self, keyset: &Keyset<'_, '_>) -> f64 {
        row_bytes(&keyset.table())
    }

    fn list(&self, pool: &Pool<'_, '_>, list: u32) -> f64 {
        let id = pool.id().0;
        let bytes = self.list_bytes.get(&id).copied().unwrap_or_default();
        let users = self.lists.get(&id).and_then(|lists| lists.get(list as usize));
        // An error of the length comes when the list is read.
        share(bytes * (1.0 + f64::from(pool.list_len(list).unwrap_or(0))), users)
    }
}
