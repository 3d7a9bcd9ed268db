//! Properties of a block that decide about merging.

use std::path::PathBuf;

use chronoxide_format::identity::BlockId;
use chronoxide_format::layout::RowForm;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::{BlockView, ReadOnly, TimeRange};
use chronoxide_planner::Layout;

use crate::external;

/// Properties of a block that decide about merging.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Path of the block; distinct for all descriptions.
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
    /// Describes an open block. Reads its meta section.
    ///
    /// # Errors
    /// The meta section is damaged.
    pub fn from_block(file: PathBuf, block: &BlockView<'_>) -> chronoxide_format::Result<Self> {
        let meta = block.meta()?;
        let mut external_labels = Vec::new();
        for pair in meta.external_labels()? {
            let (key, value) = pair?;
            external_labels.push((key.to_owned(), value.to_owned()));
        }
        Ok(Self {
            file,
            id: block.block_id(),
            bytes: block.bytes().len() as u64,
            series: meta.series_count(),
            time: meta.time(),
            window: meta.window(),
            job: meta.job().filter(|job| job.output_count > 1).map(|job| job.id),
            external_labels,
            policy: meta.policy(),
            read_only: block.read_only(),
            layout: match (meta.planner_version(), meta.row_form()) {
                (0, Some(RowForm::FixedWidth)) => Layout::FixedWidth,
                (0, _) => Layout::BitPacked,
                _ => Layout::Factored,
            },
        })
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
