//! Numbers of distinct projections of all series, in little memory: [`Searcher::count_groups`].

use std::collections::BTreeMap;
use std::rc::Rc;

use chronoxide_format::KeyId;
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::view::{Keyset, Pool};
use hashbrown::HashMap;
use rayon::prelude::*;

use super::Labels;
use super::fingerprints::Product;
use super::fold::{FoldedColumns, Folding};
use super::spans::room;
use crate::{Searcher, SelectError, Selection};

/// Members of lists between two checks of the limits.
const MEMBERS_PER_CHECK: usize = 1 << 20;

impl Searcher<'_, '_> {
    /// Counts the distinct labelsets that the kept labels of all series make: the number of groups of
    /// [`Searcher::group`] over all series.
    ///
    /// Takes some 40 bytes of memory per row of the keysets that have the same kept keys, whatever their lists stand
    /// for, and 16 per series where their lists have different ones of these keys. Labelsets are compared by their
    /// [fingerprints]: constructed collisions make the count smaller.
    ///
    /// [fingerprints]: Searcher::fingerprints
    ///
    /// # Errors
    /// As [`Searcher::project`], and `OutOfMemory`.
    pub fn count_groups(&self, labels: Labels<'_>) -> Result<u64, SelectError> {
        let kept = labels.keys(self)?;
        let mut alike: BTreeMap<Vec<KeyId>, Vec<u32>> = BTreeMap::new();
        for keyset in self.view.keysets() {
            let keyset = keyset?;
            let mut keys = Vec::new();
            for key in keyset.keys()? {
                keys.extend(Some(key?).filter(|&key| kept.has(key)));
            }
            alike.entry(keys).or_default().push(keyset.id());
        }
        let mut counting = Counting {
            folding: Folding::new(self, kept, Product),
            members: HashMap::new(),
            numbers: HashMap::new(),
            list_counts: HashMap::new(),
            seen: Vec::new(),
            generation: 0,
            unchecked: 0,
        };
        alike.values().map(|keysets| counting.count(keysets)).sum()
    }

    /// Counts the distinct labelsets that the kept labels of selected series make: the number of groups of
    /// [`Searcher::group`]. Costs some 60 ns and 16 bytes of memory per series. Labelsets are compared as for
    /// [`Searcher::count_groups`].
    ///
    /// # Errors
    /// As [`Searcher::project`], and `OutOfMemory`.
    pub fn count_groups_of(&self, selection: &Selection, labels: Labels<'_>) -> Result<u64, SelectError> {
        let mut fingerprints = self.fingerprints(selection, labels)?;
        fingerprints.par_sort_unstable_by_key(|fingerprint| fingerprint.to_parts());
        fingerprints.dedup();
        Ok(fingerprints.len() as u64)
    }
}

struct Counting<'s, 'a, 'data> {
    folding: Folding<'s, 'a, 'data, Product>,
    /// Members of lists, by the table of the members.
    members: HashMap<u32, Rc<Members>>,
    /// Number of the kept labelset of each member, the same in all tables.
    numbers: HashMap<Fingerprint, u32>,
    /// Number of distinct kept labelsets of each list plus one, by pool; 0 if it is not known yet.
    list_counts: HashMap<u32, Vec<u32>>,
    /// Generation in which each numbered labelset was seen last.
    seen: Vec<u32>,
    generation: u32,
    /// Members that were read since limits were checked.
    unchecked: usize,
}

/// Kept labelsets of the rows that lists refer to.
struct Members {
    numbers: Vec<u32>,
    products: Rc<Vec<Fingerprint>>,
    /// True if no two rows have the same.
    are_distinct: bool,
}

/// A keyset whose columns are folded.
struct OpenKeyset<'data, 'view> {
    keyset: Keyset<'data, 'view>,
    columns: FoldedColumns<Fingerprint>,
    /// Members of its lists, if these have kept labels.
    lists: Option<(Pool<'data, 'view>, Rc<Members>)>,
    /// Kept keys of the members of its lists.
    member_keys: Vec<KeyId>,
}

/// A row: the product of its kept labels, and the list behind them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Row {
    product: Fingerprint,
    /// Pool and list; 0 and 0 without lists.
    list: (u32, u32),
}

