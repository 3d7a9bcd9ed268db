//! Rules that choose the live blocks of a folder, from the origins that blocks state (spec, section 10).
//!
//! A job makes *n* outputs of its parents. Together the outputs hold the series of the parents; each output alone
//! holds a part. While a job runs, after it was killed, and until its parents are deleted, the folder has the same
//! series twice. Two rules decide which blocks are hidden:
//!
//! 1. A job is *complete* if all its *n* outputs are there, each once and with equal origins. It hides its parents and
//!    ancestors: the outputs hold all their series. One output of a sharded job hides nothing.
//! 2. An output of any other job is hidden while each of its parents is there, or is hidden by rule 1: others hold all
//!    its series. Once a parent is gone for good, the output may be the last block with some series, and is live. Its
//!    remaining parents are then live too, because they may be the last blocks with the series of missing outputs. Some
//!    series are seen twice, so that none is lost.
//!
//! A read-only block (with an unknown bit in `ro_compat`) is hidden only as a copy of the same file: it may hold more
//! than series, and the jobs that claim it do not know that.
//!
//! A job hides nothing if its outputs together have fewer series than one of the blocks that it would hide, unless one
//! of them is [marked](Lineage::is_rewritten) as rewritten: a merge does not lose series. Its outputs are then live
//! beside their parents. Nor do parents, or the blocks that replace them, hide an output that has more series than
//! they have.
//!
//! Live blocks thus hold the series of each hidden block, whatever was deleted, lost or damaged. This relies on two
//! promises of writers: outputs together hold the series of the parents, and an ancestor is a block that the parents
//! hold *whole*. If a parent is one of several outputs of a job, the inputs of that job are ancestors only if all its
//! outputs are parents; see [`ancestors`].
//!
//! Lineages of valid blocks cannot form a cycle, since a block's id depends on its lineage. If lineages form a cycle,
//! its blocks are live.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use chronoxide_format::identity::BlockId;
use chronoxide_format::view::{BlockView, Job, Meta};

/// Lineage that a block states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// Id of the block.
    pub id: BlockId,
    /// Job that wrote it, if any.
    pub job: Option<Job>,
    /// Inputs of the job, in increasing order.
    pub parents: Vec<BlockId>,
    /// Origins of the parents that the parents hold whole and that may still exist, in increasing order.
    pub ancestors: Vec<BlockId>,
    /// Number of series, as the block states it.
    pub series_count: u64,
    /// True if the block has a bit in `ro_compat` that this version does not know (spec, section 10). Such a block is
    /// neither merged, hidden nor deleted; only a copy of it is.
    pub is_read_only: bool,
    /// True if series were dropped or labels changed when this block or one of its origins was written: the block has
    /// the annotation [`REWRITTEN_KEY`].
    pub is_rewritten: bool,
}

/// Key of the annotation that marks a block whose series were dropped or whose labels were changed (spec, section 10).
/// Its value describes the change.
pub const REWRITTEN_KEY: &str = "chronoxide.rewritten";

impl Lineage {
    /// Reads the origin of a block.
    ///
    /// # Errors
    /// `Corrupt` if the block's meta section is damaged.
    pub fn from_view(view: &BlockView<'_>) -> Result<Self, chronoxide_format::Error> {
        let lineage = Self::from_meta(view.block_id(), &view.meta()?)?;
        Ok(Self { is_read_only: view.unknown_ro_compat() != 0, ..lineage })
    }

    /// Reads the lineage of block `id` from its meta section. The block counts as not read-only.
    ///
    /// # Errors
    /// `Corrupt` if the meta section is damaged.
    pub fn from_meta(id: BlockId, meta: &Meta<'_>) -> Result<Self, chronoxide_format::Error> {
        let (parents, ancestors) = (meta.parents()?.collect(), meta.ancestors()?.collect());
        let mut is_rewritten = false;
        for pair in meta.annotations()? {
            let (key, _) = pair?;
            is_rewritten |= key == REWRITTEN_KEY;
        }
        let (job, series_count) = (meta.job(), meta.series_count());
        Ok(Self { id, job, parents, ancestors, series_count, is_read_only: false, is_rewritten })
    }
}

/// State of a block: live or hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The block is live: its series are read from it.
    Live,
    /// The block is hidden: others hold its series.
    Hidden(Reason),
}

