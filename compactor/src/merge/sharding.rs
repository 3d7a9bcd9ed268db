//! Spreads merged rows over shards, and cuts them into runs that fit an output.

use std::collections::HashMap;
use std::num::NonZeroU32;

use chronoxide_format::shard::shard_of;
use chronoxide_planner::{KeysetPlan, Part, Plan};

use super::lists::MergedPool;
use super::rows::Run;
use super::tables::{MergedTables, keys_of_part};
use super::tally::Overlap;
use super::vocabulary::Vocabulary;

/// Assigns merged rows to shards by the value of one label.
pub(crate) struct Sharding {
    /// Key of the label, if an input has it.
    key: Option<u32>,
    of_values: Vec<u32>,
    /// Shard of each row, by shared table that has the key.
    table_masks: Vec<Option<Vec<u32>>>,
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
        let key = vocabulary.key(name);
        let shard = |value: &str| shard_of(value.as_bytes(), count);
        let mut sharding = Self {
            key,
            of_values: key.map_or_else(Vec::new, |key| vocabulary.values(key).map(shard).collect()),
            table_masks: Vec::with_capacity(plan.tables.len()),
            absent: shard(""),
        };
        for (table, merged) in plan.tables.iter().zip(&tables.tables) {
            let column =
                table.parts.iter().position(|&part| key.is_some_and(|key| keys_of_part(plan, part).contains(&key)));
            let of_rows = column.map(|column| {
                let rows = merged.rows.iter().skip(column).step_by(table.parts.len());
                rows.map(|&code| sharding.part_shard(table.parts[column], code)).collect()
            });
            sharding.table_masks.push(of_rows);
        }
        sharding
    }

    fn part_shard(&self, part: Part, code: u32) -> u32 {
        match part {
            Part::Key(_) => self.of_values[code as usize],
            Part::Table(table) => {
                self.table_masks[table].as_ref().map_or(self.absent, |of_rows| of_rows[code as usize])
            }
        }
    }

    fn has_key(&self, part: Part) -> bool {
        match part {
            Part::Key(key) => Some(key) == self.key,
            Part::Table(table) => self.table_masks[table].is_some(),
        }
    }

    /// Returns the rows of each shard that has rows, in the order of shards.
    pub(crate) fn spread(&self, run: Run, choice: &KeysetPlan, pool: Option<&MergedPool<'_>>) -> Vec<(u32, Run)> {
        if let Some(column) = choice.prefix.iter().position(|&part| self.has_key(part)) {
            let mut spread = Spread::new(run.width);
            for (row, &overlap) in run.rows().zip(&run.overlaps) {
                spread.push(self.part_shard(choice.prefix[column], row[column]), row, overlap);
            }
            return spread.finish();
        }
        let Some((part, pool)) = choice.list.filter(|&part| self.has_key(part)).zip(pool) else {
            return vec![(self.absent, run)];
        };
        let mut parts_of: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
        let mut spread = Spread::new(run.width);
        let mut part_row = Vec::with_capacity(run.width);
        for (row, &overlap) in run.rows().zip(&run.overlaps) {
            let list = row[run.width - 1];
            let parts = parts_of.entry(list).or_insert_with(|| self.parts_of_list(part, pool, list));
            for (number, &(shard, of_shard)) in parts.iter().enumerate() {
                part_row.clear();
                part_row.extend_from_slice(&row[..run.width - 1]);
                part_row.push(of_shard);
                // The overlap is counted once, in the first shard.
                spread.push(shard, &part_row, if number == 0 { overlap } else { Overlap::NONE });
            }
        }
        spread.finish()
    }

    /// Returns the shards of a list's members, each with the list of its members.
    fn parts_of_list(&self, part: Part, pool: &MergedPool<'_>, list: u32) -> Vec<(u32, u32)> {
        let members = pool.read().list(list).iter().collect::<Vec<u32>>();
        let mut of_shards: Vec<(u32, u32)> =
            members.iter().map(|&member| (self.part_shard(part, member), member)).collect();
        // A stable sort: the members of a shard stay in order.
        of_shards.sort_by_key(|&(shard, _)| shard);
        let of_shard = |of_shard: &[(u32, u32)]| {
            let members: Vec<u32> = of_shard.iter().map(|&(_, member)| member).collect();
            (of_shard[0].0, pool.intern(&members))
        };
        of_shards.chunk_by(|a, b| a.0 == b.0).map(of_shard).collect()
    }
}

/// Rows by shard.
struct Spread {
    width: usize,
    runs: HashMap<u32, Run>,
}

impl Spread {
    fn new(width: usize) -> Self {
        Self { width, runs: HashMap::new() }
    }

    fn push(&mut self, shard: u32, row: &[u32], overlap: Overlap) {
        let width = self.width;
        self.runs.entry(shard).or_insert_with(|| Run { width, ..Run::default() }).push(row, overlap);
    }

    fn finish(self) -> Vec<(u32, Run)> {
        let mut runs: Vec<(u32, Run)> = self.runs.into_iter().collect();
        runs.sort_unstable_by_key(|&(shard, _)| shard);
        runs
    }
}

/// Cuts rows into runs of at most `most` series, in order. A longer list gets a run of its own. Only a list longer than
/// `longest`, the maximum of an output, is cut: two parts of a list in one output would be two rows with the same
/// prefix.
pub(crate) fn cut(run: Run, pool: Option<&MergedPool<'_>>, most: u64, longest: u64) -> Vec<Run> {
    let most = most.max(1);
    let mut runs = vec![Run { width: run.width, ..Run::default() }];
    let mut series = 0;
    let mut push = |row: &[u32], overlap, len: u64| {
        if series + len > most && series > 0 {
            runs.push(Run { width: run.width, ..Run::default() });
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
