//! [`Index`]: the column that holds each label key in each table.

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use chronoxide_format::error::{Corruption, Place};
use chronoxide_format::layout::{MAX_DEPTH, MAX_LABELS};
use chronoxide_format::view::{BlockView, Column, Domain};
use chronoxide_format::{Error, KeyId, Rule, SeriesRef, TableId};
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::SelectError;
use crate::rows::postings::PostingsOfKeys;

/// Labels that keysets may have, beside [`LABELS_PER_BYTE`] per byte of the block. A keyset with a thousand labels can
/// take a few bytes: without a limit, a forged block could make the index take much memory.
const MAX_LABELS_OF_SMALL_BLOCK: u64 = 1 << 20;
const LABELS_PER_BYTE: u64 = 16;

/// Maximum rows of a map whose codes are in the index. Most maps are this short, and one search of a map in the block
/// costs as much as twenty searches here.
const MAX_SHORT_MAP: u32 = 256;

/// The column that holds each label key, in each table of a block.
///
/// A block stores keys per keyset. A query asks the other way round: which keysets have this key? The index is made
/// from the catalogue, the names of keys and the rows of short maps. It takes 8 bytes per key of each keyset and inner
/// table, some 35 per keyset, and at first nothing per series. It borrows nothing, so that it can be kept beside the
/// block. An index of another block gives wrong results or errors.
///
/// When some queries asked for single values of a key, the series of each of its values are listed, which takes 10 to
/// 30 ns per series once, and 0.05 to 1.2 bytes per series. The lists of all keys take at most as many bytes as the
/// block. Threads, and clones of the index, share them.
#[derive(Clone, Debug)]
pub struct Index {
    /// First use of each key, and the end of all uses.
    starts: Vec<u32>,
    /// Uses of all keys, in the order of keys and then of tables.
    uses: Vec<Use>,
    /// Columns of inner tables and keyset tables, in the order of tables.
    columns: Vec<IndexedColumn>,
    /// Codes of short maps, one map after the other.
    map_codes: Vec<u32>,
    /// End of each inner table's codes in `map_codes`; nothing is added for tables that are not short maps.
    map_ends: Vec<u32>,
    /// First user of each table that is not a keyset table, and the end of all users.
    user_starts: Vec<u32>,
    /// Columns of keyset tables by the table that they lead to, and then in the order of keysets.
    users: Vec<KeysetColumn>,
    /// Keysets in the order of the hashes of their keys.
    keysets: Vec<KeysetKeys>,
    /// End of the series of each keyset.
    series_ends: Vec<u32>,
    /// Keys by name.
    names: HashTable<KeyId>,
    hasher: DefaultHashBuilder,
    postings: Arc<PostingsOfKeys>,
    /// Number of the first table that is not a dictionary.
    key_count: u32,
    /// Number of the first keyset table.
    first_keyset: u32,
}

/// A column that leads to the dictionary of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Use {
    table: u32,
    /// Position in [`Index::columns`].
    column: u32,
}

/// A column of a table, without the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexedColumn {
    /// Number in its table.
    pub number: u32,
    /// Table whose rows are the meaning of the codes; for a column of lists, of the members.
    pub domain: u32,
    /// Smallest and largest code that the field can hold. All codes for a column of lists.
    pub codes: (u32, u32),
}

/// A column of a keyset's table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct KeysetColumn {
    keyset: u32,
    /// Position in [`Index::columns`].
    column: u32,
}

/// The keys of a keyset, as a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeysetKeys {
    hash: u32,
    label_count: u32,
    pub keyset: u32,
}

/// The keys of tables: of all inner tables, one after the other.
struct InnerKeys {
    keys: Vec<u32>,
    /// End of each inner table's keys.
    ends: Vec<usize>,
    /// Steps from each inner table to the farthest dictionary.
    depths: Vec<u32>,
    key_count: u32,
}

impl InnerKeys {
    /// Returns the keys of a table, and its depth.
    fn get<'a>(&'a self, table: u32, own: &'a mut [u32; 1]) -> Option<(&'a [u32], u32)> {
        let Some(inner) = table.checked_sub(self.key_count) else {
            *own = [table];
            return Some((own, 0));
        };
        let inner = inner as usize;
        let start = inner.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some((self.keys.get(start..*self.ends.get(inner)?)?, self.depths[inner]))
    }
}

