//! Spreads merged rows over shards, and cuts them into runs that fit an output.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;

use chronoxide_format::shard::shard_of;
use chronoxide_planner::{KeysetPlan, Part, Plan};

use super::lists::MergedPool;
use super::parts::ByPart;
use super::rows::Run;
use super::tables::MergedTables;
use super::tally::Overlap;
use super::vocabulary::Vocabulary;

/// Assigns merged rows to shards by the value of one label.
pub(crate) struct Sharding {
    /// Shard of each code, by part; `None` for parts without the label.
    shards: ByPart<Option<Vec<u32>>>,
    /// Shard of series without the label.
    absent: u32,
}

impl Sharding {
    pub(crate) fn new(
        name: &str,
        count: NonZeroU32,
        vocabulary: &Vocabulary<'_>,
        plan: &Plan,
        tables: &MergedTables,
    ) -> Self {
        let shard = |value: &str| shard_of(value.as_bytes(), count);
        let mut shards = ByPart { keys: vec![None; vocabulary.keys.len()], tables: Vec::new() };
        if let Some(key) = vocabulary.key(name) {
            shards.keys[key as usize] = Some(vocabulary.values(key).map(shard).collect());
        }
        // One column of a row has the label.
        tables.spread(plan, &mut shards, |shard, _| shard);
        Self { shards, absent: shard("") }
    }

    /// Returns the rows of each shard that has rows, in the order of shards.
    pub(crate) fn spread(&self, run: Run, choice: &KeysetPlan, pool: Option<&MergedPool<'_>>) -> Vec<(u32, Run)> {
        let mut spread: BTreeMap<u32, Run> = BTreeMap::new();
        let mut push = |shard, row: &[u32], overlap| {
            spread.entry(shard).or_insert_with(|| Run::empty(row.len())).push(row, overlap);
        };
        let shards = |part: Part| self.shards[part].as_deref();
        let column = choice.prefix.iter().enumerate().find_map(|(column, &part)| Some((column, shards(part)?)));
        if let Some((column, shards)) = column {
            run.rows().zip(&run.overlaps).for_each(|(row, &overlap)| push(shards[row[column] as usize], row, overlap));
            return spread.into_iter().collect();
        }
        let Some((shards, pool)) = choice.list.and_then(shards).zip(pool) else {
            return vec![(self.absent, run)];
        };
        let mut parts_of: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
        let mut part_row = Vec::with_capacity(run.width);
        for (row, &overlap) in run.rows().zip(&run.overlaps) {
            let list = row[run.width - 1];
            let parts = parts_of.entry(list).or_insert_with(|| parts_of_list(shards, pool, list));
            for (number, &(shard, of_shard)) in parts.iter().enumerate() {
                part_row.clear();
                part_row.extend_from_slice(&row[..run.width - 1]);
                part_row.push(of_shard);
                // The overlap is counted once, in the first shard.
                push(shard, &part_row, if number == 0 { overlap } else { Overlap::NONE });
            }
        }
        spread.into_iter().collect()
    }
}

/// Returns the shards of a list's members, each with the list of its members.
fn parts_of_list(shards: &[u32], pool: &MergedPool<'_>, list: u32) -> Vec<(u32, u32)> {
    let mut parts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    pool.read().list(list).iter().for_each(|member| parts.entry(shards[member as usize]).or_default().push(member));
    parts.into_iter().map(|(shard, members)| (shard, pool.intern(&members))).collect()
}

/// Cuts rows into runs of at most `most` series, in order. A longer list gets a run of its own. Only a list longer than
/// `longest`, the maximum of an output, is cut: two parts of a list in one output would be two rows with the same
/// prefix.
pub(crate) fn cut(run: Run, pool: Option<&MergedPool<'_>>, most: u64, longest: u64) -> Vec<Run> {
    let most = most.max(1);
    let of_lists = pool.map(MergedPool::read);
    let all: u64 = match &of_lists {
        Some(lists) => run.rows().map(|row| lists.len(row[run.width - 1])).sum(),
        None => run.len() as u64,
    };
    drop(of_lists);
    // Nearly always: without a maximum, an output takes 2^32 series.
    if all <= most {
        return vec![run];
    }
    let mut runs = vec![Run::empty(run.width)];
    let mut series = 0;
    let mut push = |row: &[u32], overlap, len: u64| {
        if series + len > most && series > 0 {
            runs.push(Run::empty(run.width));
            series = 0;
        }
        series += len;
        if let Some(last) = runs.last_mut() {
            last.push(row, overlap);
        }
    };
    for (row, &overlap) in run.rows().zip(&run.overlaps) {
        let Some(pool) = pool else {
            push(row, overlap, 1);
            continue;
        };
        let list = row[run.width - 1];
        let len = pool.read().len(list);
        if len <= longest {
            push(row, overlap, len);
            continue;
        }
        let members = pool.read().list(list).iter().collect::<Vec<u32>>();
        let mut row = row.to_vec();
        for (number, some) in members.chunks(usize::try_from(longest).unwrap_or(usize::MAX)).enumerate() {
            row[run.width - 1] = pool.intern(some);
            push(&row, if number == 0 { overlap } else { Overlap::NONE }, some.len() as u64);
        }
    }
    runs
}