/// Reason why a block is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Another file holds the same block.
    Copy,
    /// All outputs of this job are there and hold its series.
    Merged {
        /// The job's id.
        job: [u8; 16],
    },
    /// The job that wrote it lacks outputs, and its inputs are there.
    Unfinished {
        /// The job's id.
        job: [u8; 16],
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Copy => "copy of another file",
            Self::Merged { .. } => "merged into other blocks",
            Self::Unfinished { .. } => "output of an unfinished job",
        })
    }
}

/// A job that hides nothing, because outputs are missing or because its outputs cannot hold the series of its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IncompleteJob {
    /// The job's id.
    pub id: [u8; 16],
    /// Number of outputs.
    pub output_count: u32,
    /// Number of its outputs that are there. It may equal `output_count`: then two blocks have the same output number,
    /// origins differ, or the outputs have too few series.
    pub present: u32,
    /// A block with more series than all outputs together, which the job would hide.
    pub disputed: Option<BlockId>,
}

/// Result of [`judge`].
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Judgement {
    /// State of each block, in the order of the input.
    pub standings: Vec<Standing>,
    /// Incomplete jobs, by id.
    pub incomplete: Vec<IncompleteJob>,
}

/// Outputs with equal job id and output count belong together.
type JobKey = ([u8; 16], u32);

#[derive(Default)]
struct Outputs<'a> {
    by_number: BTreeMap<u32, &'a Lineage>,
    doubtful: bool,
}

impl<'a> Outputs<'a> {
    fn add(&mut self, output: u32, block: &'a Lineage) {
        let others = self.by_number.first_key_value();
        let other_origin =
            |(_, other): (_, &&Lineage)| other.parents != block.parents || other.ancestors != block.ancestors;
        self.doubtful |= others.is_some_and(other_origin);
        let before = self.by_number.insert(output, block);
        self.doubtful |= before.is_some_and(|before| before.id != block.id);
    }

    fn present(&self) -> u32 {
        u32::try_from(self.by_number.len()).unwrap_or(u32::MAX)
    }

    /// Returns true if each output from 0 to `output_count` - 1 is there and they belong together.
    fn is_complete(&self, output_count: u32) -> bool {
        let in_range = self.by_number.last_key_value().is_some_and(|(last, _)| *last < output_count);
        in_range && !self.doubtful && self.present() == output_count
    }

    /// Returns a block that the outputs claim to hold and that has more series than all of them together.
    fn disputed(&self, series_counts: &BTreeMap<BlockId, u64>) -> Option<BlockId> {
        let outputs = || self.by_number.values();
        if outputs().any(|output| output.is_rewritten) {
            return None;
        }
        let series_count = outputs().fold(0_u64, |sum, output| sum.saturating_add(output.series_count));
        self.hides().find(|id| series_counts.get(id).is_some_and(|claimed| *claimed > series_count))
    }

    /// Blocks that a complete job hides; never its own outputs.
    fn hides(&self) -> impl Iterator<Item = BlockId> {
        let own: BTreeSet<BlockId> = self.by_number.values().map(|block| block.id).collect();
        let origin = self.by_number.first_key_value().map(|(_, block)| block.parents.iter().chain(&block.ancestors));
        origin.into_iter().flatten().copied().filter(move |id| !own.contains(id))
    }
}

fn outputs_by_job<'a>(blocks: &'a [Lineage]) -> BTreeMap<JobKey, Outputs<'a>> {
    let mut jobs: BTreeMap<JobKey, Outputs<'a>> = BTreeMap::new();
    for block in blocks {
        if let Some(job) = block.job {
            jobs.entry((job.id, job.output_count)).or_default().add(job.output, block);
        }
    }
    jobs
}