impl IndexedColumn {
    /// Returns column `number` of a table; `None` if it has symbols.
    fn new(view: &BlockView<'_>, number: u32, column: &Column) -> Result<Option<Self>, Error> {
        Ok(match column.domain {
            Domain::Arena => None,
            Domain::Table(domain) => {
                let largest = u64::from(column.base) + (1_u64 << column.width) - 1;
                let codes = (column.base, u32::try_from(largest).unwrap_or(u32::MAX));
                Some(Self { number, domain: domain.0, codes })
            }
            Domain::Pool(pool) => {
                view.pool(pool)?.map(|pool| Self { number, domain: pool.table_id().0, codes: (0, u32::MAX) })
            }
        })
    }
}

impl Index {
    /// Reads the catalogue of a block, and the rows of short maps. A million series in 3,578 keysets take some 2 ms.
    ///
    /// # Errors
    /// [`SelectError::Block`] if the block is damaged in a byte that was read; [`SelectError::TooManyLabels`] if it
    /// claims many more labels than the block has bytes.
    pub fn new(view: &BlockView<'_>) -> Result<Self, SelectError> {
        let key_count = view.key_count();
        let first_keyset = view.table_count() - view.keyset_count();
        let limit = MAX_LABELS_OF_SMALL_BLOCK + LABELS_PER_BYTE * view.bytes().len() as u64;
        let mut inner = InnerKeys { keys: Vec::new(), ends: Vec::new(), depths: Vec::new(), key_count };
        let mut uses: Vec<(u32, Use)> = Vec::new();
        let mut columns = Vec::new();
        let mut users: Vec<(u32, KeysetColumn)> = Vec::new();
        let mut keysets = Vec::with_capacity(view.keyset_count() as usize);
        let (mut map_codes, mut map_ends) = (Vec::new(), Vec::new());
        // Queries take memory per row and per list. Both take bits of their own, but for a table of one row; those of a
        // forged block may overlap.
        let bits = 8 * view.bytes().len() as u64;
        check_list_count(view, bits)?;
        let max_rows = bits + u64::from(view.table_count());
        let mut rows = 0;
        for table in view.tables() {
            let table = table?;
            let number = table.id().0;
            rows += u64::from(table.row_count());
            if rows > max_rows {
                return Err(damaged(Rule::TableExtent, Place::Table(number.into())).into());
            }
            if number < key_count {
                continue;
            }
            let (first_use, mut depth) = (uses.len(), 0);
            for (column, column_number) in table.columns().zip(0..) {
                let column = column?;
                let Some(indexed) = IndexedColumn::new(view, column_number, &column)? else { continue };
                let domain = indexed.domain;
                let place = columns.len() as u32;
                columns.push(indexed);
                if let Some(keyset) = number.checked_sub(first_keyset) {
                    users.push((domain, KeysetColumn { keyset, column: place }));
                }
                let mut own = [0];
                let (keys, domain_depth) = inner
                    .get(domain, &mut own)
                    .ok_or_else(|| damaged(Rule::ColumnDomain, Place::Table(number.into())))?;
                uses.extend(keys.iter().map(|&key| (key, Use { table: number, column: place })));
                depth = depth.max(domain_depth + 1);
            }
            let labels = uses.len() - first_use;
            if labels > MAX_LABELS as usize {
                return Err(damaged(Rule::LeavesOrder, Place::Table(number.into())).into());
            }
            if depth > MAX_DEPTH {
                return Err(damaged(Rule::TableDepth, Place::Table(number.into())).into());
            }
            if uses.len() as u64 > limit {
                return Err(SelectError::TooManyLabels { labels: uses.len() as u64, limit });
            }
            if let Some(keyset) = number.checked_sub(first_keyset) {
                let hash = hash_of_keys(uses[first_use..].iter().map(|(key, _)| KeyId(*key)));
                keysets.push(KeysetKeys { hash, label_count: labels as u32, keyset });
            } else {
                if table.is_map() && table.row_count() <= MAX_SHORT_MAP {
                    table.push_codes(0..table.row_count(), &mut map_codes)?;
                }
                map_ends.push(map_codes.len() as u32);
                inner.keys.extend(uses[first_use..].iter().map(|(key, _)| key));
                inner.ends.push(inner.keys.len());
                inner.depths.push(depth);
            }
        }
        let (starts, uses) = grouped(key_count, &uses);
        let (user_starts, users) = grouped(first_keyset, &users);
        keysets.sort_unstable();
        let series_ends = series_ends(view)?;
        let hasher = DefaultHashBuilder::default();
        let names = key_names(view, &hasher)?;
        Ok(Self {
            starts,
            uses,
            columns,
            map_codes,
            map_ends,
            user_starts,
            users,
            keysets,
            series_ends,
            names,
            hasher,
            postings: Arc::new(PostingsOfKeys::new(key_count, view.bytes().len())),
            key_count,
            first_keyset,
        })
    }

