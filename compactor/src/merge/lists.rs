//! Merges lists. Each distinct list is stored once, and each pair of lists is united once, however many prefixes have
//! it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use chronoxide_format::identity::Fingerprint;
use chronoxide_format::view::BlockView;
use chronoxide_format::{PoolId, Result};
use chronoxide_planner::{InternedLists, Part};
use foldhash::fast::FixedState;
use rayon::prelude::*;

use super::plans::Adopted;
use super::tables::MergedTables;
use super::tally::Overlap;
use super::vocabulary::Vocabulary;
use crate::CompactError;

/// Distinct lists over one dictionary or shared table. List numbers depend on the order in which threads add lists, so
/// outputs renumber them.
pub(crate) struct MergedPool<'a> {
    /// Part that the members of the lists belong to.
    pub part: Part,
    rows: &'a [Fingerprint],
    store: RwLock<Store>,
}

#[derive(Default)]
struct Store {
    lists: InternedLists,
    sums: Vec<Fingerprint>,
    /// United list and overlap, by the numbers of two lists, the smaller first.
    unions: HashMap<(u32, u32), (u32, Overlap), FixedState>,
}

/// Merged lists of all pools.
pub(crate) struct MergedLists<'a> {
    pools: BTreeMap<Part, MergedPool<'a>>,
    /// Merged list number of each list, by input and pool; empty for pools that the outputs do not have.
    maps: Vec<Vec<Vec<u32>>>,
}

impl<'a> MergedLists<'a> {
    /// Collects the lists of all inputs whose part has lists in the plan.
    pub(crate) fn merge(
        inputs: &[BlockView<'_>],
        vocabulary: &'a Vocabulary<'_>,
        adopted: &Adopted,
        tables: &'a MergedTables,
    ) -> std::result::Result<Self, CompactError> {
        let mut sources: BTreeMap<Part, Vec<(usize, u32)>> =
            adopted.plan.keysets.iter().filter_map(|keyset| Some((keyset.list?, Vec::new()))).collect();
        for (input, view) in inputs.iter().enumerate() {
            for pool in view.pools() {
                let pool = pool.map_err(|source| CompactError::Input { input, source })?;
                let (pool, table) = (pool.id().0, pool.table_id());
                if let Some(of_part) = adopted.parts[input][table.0 as usize].and_then(|part| sources.get_mut(&part)) {
                    of_part.push((input, pool));
                }
            }
        }
        let merged = (sources.into_par_iter())
            .map(|(part, sources)| {
                let pool = MergedPool { part, rows: tables.fingerprints(vocabulary, part), store: RwLock::default() };
                let mut maps = Vec::with_capacity(sources.len());
                for (input, number) in sources {
                    let map = pool.take(inputs, vocabulary, tables, input, PoolId(number));
                    maps.push((input, number, map.map_err(|source| CompactError::Input { input, source })?));
                }
                Ok((pool, maps))
            })
            .collect::<std::result::Result<Vec<_>, CompactError>>()?;
        let mut lists = Self {
            pools: BTreeMap::new(),
            maps: inputs.iter().map(|view| vec![Vec::new(); view.pool_count() as usize]).collect(),
        };
        for (pool, maps) in merged {
            for (input, number, map) in maps {
                lists.maps[input][number as usize] = map;
            }
            lists.pools.insert(pool.part, pool);
        }
        Ok(lists)
    }

    /// Returns the pool of a part, which must have lists in the plan.
    pub(crate) fn pool(&self, part: Part) -> &MergedPool<'a> {
        &self.pools[&part]
    }

    /// Maps each list of an input's pool to its number in the merged pool.
    pub(crate) fn codes(&self, input: usize, pool: PoolId) -> &[u32] {
        &self.maps[input][pool.0 as usize]
    }
}

impl MergedPool<'_> {
    fn take(
        &self,
        inputs: &[BlockView<'_>],
        vocabulary: &Vocabulary<'_>,
        tables: &MergedTables,
        input: usize,
        pool: PoolId,
    ) -> Result<Vec<u32>> {
        let pool = inputs[input].pool(pool)?.expect("a pool of the input");
        let rows = tables.codes(vocabulary, input, pool.table_id());
        let mut store = self.store.write().unwrap_or_else(PoisonError::into_inner);
        let mut list = Vec::new();
        pool.lists()
            .map(|stored| {
                list.clear();
                stored?.push_members(&mut list)?;
                list.iter_mut().for_each(|member| *member = rows[*member as usize]);
                Ok(store.intern(&list, self.rows))
            })
            .collect()
    }

    /// Returns the number of a list, and adds the list if it is new.
    pub(crate) fn intern(&self, list: &[u32]) -> u32 {
        self.store.write().unwrap_or_else(PoisonError::into_inner).intern(list, self.rows)
    }

    /// Locks the pool for reading.
    pub(crate) fn read(&self) -> PoolReader<'_> {
        PoolReader(self.store.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the union of two lists, and their overlap.
    pub(crate) fn unite(&self, a: u32, b: u32) -> (u32, Overlap) {
        let pair = (a.min(b), a.max(b));
        let store = self.read();
        if a == b {
            return (a, store.whole(a));
        }
        if let Some(&known) = store.0.unions.get(&pair) {
            return known;
        }
        let (united, common) = united(store.list(a), store.list(b));
        let sum = common.iter().map(|&member| self.rows[member as usize]).sum();
        drop(store);
        let overlap = Overlap { series: common.len() as u64, sum };
        let mut store = self.store.write().unwrap_or_else(PoisonError::into_inner);
        let list = store.intern(&united, self.rows);
        store.unions.insert(pair, (list, overlap));
        (list, overlap)
    }
}

/// A pool locked for reading.
pub(crate) struct PoolReader<'a>(RwLockReadGuard<'a, Store>);

impl PoolReader<'_> {
    /// Returns the members of a list.
    pub(crate) fn list(&self, number: u32) -> &[u32] {
        self.0.lists.list(number)
    }

    /// Returns the number of members of a list.
    pub(crate) fn len(&self, number: u32) -> u64 {
        self.list(number).len() as u64
    }

    /// Returns the number of members of a list, and the sum of their fingerprints.
    pub(crate) fn whole(&self, number: u32) -> Overlap {
        Overlap { series: self.len(number), sum: self.0.sums[number as usize] }
    }
}

impl Store {
    fn intern(&mut self, list: &[u32], rows: &[Fingerprint]) -> u32 {
        let number = self.lists.intern(list);
        if number as usize == self.sums.len() {
            self.sums.push(list.iter().map(|&member| rows[member as usize]).sum());
        }
        number
    }
}

/// Returns the union and the intersection of two sorted lists.
fn united(a: &[u32], b: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let (mut united, mut common) = (Vec::with_capacity(a.len() + b.len()), Vec::new());
    let (mut left, mut right) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    while let (Some(&next_left), Some(&next_right)) = (left.peek(), right.peek()) {
        united.push(next_left.min(next_right));
        if next_left == next_right {
            common.push(next_left);
        }
        left.next_if(|&member| member <= next_right);
        right.next_if(|&member| member <= next_left);
    }
    united.extend(left.chain(right));
    (united, common)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn lists_are_united_as_sets_are(a: BTreeSet<u8>, b: BTreeSet<u8>) {
            let list = |set: &BTreeSet<u8>| set.iter().map(|&member| member.into()).collect::<Vec<u32>>();
            let (all, both) = united(&list(&a), &list(&b));
            prop_assert_eq!(all, list(&(&a | &b)));
            prop_assert_eq!(both, list(&(&a & &b)));
        }
    }
}
