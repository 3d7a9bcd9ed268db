//! Merges lists. Each distinct list is stored once, and each set of lists is united once, however many prefixes have
//! it.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use chronoxide_format::PoolId;
use chronoxide_format::identity::Fingerprint;
use chronoxide_planner::{InternedLists, List, Part};
use rayon::prelude::*;

use super::label_rows::InputContext;
use super::tables::MergedTables;
use super::tally::Overlap;
use crate::CompactError;
use crate::error::InInput;

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
    /// Sets of lists that were united: increasing numbers of lists.
    sets: InternedLists,
    /// United list of each set, and the overlap of its lists.
    unions: Vec<(u32, Overlap)>,
}

/// Merged lists of all pools.
pub(crate) struct MergedLists<'a> {
    pools: BTreeMap<Part, MergedPool<'a>>,
    /// Merged list number of each list, by input and pool; empty for pools that the outputs do not have.
    maps: Vec<Vec<Vec<u32>>>,
}

impl<'a> MergedLists<'a> {
    /// Collects the lists of all inputs whose part has lists in the plan.
    pub(crate) fn merge(context: InputContext<'a>, tables: &'a MergedTables) -> Result<Self, CompactError> {
        let InputContext { inputs, vocabulary, plan, parts, .. } = context;
        let mut sources: BTreeMap<Part, Vec<(usize, PoolId)>> =
            plan.keysets.iter().filter_map(|keyset| Some((keyset.list?, Vec::new()))).collect();
        for (input, view) in inputs.iter().enumerate() {
            for pool in view.pools() {
                let pool = pool.in_input(input)?;
                let part = parts[input][pool.table_id().0 as usize];
                if let Some(of_part) = part.and_then(|part| sources.get_mut(&part)) {
                    of_part.push((input, pool.id()));
                }
            }
        }
        let merged = (sources.into_par_iter())
            .map(|(part, sources)| {
                let pool = MergedPool { part, rows: tables.fingerprints(vocabulary, part), store: RwLock::default() };
                let take =
                    |(input, number)| Ok((input, number, pool.take(context, tables, input, number).in_input(input)?));
                let maps = sources.into_iter().map(take).collect::<Result<Vec<_>, CompactError>>()?;
                Ok((pool, maps))
            })
            .collect::<Result<Vec<_>, CompactError>>()?;
        let mut lists = Self {
            pools: BTreeMap::new(),
            maps: inputs.iter().map(|view| vec![Vec::new(); view.pool_count() as usize]).collect(),
        };
        for (pool, maps) in merged {
            for (input, number, map) in maps {
                lists.maps[input][number.0 as usize] = map;
            }
            lists.pools.insert(pool.part, pool);
        }
        Ok(lists)
    }

