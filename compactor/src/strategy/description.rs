//! Properties of a block that decide about merging.

use std::path::PathBuf;

use chronoxide_format::identity::BlockId;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::{ReadOnly, TimeRange};
use chronoxide_locations::{Listed, Listing};
use chronoxide_planner::Layout;
use chronoxide_reader::lineage::rejected_jobs;

use crate::external;

/// Properties of a block that decide about merging.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Key or path of the block; distinct for all descriptions.
    pub file: PathBuf,
    /// Block id.
    pub id: BlockId,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Number of series.
    pub series: u64,
    /// Time range of the data, if known.
    pub time: Option<TimeRange>,
    /// Window that the block was cut for, if any.
    pub window: Option<TimeRange>,
    /// Job that wrote the block, if it has several outputs.
    pub job: Option<[u8; 16]>,
    /// External labels, sorted by name.
    pub external_labels: Vec<(String, String)>,
    /// Label policy.
    pub policy: LabelPolicy,
    /// Reason why the block is not merged, if it is read-only.
    pub read_only: Option<ReadOnly>,
    /// Layout. It does not affect merging: a merge writes everything in the layout of its output.
    pub layout: Layout,
}

impl Description {
    /// Describes a listed block.
    #[must_use]
    pub fn from_facts(Listed { object, facts }: &Listed) -> Self {
        Self {
            file: object.key.clone().into(),
            id: facts.id,
            bytes: object.byte_len,
            series: facts.series,
            time: facts.time_range(),
            window: facts.window_range(),
            job: facts.job.filter(|job| job.output_count > 1).map(|job| job.id),
            external_labels: facts.external_labels.clone(),
            policy: facts.policy(),
            read_only: facts.read_only,
            layout: match (facts.planner_version, facts.is_fixed_width) {
                (0, true) => Layout::FixedWidth,
                (0, false) => Layout::BitPacked,
                _ => Layout::Factored,
            },
        }
    }

    /// Adds external labels that the block lacks, by name, as its merge will do.
    #[must_use]
    pub fn with_external_labels(mut self, labels: &[(String, String)]) -> Self {
        self.external_labels = external::with_defaults(self.external_labels, labels);
        self
    }

    /// Returns the window, or the time range of the data if there is no window.
    #[must_use]
    pub fn extent(&self) -> Option<TimeRange> {
        self.window.or(self.time)
    }

    /// Returns true if all blocks are outputs of one job: no series is in two of them, and a merge would undo their
    /// split.
    pub(super) fn are_siblings(blocks: &[&Self]) -> bool {
        let job = blocks.first().and_then(|block| block.job);
        job.is_some() && blocks.iter().all(|block| block.job == job)
    }

    /// Returns the sort key of blocks in groups and lists: by time, blocks without a time last.
    pub(super) fn order(&self) -> impl Ord + '_ {
        (self.extent().is_none(), self.extent(), self.id, &self.file)
    }
}

/// Describes the live blocks of a listing that may be merged, with external labels for those that lack them.
#[must_use]
pub fn describe(listing: &Listing, external_labels: &[(String, String)]) -> Vec<Description> {
    // A merged block would inherit a claim that was rejected.
    let rejected = rejected_jobs(&listing.incomplete);
    let is_believed = |block: &&Listed| !block.facts.job.is_some_and(|job| rejected.contains(&job.id));
    let description = |block| Description::from_facts(block).with_external_labels(external_labels);
    listing.live.iter().filter(is_believed).map(description).collect()
}
