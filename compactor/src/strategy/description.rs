//! What is known of a block.

use std::path::PathBuf;

use chronoxide_format::identity::BlockId;
use chronoxide_format::layout::RowForm;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_planner::Layout;

use crate::external;

/// What a plan needs to know of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Where it is. No two descriptions of a plan have the same.
    pub file: PathBuf,
    /// Its id.
    pub id: BlockId,
    /// Length of the file.
    pub bytes: u64,
    /// Its series.
    pub series: u64,
    /// The time range of its data, if it is known.
    pub time: Option<TimeRange>,
    /// The window that it was cut for, if it was.
    pub window: Option<TimeRange>,
    /// External labels, in the order of their keys.
    pub external_labels: Vec<(String, String)>,
    /// How its labels were cut.
    pub policy: LabelPolicy,
    /// How it is laid out, which is no reason to merge it or not: a merge lays everything out anew.
    pub layout: Layout,
}

impl Description {
    /// Of a block that is there; reads its meta section.
    ///
    /// # Errors
    /// A meta section that cannot be read.
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
            external_labels,
            policy: meta.policy(),
            layout: match (meta.planner_version(), meta.row_form()) {
                (0, Some(RowForm::FixedWidth)) => Layout::FixedWidth,
                (0, _) => Layout::BitPacked,
                _ => Layout::Factored,
            },
        })
    }

    /// Adds external labels that the block lacks, by name: those that its merge will give it.
    #[must_use]
    pub fn with_external_labels(mut self, labels: &[(String, String)]) -> Self {
        self.external_labels = external::with_defaults(self.external_labels, labels);
        self
    }

    /// What it covers: its window, or else the time range of its data.
    pub fn extent(&self) -> Option<TimeRange> {
        self.window.or(self.time)
    }

    /// The order of blocks in groups and lists: by time, those without time last.
    pub(super) fn order(&self) -> impl Ord + '_ {
        (self.extent().is_none(), self.extent(), self.id, &self.file)
    }
}
