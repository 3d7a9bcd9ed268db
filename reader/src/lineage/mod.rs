//! Rules that choose the live blocks of a folder, from the origins that blocks state (LIFECYCLE.md, section 3).
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
//! Judging blocks and ordering deletions cost time linear in the number of blocks and of the ids that they name, up to
//! a logarithm: a folder may have tens of thousands of blocks, and anyone can write a block that names others.
//!
//! Lineages of valid blocks cannot form a cycle, since a block's id depends on its lineage. If lineages form a cycle,
//! its blocks are live.

#[expect(clippy::indexing_slicing, reason = "a node is an index that `intern` gave out")]
mod claims;
#[expect(clippy::indexing_slicing, reason = "a node is an index that `intern` gave out")]
mod holders;
#[expect(clippy::indexing_slicing, reason = "a node is an index that `intern` gave out")]
mod judge;
#[expect(clippy::indexing_slicing, reason = "a node is an index that `intern` gave out")]
mod order;

use std::collections::BTreeSet;
use std::fmt;

use chronoxide_format::identity::BlockId;
use chronoxide_format::view::{BlockView, Job, Meta};

use claims::Claims;
pub use holders::{HiddenBlocks, hidden_blocks, newly_hidden};
pub use judge::{Judgement, judge};
pub use order::{DeletionOrder, deletion_order};

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
    /// True if the block must neither be merged, hidden nor deleted by this version (LIFECYCLE.md, section 4). Only a
    /// copy of it may be.
    pub is_read_only: bool,
    /// True if series were dropped or labels changed when this block or one of its origins was written: the block has
    /// the annotation [`REWRITTEN_KEY`].
    pub is_rewritten: bool,
}

/// Key of the annotation that marks a block whose series were dropped or whose labels were changed (LIFECYCLE.md,
/// section 2). Its value describes the change.
pub const REWRITTEN_KEY: &str = "chronoxide.rewritten";

impl Lineage {
    /// Reads the origin of a block.
    ///
    /// # Errors
    /// `Corrupt` if the block's meta section is damaged.
    pub fn from_view(view: &BlockView<'_>) -> Result<Self, chronoxide_format::Error> {
        let lineage = Self::from_meta(view.block_id(), &view.meta()?)?;
        Ok(Self { is_read_only: view.read_only().is_some(), ..lineage })
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
    Pending {
        /// The job's id.
        job: [u8; 16],
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Copy => "copy of another file",
            Self::Merged { .. } => "merged into other blocks",
            Self::Pending { .. } => "output of an unfinished job",
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

/// Returns the jobs whose claims were rejected: their outputs count, and hide nothing. A merge would pass the claim on.
#[must_use]
pub fn rejected_jobs(incomplete: &[IncompleteJob]) -> BTreeSet<[u8; 16]> {
    incomplete.iter().filter(|job| job.disputed.is_some()).map(|job| job.id).collect()
}

/// Returns the ancestors that a job must record if it merges these blocks: the origins that the blocks hold whole.
///
/// These are the inputs of jobs all of whose outputs are among the blocks. A single output of several holds only a
/// part.
#[must_use]
pub fn ancestors(parents: &[Lineage]) -> BTreeSet<BlockId> {
    let claims = Claims::new(parents.iter());
    let hides = claims.jobs().iter().filter(|job| job.is_hiding()).flat_map(|job| job.hides());
    hides.filter(|node| claims.block(*node).is_none()).map(|node| claims.id(node)).collect()
}