/// Decides for each block of a folder whether it is live; see the [module](self).
#[must_use]
pub fn judge(blocks: &[Lineage]) -> Judgement {
    let jobs = outputs_by_job(blocks);
    let series_counts: BTreeMap<BlockId, u64> = blocks.iter().map(|block| (block.id, block.series_count)).collect();
    let mut incomplete = Vec::new();
    // Complete jobs that hide a block, by block id. The block may be missing.
    let mut merged: BTreeMap<BlockId, Vec<JobKey>> = BTreeMap::new();
    for (&(id, output_count), outputs) in &jobs {
        let is_complete = outputs.is_complete(output_count);
        let disputed = if is_complete { outputs.disputed(&series_counts) } else { None };
        if is_complete && disputed.is_none() {
            for hidden in outputs.hides() {
                merged.entry(hidden).or_default().push((id, output_count));
            }
        } else {
            incomplete.push(IncompleteJob { id, output_count, present: outputs.present(), disputed });
        }
    }

    let present: BTreeSet<BlockId> = blocks.iter().map(|block| block.id).collect();
    let is_there = |id: &BlockId| present.contains(id) || merged.contains_key(id);
    let mut seen = BTreeSet::new();
    let mut standings: Vec<Standing> = Vec::new();
    for block in blocks {
        let by_merge = merged.get(&block.id).and_then(|jobs| jobs.first());
        standings.push(match (by_merge, block.job) {
            _ if !seen.insert(block.id) => Standing::Hidden(Reason::Copy),
            _ if block.is_read_only => Standing::Live,
            (Some(&(job, _)), _) => Standing::Hidden(Reason::Merged { job }),
            (None, Some(job)) => {
                let complete = jobs.get(&(job.id, job.output_count)).is_some_and(|it| it.is_complete(job.output_count));
                // An output without parents has no other copy.
                let replaceable = !block.parents.is_empty()
                    && block.parents.iter().all(is_there)
                    && series_held(&block.parents, &series_counts, &jobs, &merged) >= block.series_count;
                if complete || !replaceable {
                    Standing::Live
                } else {
                    Standing::Hidden(Reason::Unfinished { job: job.id })
                }
            }
            (None, None) => Standing::Live,
        });
    }

    let held = held(blocks, &standings, &jobs, &merged);
    for (block, standing) in blocks.iter().zip(&mut standings) {
        if *standing != Standing::Hidden(Reason::Copy) && !held.contains(&block.id) {
            *standing = Standing::Live;
        }
    }
    Judgement { standings, incomplete }
}

/// Returns the most series that the parents can hold. A missing parent counts as the outputs of the jobs that hide it.
fn series_held(
    parents: &[BlockId],
    series_counts: &BTreeMap<BlockId, u64>,
    jobs: &BTreeMap<JobKey, Outputs<'_>>,
    merged: &BTreeMap<BlockId, Vec<JobKey>>,
) -> u64 {
    let mut holders = BTreeSet::new();
    for parent in parents {
        if series_counts.contains_key(parent) {
            holders.insert(*parent);
            continue;
        }
        let hiding = merged.get(parent).into_iter().flatten().filter_map(|job| jobs.get(job));
        holders.extend(hiding.flat_map(|outputs| outputs.by_number.values().map(|output| output.id)));
    }
    holders.iter().filter_map(|id| series_counts.get(id)).fold(0, |sum, count| sum.saturating_add(*count))
}

/// Returns the hidden blocks whose series are all in live blocks: all of them, unless origins form a cycle.
fn held(
    blocks: &[Lineage],
    standings: &[Standing],
    jobs: &BTreeMap<JobKey, Outputs<'_>>,
    merged: &BTreeMap<BlockId, Vec<JobKey>>,
) -> BTreeSet<BlockId> {
    let live = |(block, standing): (&Lineage, &Standing)| (*standing == Standing::Live).then_some(block.id);
    let mut held: BTreeSet<BlockId> = blocks.iter().zip(standings).filter_map(live).collect();
    loop {
        let by_outputs = |id: &BlockId| {
            let mut hiding = merged.get(id).into_iter().flatten().filter_map(|job| jobs.get(job));
            hiding.any(|outputs| outputs.by_number.values().all(|output| held.contains(&output.id)))
        };
        let more: Vec<BlockId> = blocks
            .iter()
            .zip(standings)
            .filter(|(block, _)| !held.contains(&block.id))
            .filter(|(block, standing)| match standing {
                Standing::Hidden(Reason::Unfinished { .. }) => {
                    block.parents.iter().all(|parent| held.contains(parent) || by_outputs(parent))
                }
                _ => by_outputs(&block.id),
            })
            .map(|(block, _)| block.id)
            .collect();
        if more.is_empty() {
            return held;
        }
        held.extend(more);
    }
}

/// Returns the ancestors that a job must record if it merges these blocks: the origins that the blocks hold whole.
///
/// These are the inputs of jobs all of whose outputs are among the blocks. A single output of several holds only a
/// part.
#[must_use]
pub fn ancestors(parents: &[Lineage]) -> BTreeSet<BlockId> {
    let jobs = outputs_by_job(parents);
    let series_counts = parents.iter().map(|block| (block.id, block.series_count)).collect();
    let complete = jobs.iter().filter(|((_, output_count), outputs)| {
        outputs.is_complete(*output_count) && outputs.disputed(&series_counts).is_none()
    });
    let mut whole: BTreeSet<BlockId> = complete.flat_map(|(_, outputs)| outputs.hides()).collect();
    for parent in parents {
        whole.remove(&parent.id);
    }
    whole
}
