//! [`make`]: from a listing to a schedule.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use chronoxide_locations::{Facts, Listed, Listing, Location};
use chronoxide_reader::BlockId;
use chronoxide_reader::lineage::{Lineage, ancestors};

use super::document::VERSION;
use super::{JobInput, Merge, Schedule, ScheduleError, ScheduleOptions, ScheduledJob, StoredBlock};
use crate::memory::InputMemory;
use crate::strategy::{StrategyOptions, choose, describe};

/// Maximum number of shards of a merge.
pub const MAX_SHARDS: u32 = 1024;

/// How merges are split into jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizing {
    /// Maximum memory of a job in bytes, by the estimate.
    pub job_memory: Option<u64>,
    /// Maximum number of series of a block.
    pub job_series: Option<u64>,
    /// Number of shards of each merge.
    pub shards: Option<NonZeroU32>,
}

/// Makes a schedule that merges the live blocks of a listing as a compaction of a folder would. The schedule has no
/// jobs if nothing is due.
///
/// # Errors
/// [`ScheduleError::Memory`] if a merge cannot be split into jobs that are small enough.
pub fn make(
    location: &str,
    listing: &Listing,
    options: &ScheduleOptions,
    strategy: &StrategyOptions,
    sizing: &Sizing,
) -> Result<Schedule, ScheduleError> {
    let by_id: BTreeMap<BlockId, &Listed> = listing.live.iter().map(|block| (block.facts.id, block)).collect();
    let mut schedule = Schedule {
        chronoxide_schedule: VERSION,
        id: String::new(),
        location: location.to_owned(),
        options: options.clone(),
        merges: Vec::new(),
        jobs: Vec::new(),
    };
    for (number, group) in (1..).zip(&choose(&describe(listing, &options.external_labels), strategy).groups) {
        let mut blocks: Vec<&Listed> = group.blocks.iter().filter_map(|block| by_id.get(&block.id).copied()).collect();
        blocks.sort_by_key(|block| block.facts.id);
        schedule.add(&Splitter { merge: format!("m{number}"), blocks, options, sizing })?;
    }
    schedule.jobs.sort_by_key(|job| job.stage);
    for (index, job) in (0..).zip(&mut schedule.jobs) {
        job.index = index;
    }
    schedule.id = schedule.derived_id();
    schedule.check_keys()?;
    Ok(schedule)
}

/// Like [`make`], but reads each input that the schedule names, if the listing may know it from a manifest alone. If
/// one states something else, lists the location again by its blocks and schedules again. Returns the keys of these
/// blocks.
///
/// # Errors
/// As [`make`], and errors of listing.
pub fn make_checked(
    location: &Location,
    listing: &mut Listing,
    options: &ScheduleOptions,
    strategy: &StrategyOptions,
    sizing: &Sizing,
) -> Result<(Schedule, Vec<String>), ScheduleError> {
    let schedule = make(location.text(), listing, options, strategy, sizing)?;
    let ids = schedule.input_blocks().map(|input| input.id).collect();
    let contradicted = listing.correct(location, &ids)?;
    if contradicted.is_empty() {
        return Ok((schedule, contradicted));
    }
    Ok((make(location.text(), listing, options, strategy, sizing)?, contradicted))
}

/// Splits one merge into jobs.
struct Splitter<'a> {
    merge: String,
    /// Inputs, by id.
    blocks: Vec<&'a Listed>,
    options: &'a ScheduleOptions,
    sizing: &'a Sizing,
}