    /// Returns the key with a name, or `None` if the block does not have it.
    pub(crate) fn key(&self, view: &BlockView<'_>, name: &[u8]) -> Result<Option<KeyId>, Error> {
        let mut damage = None;
        let found = self.names.find(self.hasher.hash_one(name), |&key| match view.key_name(key) {
            Ok(stored) => stored == name,
            Err(error) => {
                damage = Some(error);
                true
            }
        });
        damage.map_or(Ok(found.copied()), Err)
    }

    /// Returns the keysets with exactly these distinct keys and, seldom, others with as many keys.
    pub(crate) fn keysets_with_keys(&self, keys: impl ExactSizeIterator<Item = KeyId>) -> &[KeysetKeys] {
        let label_count = keys.len() as u32;
        let wanted = (hash_of_keys(keys), label_count);
        let rank = |one: &KeysetKeys| (one.hash, one.label_count);
        let first = self.keysets.partition_point(|one| rank(one) < wanted);
        let rest = self.keysets.get(first..).unwrap_or_default();
        let count = rest.iter().take_while(|one| rank(one) == wanted).count();
        rest.get(..count).unwrap_or_default()
    }

    /// Returns the codes of a map with few rows, in order; `None` for any other table.
    pub(crate) fn short_map(&self, table: u32) -> Option<&[u32]> {
        let inner = self.inner_number(table)?;
        let end = *self.map_ends.get(inner)?;
        let start = inner.checked_sub(1).map_or(0, |before| self.map_ends[before]);
        (start < end).then(|| &self.map_codes[start as usize..end as usize])
    }

    /// Returns the postings of keys.
    pub(crate) fn postings(&self) -> &PostingsOfKeys {
        &self.postings
    }

    /// Returns the uses of a key, in the order of tables.
    fn uses(&self, key: KeyId) -> &[Use] {
        match self.starts.get(key.0 as usize..) {
            Some([start, end, ..]) => &self.uses[*start as usize..*end as usize],
            _ => &[],
        }
    }

    /// Returns the uses of a key in inner tables, and in keyset tables.
    fn split_uses(&self, key: KeyId) -> (&[Use], &[Use]) {
        let uses = self.uses(key);
        uses.split_at(uses.partition_point(|one| one.table < self.first_keyset))
    }