    /// Returns the pool of a part, which must have lists in the plan.
    pub(crate) fn pool(&self, part: Part) -> &MergedPool<'a> {
        &self.pools[&part]
    }

    /// Frees the memory of known unions. Lists that are united later are united again.
    pub(crate) fn forget_unions(&self) {
        self.each_store(|store| (store.sets, store.unions) = Default::default());
    }

    /// Frees everything but the members of lists: no list can be found, added or summed any more.
    pub(crate) fn keep_members_only(&self) {
        self.each_store(|store| {
            store.lists.forget_numbers();
            (store.sums, store.sets, store.unions) = Default::default();
        });
    }

    fn each_store(&self, change: impl Fn(&mut Store)) {
        for pool in self.pools.values() {
            change(&mut pool.store.write().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Maps each list of an input's pool to its number in the merged pool.
    pub(crate) fn codes(&self, input: usize, pool: PoolId) -> &[u32] {
        &self.maps[input][pool.0 as usize]
    }
}

impl MergedPool<'_> {
    fn take(
        &self,
        context: InputContext<'_>,
        tables: &MergedTables,
        input: usize,
        pool: PoolId,
    ) -> chronoxide_format::Result<Vec<u32>> {
        let pool = context.inputs[input].pool(pool)?.expect("a pool of the input");
        let rows = tables.codes(context.vocabulary, input, pool.table_id());
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

    /// Returns the union of some lists, and the series that occur in it more than once. Sorts and deduplicates `lists`.
    pub(crate) fn unite(&self, lists: &mut Vec<u32>) -> (u32, Overlap) {
        lists.sort_unstable();
        let store = self.read();
        let repeated = lists.chunk_by(|a, b| a == b).flat_map(|same| &same[1..]);
        let repeated = repeated.fold(Overlap::NONE, |overlap, &list| overlap.and(store.whole(list)));
        lists.dedup();
        if let [list] = lists[..] {
            return (list, repeated);
        }
        if let Some(set) = store.0.sets.find(lists) {
            let (list, overlap) = store.0.unions[set as usize];
            return (list, overlap.and(repeated));
        }
        // Most of the time goes here, with the lock for reading only: other threads unite other lists.
        let (members, common) = united(lists.iter().flat_map(|&list| store.list(list).iter()).collect());
        drop(store);
        let sum = common.iter().map(|&member| self.rows[member as usize]).sum();
        let overlap = Overlap { series: common.len() as u64, sum };
        let mut store = self.store.write().unwrap_or_else(PoisonError::into_inner);
        let list = store.intern(&members, self.rows);
        // Another thread may have united them in the meantime, with the same result.
        if store.sets.intern(lists) as usize == store.unions.len() {
            store.unions.push((list, overlap));
        }
        (list, overlap.and(repeated))
    }
}

/// A pool locked for reading.
pub(crate) struct PoolReader<'a>(RwLockReadGuard<'a, Store>);

impl PoolReader<'_> {
    /// Returns the members of a list.
    pub(crate) fn list(&self, number: u32) -> List<'_> {
        self.0.lists.list(number)
    }

    /// Returns the numbers of some lists in the order of their members.
    pub(crate) fn sorted(&self, numbers: impl IntoIterator<Item = u32>) -> Vec<u32> {
        self.0.lists.lists().sorted(numbers)
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

/// Returns the union of sorted lists, given one after the other, and each member as often as it is repeated.
fn united(mut members: Vec<u32>) -> (Vec<u32>, Vec<u32>) {
    // The lists are sorted, so a stable sort merges them.
    members.sort();
    let common = members.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    members.dedup();
    (members, common)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn lists_are_united_as_sets_are(sets: Vec<BTreeSet<u8>>) {
            let lists: Vec<Vec<u32>> =
                sets.iter().map(|set| set.iter().map(|&member| member.into()).collect()).collect();
            let (all, common) = united(lists.concat());
            let expected: BTreeSet<u32> = sets.iter().flatten().map(|&member| member.into()).collect();
            prop_assert_eq!(&all, &expected.iter().copied().collect::<Vec<u32>>());
            for member in all {
                let in_lists = lists.iter().filter(|list| list.contains(&member)).count();
                let in_common = common.iter().filter(|&&other| other == member).count();
                prop_assert_eq!(in_common, in_lists - 1);
            }
        }

        #[test]
        fn a_set_of_lists_has_one_union_and_the_overlap_of_all(sets: Vec<BTreeSet<u8>>, picked: Vec<u8>) {
            let rows: Vec<Fingerprint> = (0..256).map(|row| Fingerprint::ONE.times(row * row + 1)).collect();
            let pool = MergedPool { part: Part::Key(0), rows: &rows, store: RwLock::default() };
            let sets: Vec<&BTreeSet<u8>> = sets.iter().filter(|set| !set.is_empty()).collect();
            prop_assume!(!sets.is_empty());
            let lists: Vec<u32> = (sets.iter())
                .map(|set| pool.intern(&set.iter().map(|&member| member.into()).collect::<Vec<u32>>()))
                .collect();
            let picked: Vec<usize> = picked.iter().map(|&pick| usize::from(pick) % sets.len()).collect();
            prop_assume!(!picked.is_empty());
            // The second time the union is known.
            for _ in 0..2 {
                let (list, overlap) = pool.unite(&mut picked.iter().map(|&pick| lists[pick]).collect());
                let all: BTreeSet<u8> = picked.iter().flat_map(|&pick| sets[pick].iter().copied()).collect();
                let expected: Vec<u32> = all.iter().map(|&member| member.into()).collect();
                prop_assert_eq!(pool.read().list(list).iter().collect::<Vec<u32>>(), expected);
                let times = |member: u8| picked.iter().filter(|&&pick| sets[pick].contains(&member)).count() as u64;
                let series: u64 = all.iter().map(|&member| times(member) - 1).sum();
                let sum = all.iter().map(|&member| rows[usize::from(member)].times(times(member) - 1)).sum();
                prop_assert_eq!(overlap, Overlap { series, sum });
            }
        }
    }
}