impl Splitter<'_> {
    /// Returns what blocks add to the memory of a job.
    fn memory(&self, blocks: &[&Listed]) -> InputMemory {
        let of_block = |block: &&Listed| {
            let Facts { counts, series, .. } = &block.facts;
            InputMemory::from_counts(counts, *series, self.options.archive)
        };
        blocks.iter().map(of_block).fold(InputMemory::default(), InputMemory::and)
    }

    fn series(blocks: &[&Listed]) -> u64 {
        blocks.iter().fold(0, |sum, block| sum.saturating_add(block.facts.series))
    }

    /// Returns the number of outputs.
    fn shards(&self) -> Result<NonZeroU32, ScheduleError> {
        if let Some(shards) = self.sizing.shards {
            let refused = || ScheduleError::Document { reason: format!("more than {MAX_SHARDS} shards") };
            return if shards.get() > MAX_SHARDS { Err(refused()) } else { Ok(shards) };
        }
        let of_series = self.sizing.job_series.map_or(1, |most| Self::series(&self.blocks).div_ceil(most.max(1)));
        let mut shards = u32::try_from(of_series).unwrap_or(u32::MAX).clamp(1, MAX_SHARDS);
        if let Some(limit) = self.sizing.job_memory {
            let (memory, learns) = (self.memory(&self.blocks), self.options.replan);
            let is_whole = shards == 1 && memory.job(learns) <= limit;
            while !is_whole && (shards == 1 || memory.shard(shards).job(learns) > limit) {
                if shards == MAX_SHARDS {
                    let needed = memory.shard(shards).job(learns);
                    return Err(ScheduleError::Memory { merge: self.merge.clone(), needed, limit });
                }
                shards = (shards * 2).min(MAX_SHARDS);
            }
        }
        Ok(NonZeroU32::new(shards).unwrap_or(NonZeroU32::MIN))
    }

    /// Cuts the inputs into groups of similar size, as many as there are shards at most. With a limit of memory, there
    /// are as many as it needs.
    fn groups(&self, shards: NonZeroU32) -> Result<Vec<Vec<&Listed>>, ScheduleError> {
        let total: u64 = self.blocks.iter().map(|block| block.object.byte_len).sum();
        let mut groups: Vec<(u128, Vec<&Listed>)> = Vec::new();
        let mut before = 0;
        for &block in &self.blocks {
            let middle = before + block.object.byte_len / 2;
            before += block.object.byte_len;
            let due = u128::from(middle) * u128::from(shards.get()) / u128::from(total.max(1));
            let fits = |group: &[&Listed]| {
                let with: Vec<&Listed> = group.iter().copied().chain([block]).collect();
                self.sizing.job_memory.is_none_or(|limit| self.memory(&with).job(self.options.replan) <= limit)
            };
            match groups.last_mut() {
                Some((of_group, group)) if *of_group == due && fits(group) => group.push(block),
                _ => groups.push((due, vec![block])),
            }
        }
        let groups: Vec<Vec<&Listed>> = groups.into_iter().map(|(_, group)| group).collect();
        let largest = groups.iter().map(|group| self.memory(group).job(self.options.replan)).max().unwrap_or(0);
        match self.sizing.job_memory {
            Some(limit) if largest > limit => {
                Err(ScheduleError::Memory { merge: self.merge.clone(), needed: largest, limit })
            }
            _ => Ok(groups),
        }
    }
}

impl Schedule {
    /// Adds a merge and its jobs.
    fn add(&mut self, splitter: &Splitter<'_>) -> Result<(), ScheduleError> {
        let Splitter { merge, blocks, .. } = splitter;
        let shards = splitter.shards()?;
        let groups = splitter.groups(shards)?;
        let lineages: Vec<Lineage> = blocks.iter().map(|block| block.facts.lineage()).collect();
        let totals = blocks.iter().map(|block| StoredBlock::from_listed(block).totals);
        self.merges.push(Merge {
            id: merge.clone(),
            parents: lineages.iter().map(|lineage| lineage.id).collect(),
            ancestors: ancestors(&lineages).into_iter().collect(),
            totals: totals.sum(),
            outputs: shards,
        });
        let job = |id: String, stage, inputs, outputs: u32, series, memory| ScheduledJob {
            outputs: (0..outputs).map(|output| format!("jobs/{id}/{output}.cx")).collect(),
            id,
            index: 0,
            stage,
            merge: merge.clone(),
            inputs,
            series,
            memory,
        };
        let read =
            |group: &[&Listed]| group.iter().map(|block| JobInput::Block(StoredBlock::from_listed(block))).collect();
        let splits: Vec<String> = match groups.len() {
            1 => vec![merge.clone()],
            count => (1..=count).map(|number| format!("{merge}-split-{number}")).collect(),
        };
        for (id, group) in splits.iter().zip(&groups) {
            let (series, memory) = (Splitter::series(group), splitter.memory(group).job(splitter.options.replan));
            self.jobs.push(job(id.clone(), 1, read(group), shards.get(), series, memory));
        }
        if splits.len() == 1 {
            return Ok(());
        }
        let memory = splitter.memory(blocks).shard(shards.get()).job(splitter.options.replan);
        for output in 0..shards.get() {
            let inputs = splits.iter().map(|split| JobInput::Output { job: split.clone(), output }).collect();
            let series = Splitter::series(blocks);
            self.jobs.push(job(format!("{merge}-merge-{}", output + 1), 2, inputs, 1, series, memory));
        }
        Ok(())
    }
}