    /// Returns the inner tables that have a key, in order, each with the column that leads to the key.
    pub(crate) fn inner_tables_with(
        &self,
        key: KeyId,
    ) -> impl ExactSizeIterator<Item = (u32, &IndexedColumn)> + use<'_> {
        self.split_uses(key).0.iter().map(|one| (one.table, &self.columns[one.column as usize]))
    }

    /// Returns the number of inner tables: neither dictionaries nor tables of keysets.
    pub(crate) fn inner_table_count(&self) -> usize {
        self.map_ends.len()
    }

    /// Returns the number of a table among the inner tables; `None` for a dictionary.
    #[inline]
    pub(crate) fn inner_number(&self, table: u32) -> Option<usize> {
        table.checked_sub(self.key_count).map(|inner| inner as usize)
    }

    /// Returns the keysets whose table has a column that leads to a table, in order, each with that column.
    pub(crate) fn users(&self, table: u32) -> impl Iterator<Item = (u32, &IndexedColumn)> + use<'_> {
        let users = match self.user_starts.get(table as usize..) {
            Some([start, end, ..]) => &self.users[*start as usize..*end as usize],
            _ => &[],
        };
        users.iter().map(|user| (user.keyset, &self.columns[user.column as usize]))
    }

    /// Returns the keysets that have a key, in order, each with the column of its table that leads to the key.
    pub(crate) fn keysets_with(&self, key: KeyId) -> impl ExactSizeIterator<Item = (u32, &IndexedColumn)> + use<'_> {
        let keysets = self.split_uses(key).1.iter();
        keysets.map(|one| (one.table - self.first_keyset, &self.columns[one.column as usize]))
    }

    /// Returns the number of keysets that have a key.
    pub(crate) fn keyset_count_with(&self, key: KeyId) -> usize {
        self.split_uses(key).1.len()
    }

    /// Returns the number of keys, summed over all keysets: the size of a walk over the keys of each.
    #[must_use]
    pub fn keyset_key_count(&self) -> u64 {
        (0..self.key_count).map(|key| self.keyset_count_with(KeyId(key)) as u64).sum()
    }

    /// Returns the keys of each keyset, in order.
    pub(crate) fn keys_of_keysets(&self) -> Vec<Vec<KeyId>> {
        let mut keysets = vec![Vec::new(); self.keysets.len()];
        for key in (0..self.key_count).map(KeyId) {
            for (keyset, _) in self.keysets_with(key) {
                if let Some(keys) = keysets.get_mut(keyset as usize) {
                    keys.push(key);
                }
            }
        }
        keysets
    }

    /// Returns the keys of a keyset, in order. Costs a search per key of the block.
    pub(crate) fn keys_of_keyset(&self, keyset: u32) -> Vec<KeyId> {
        (0..self.key_count).map(KeyId).filter(|&key| self.keyset_column(keyset, key).is_some()).collect()
    }

    /// Returns the column of a table that leads to a key, or `None` if the table does not have the key. Costs a binary
    /// search.
    pub(crate) fn column(&self, table: u32, key: KeyId) -> Option<&IndexedColumn> {
        let uses = self.uses(key);
        let place = uses.binary_search_by_key(&table, |one| one.table).ok()?;
        Some(&self.columns[uses[place].column as usize])
    }

    /// Returns the column of a keyset's table that leads to a key.
    pub(crate) fn keyset_column(&self, keyset: u32, key: KeyId) -> Option<&IndexedColumn> {
        let (_, uses) = self.split_uses(key);
        let table = self.keyset_table(keyset).0;
        // Nearly all keysets have the name of the metric: then use n is that of keyset n.
        let place = match uses.get(keyset as usize) {
            Some(one) if one.table == table => keyset as usize,
            _ => uses.binary_search_by_key(&table, |one| one.table).ok()?,
        };
        Some(&self.columns[uses[place].column as usize])
    }

    /// Like [`Index::keyset_column`], for keysets in ascending order. `place` is where the last search for this key
    /// ended, 0 before the first. Nearly always it is next to where this one ends.
    pub(crate) fn next_keyset_column(&self, keyset: u32, key: KeyId, place: &mut usize) -> Option<&IndexedColumn> {
        let (_, uses) = self.split_uses(key);
        let table = self.keyset_table(keyset).0;
        let is_before = |place: usize| uses.get(place).is_some_and(|one| one.table < table);
        let is_first = |place: usize| !is_before(place) && place.checked_sub(1).is_none_or(is_before);
        *place = match [*place, *place + 1].into_iter().find(|&place| is_first(place)) {
            Some(place) => place,
            None => uses.partition_point(|one| one.table < table),
        };
        let one = uses.get(*place).filter(|one| one.table == table)?;
        Some(&self.columns[one.column as usize])
    }

    /// Returns the series of a keyset; none if it is out of range.
    pub(crate) fn series_of(&self, keyset: u32) -> Range<u32> {
        let keyset = keyset as usize;
        let end = self.series_ends.get(keyset).copied().unwrap_or_default();
        keyset.checked_sub(1).and_then(|before| self.series_ends.get(before)).copied().unwrap_or_default().min(end)..end
    }

    /// Returns the number of series.
    pub(crate) fn series_count(&self) -> u32 {
        self.series_ends.last().copied().unwrap_or_default()
    }

    /// Returns the first keyset with a series from `series` on.
    pub(crate) fn keyset_from(&self, series: SeriesRef) -> u32 {
        self.series_ends.partition_point(|&end| end <= series.0) as u32
    }

    /// Returns the table of a keyset.
    pub(crate) fn keyset_table(&self, keyset: u32) -> TableId {
        TableId(self.first_keyset.saturating_add(keyset))
    }

    /// Returns true if a table is the dictionary of a key.
    pub(crate) fn is_dictionary(&self, table: u32) -> bool {
        table < self.key_count
    }

    /// Returns the bytes of memory that the index takes, with the lists that queries led to.
    #[must_use]
    pub fn allocated(&self) -> usize {
        self.starts.capacity() * size_of::<u32>()
            + self.uses.capacity() * size_of::<Use>()
            + self.columns.capacity() * size_of::<IndexedColumn>()
            + self.users.capacity() * size_of::<KeysetColumn>()
            + self.keysets.capacity() * size_of::<KeysetKeys>()
            + self.names.allocation_size()
            + (self.map_codes.capacity() + self.map_ends.capacity() + self.user_starts.capacity()) * size_of::<u32>()
            + self.series_ends.capacity() * size_of::<u32>()
            + self.postings.allocated()
    }
}