impl<'a, 'data> Counting<'_, 'a, 'data> {
    /// Counts the kept labelsets of keysets that have the same kept keys.
    fn count(&mut self, keysets: &[u32]) -> Result<u64, SelectError> {
        let searcher = self.folding.searcher;
        searcher.limits.check()?;
        let mut opened = Vec::with_capacity(keysets.len());
        for &keyset in keysets {
            if let Some(keyset) = searcher.view.keyset(keyset)? {
                opened.push(self.open(keyset)?);
            }
        }
        let Some(first) = opened.first() else { return Ok(0) };
        if opened.iter().all(|keyset| keyset.member_keys == first.member_keys) {
            self.count_rows(&opened)
        } else {
            self.count_series(&opened)
        }
    }

    /// Counts labelsets of keysets whose lists have the same kept keys: rows with different products are different.
    fn count_rows(&mut self, keysets: &[OpenKeyset<'data, 'a>]) -> Result<u64, SelectError> {
        let mut pools: HashMap<u32, (Pool<'data, 'a>, Rc<Members>)> = HashMap::new();
        let mut rows: Vec<Row> = room(keysets.iter().map(|keyset| u64::from(keyset.keyset.table().row_count())).sum())?;
        for keyset in keysets {
            let start = rows.len();
            self.folding.each_row(&keyset.keyset, &keyset.columns, |product, list| {
                rows.push(Row { product, list: (0, list) })
            })?;
            if let Some((pool, members)) = &keyset.lists {
                rows[start..].iter_mut().for_each(|row| row.list.0 = pool.id().0);
                pools.insert(pool.id().0, (*pool, Rc::clone(members)));
            } else {
                rows[start..].iter_mut().for_each(|row| row.list = (0, 0));
            }
        }
        rows.sort_unstable_by_key(|row| (row.product.to_parts(), row.list));
        rows.dedup();
        let mut count = 0;
        for same in rows.chunk_by(|left, right| left.product == right.product) {
            count += match same {
                [row] => match pools.get(&row.list.0) {
                    None => 1,
                    Some((pool, members)) => self.count_list(pool, row.list.1, members)?,
                },
                rows => {
                    self.begin();
                    let mut count = 0;
                    for row in rows {
                        count += match pools.get(&row.list.0) {
                            None => 1,
                            Some((pool, members)) => self.count_new(pool, row.list.1, members)?,
                        };
                    }
                    count
                }
            };
        }
        Ok(count)
    }

    /// Counts labelsets of any keysets, series by series.
    fn count_series(&mut self, keysets: &[OpenKeyset<'data, 'a>]) -> Result<u64, SelectError> {
        let mut products: Vec<[u64; 2]> =
            room(keysets.iter().map(|keyset| u64::from(keyset.keyset.series_count())).sum())?;
        let mut buffer = Vec::new();
        for keyset in keysets {
            let mut rows: Vec<(Fingerprint, u32)> = room(keyset.keyset.table().row_count().into())?;
            self.folding.each_row(&keyset.keyset, &keyset.columns, |product, list| rows.push((product, list)))?;
            for (row, list) in rows {
                let Some((pool, members)) = &keyset.lists else {
                    products.push(row.to_parts());
                    continue;
                };
                self.read(pool, list, &mut buffer)?;
                let member = |&member: &u32| members.products.get(member as usize).map(|&member| row * member);
                products.extend(buffer.iter().filter_map(member).map(Fingerprint::to_parts));
            }
            products.sort_unstable();
            products.dedup();
        }
        Ok(products.len() as u64)
    }

    fn open(&mut self, keyset: Keyset<'data, 'a>) -> Result<OpenKeyset<'data, 'a>, SelectError> {
        let columns = self.folding.columns(&keyset)?;
        let (mut lists, mut member_keys) = (None, Vec::new());
        if let (Some(pool), Some(table)) = (keyset.pool(), columns.member_table)
            && let Some(members) = self.members_of(table)?
        {
            for key in pool.table()?.keys()? {
                member_keys.extend(Some(key?).filter(|&key| self.folding.kept.has(key)));
            }
            lists = Some((pool, members));
        }
        Ok(OpenKeyset { keyset, columns, lists, member_keys })
    }

    /// Returns the kept labelsets of a table's rows, or `None` if the table has none of the kept keys.
    fn members_of(&mut self, table: u32) -> Result<Option<Rc<Members>>, SelectError> {
        if let Some(known) = self.members.get(&table) {
            return Ok(Some(Rc::clone(known)));
        }
        let Some(products) = self.folding.rows(table)? else { return Ok(None) };
        let known = &mut self.numbers;
        let mut number = |product: &Fingerprint| {
            let next = known.len() as u32;
            *known.entry(*product).or_insert(next)
        };
        let numbers: Vec<u32> = products.iter().map(&mut number).collect();
        self.seen.resize(self.numbers.len(), 0);
        self.begin();
        let are_distinct = numbers.iter().all(|&number| self.is_new(number));
        let members = Rc::new(Members { numbers, products, are_distinct });
        self.members.insert(table, Rc::clone(&members));
        Ok(Some(members))
    }

    /// Counts the distinct kept labelsets of a list.
    fn count_list(&mut self, pool: &Pool<'data, 'a>, list: u32, members: &Members) -> Result<u64, SelectError> {
        if members.are_distinct {
            return Ok(pool.list_len(list)?.into());
        }
        let counts = self.list_counts.entry(pool.id().0).or_default();
        if let Some(count) = counts.get(list as usize).and_then(|count| count.checked_sub(1)) {
            return Ok(count.into());
        }
        self.begin();
        let count = self.count_new(pool, list, members)?;
        let counts = self.list_counts.entry(pool.id().0).or_default();
        counts.resize(counts.len().max(pool.list_count() as usize), 0);
        if let Some(known) = counts.get_mut(list as usize) {
            *known = count as u32 + 1;
        }
        Ok(count)
    }

    /// Forgets the labelsets that were seen.
    fn begin(&mut self) {
        self.generation += 1;
        if self.generation == u32::MAX {
            self.seen.fill(0);
            self.generation = 1;
        }
    }

    /// Returns true if a numbered labelset was not seen in this generation.
    fn is_new(&mut self, number: u32) -> bool {
        let generation = self.generation;
        let Some(seen) = self.seen.get_mut(number as usize) else { return false };
        std::mem::replace(seen, generation) != generation
    }

    /// Counts the labelsets of a list that were not seen in this generation.
    fn count_new(&mut self, pool: &Pool<'data, 'a>, list: u32, members: &Members) -> Result<u64, SelectError> {
        let mut buffer = Vec::new();
        self.read(pool, list, &mut buffer)?;
        let numbers = buffer.iter().filter_map(|&member| members.numbers.get(member as usize));
        Ok(numbers.filter(|&&number| self.is_new(number)).count() as u64)
    }

    /// Reads the members of a list.
    fn read(&mut self, pool: &Pool<'data, 'a>, list: u32, members: &mut Vec<u32>) -> Result<(), SelectError> {
        members.clear();
        pool.list(list)?.push_members(members)?;
        self.unchecked += members.len();
        if self.unchecked > MEMBERS_PER_CHECK {
            self.unchecked = 0;
            self.folding.searcher.limits.check()?;
        }
        Ok(())
    }
}