/// Refuses a block with more than `most` lists.
fn check_list_count(view: &BlockView<'_>, most: u64) -> Result<(), Error> {
    let mut lists = 0;
    for pool in view.pools() {
        let pool = pool?;
        lists += u64::from(pool.list_count());
        if lists > most {
            return Err(damaged(Rule::MembersExtent, Place::Pool(pool.id().0.into())));
        }
    }
    Ok(())
}

/// Returns the keys of a block by their names.
fn key_names(view: &BlockView<'_>, hasher: &DefaultHashBuilder) -> Result<HashTable<KeyId>, Error> {
    let mut names = HashTable::with_capacity(view.key_count() as usize);
    let mut name_bytes = 0;
    for (name, key) in view.label_names().zip(0..) {
        let name = name?;
        // Names differ. Keys of a forged block may share a long one, and hashing takes time per byte.
        name_bytes += name.len();
        if name_bytes > view.bytes().len() {
            return Err(damaged(Rule::KeysOrder, Place::Key(key.into())));
        }
        // Rehashing does not happen: there is room for all keys.
        names.insert_unique(hasher.hash_one(name), KeyId(key), |_| 0);
    }
    Ok(names)
}

/// Returns the end of the series of each keyset.
fn series_ends(view: &BlockView<'_>) -> Result<Vec<u32>, Error> {
    let mut ends: Vec<u32> = Vec::with_capacity(view.keyset_count() as usize);
    for (end, keyset) in view.keyset_ends().zip(0..) {
        let end = end?.0;
        if ends.last() > Some(&end) {
            return Err(damaged(Rule::KeysetSeries, Place::Keyset(keyset)));
        }
        ends.push(end);
    }
    Ok(ends)
}

/// Groups items by number, and keeps their order within a group. Returns the first item of each of `count` groups with
/// the end of all, and the items.
fn grouped<T: Copy + Default>(count: u32, items: &[(u32, T)]) -> (Vec<u32>, Vec<T>) {
    let mut starts = vec![0_u32; count as usize + 1];
    for (group, _) in items {
        starts[*group as usize + 1] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut next = starts.clone();
    let mut sorted = vec![T::default(); items.len()];
    for (group, own) in items {
        let next = &mut next[*group as usize];
        sorted[*next as usize] = *own;
        *next += 1;
    }
    (starts, sorted)
}

/// Returns a hash of keys that does not depend on their order.
fn hash_of_keys(keys: impl Iterator<Item = KeyId>) -> u32 {
    let sum = keys.fold(0_u64, |sum, key| {
        let mixed = (u64::from(key.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum.wrapping_add((mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93))
    });
    (sum >> 32) as u32
}

/// Returns the error of a row that refers to something out of range.
pub(crate) fn damaged_row(rule: Rule, table: u32) -> Error {
    damaged(rule, Place::Table(table.into()))
}

fn damaged(rule: Rule, place: Place) -> Error {
    Corruption::new(rule, place).into()
}
