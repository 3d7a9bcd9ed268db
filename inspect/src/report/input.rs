//! [`Input`]: the blocks that a report is on.

use std::collections::BTreeMap;

use chronoxide_dump::summary::{self, Summary};
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_select::IndexedBlock;

use super::figures::{BlockFigures, Kind, Part};
use super::union::Union;
use super::{Options, ReportError};

/// A block, or the live blocks of a folder.
#[derive(Clone, Debug)]
pub struct Input {
    /// Path as the user named it.
    pub name: String,
    /// True for a folder.
    pub is_folder: bool,
    /// Files of the folder that cannot be read, and do not count.
    pub skipped: Vec<String>,
    /// True if the blocks are all block files of the folder: none is unreadable, and none was replaced by a compaction.
    pub is_whole: bool,
    /// Blocks, at least one; in any order.
    pub blocks: Vec<IndexedBlock>,
}

/// Figures of the files.
pub(super) struct Prepared {
    pub(super) blocks: Vec<BlockFigures>,
    pub(super) parts: Vec<Part>,
    /// Window, or else time, of each block.
    pub(super) times: Vec<Option<TimeRange>>,
    pub(super) has_equal_external_labels: bool,
    pub(super) start: Option<String>,
    pub(super) end: Option<String>,
}

impl Input {
    pub(super) fn kind(&self) -> Kind {
        if self.is_folder { Kind::Blocks } else { Kind::Block }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.block().bytes().len() as u64).sum()
    }

    /// Merges the selected series, unless all series of one block are selected.
    pub(super) fn union(&self, options: &Options<'_>, presence: bool) -> Result<Option<Union>, ReportError> {
        if self.blocks.len() == 1 && options.selectors.is_empty() {
            return Ok(None);
        }
        let views: Vec<BlockView<'_>> = self.in_order().into_iter().map(|block| **block.view()).collect();
        Union::merge(&views, options, presence).map(Some).map_err(|error| self.named(error))
    }

    /// Returns the block to count: the merged one, if there is one.
    pub(super) fn counted<'u>(&'u self, union: Option<&'u Union>) -> &'u IndexedBlock {
        union.map_or_else(|| self.blocks.first().expect("an input has at least one block"), |union| &union.block)
    }

    /// Returns the blocks in the order of time, and those without a time first.
    fn in_order(&self) -> Vec<&IndexedBlock> {
        let mut blocks: Vec<&IndexedBlock> = self.blocks.iter().collect();
        blocks.sort_by_cached_key(|block| {
            let time = block.view().meta().ok().and_then(|meta| meta.window().or(meta.time()));
            (time.map(|time| (time.start, time.end)), block.view().block_id())
        });
        blocks
    }

    /// Returns the figures of the files, in the order of time.
    pub(super) fn prepare(&self) -> Result<Prepared, ReportError> {
        let mut prepared = Prepared {
            blocks: Vec::new(),
            parts: Vec::new(),
            times: Vec::new(),
            has_equal_external_labels: true,
            start: None,
            end: None,
        };
        let mut external_labels = None;
        let mut parts: BTreeMap<String, u64> = BTreeMap::new();
        let mut times = Vec::new();
        for block in self.in_order() {
            let summary = Summary::from_view(block.view())?;
            let first = external_labels.get_or_insert_with(|| summary.external_labels.clone());
            prepared.has_equal_external_labels &= *first == summary.external_labels;
            for part in summary.parts {
                *parts.entry(part.name).or_default() += part.bytes;
            }
            let meta = block.view().meta()?;
            times.push(meta.time());
            prepared.times.push(meta.window().or(meta.time()));
            let (start, end) = summary.time.map(|time| (time.start, time.end)).unzip();
            prepared.blocks.push(BlockFigures {
                name: name_of(block),
                id: summary.block_id,
                bytes: summary.bytes,
                series: summary.series,
                start,
                end,
            });
        }
        prepared.parts = parts.into_iter().map(|(name, bytes)| Part { name, bytes }).collect();
        prepared.parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
        // If one block has no time, the time of all is unknown.
        if times.iter().all(Option::is_some) {
            let all = times
                .into_iter()
                .flatten()
                .reduce(|all, time| TimeRange { start: all.start.min(time.start), end: all.end.max(time.end) });
            (prepared.start, prepared.end) = all.map(summary::times).map(|time| (time.start, time.end)).unzip();
        }
        Ok(prepared)
    }

    /// Names the block in an error of a merge.
    fn named(&self, error: ReportError) -> ReportError {
        let ReportError::Merge(error) = error else { return error };
        let block = error.input().and_then(|input| self.in_order().get(input).map(|block| name_of(block)));
        match block {
            Some(name) => ReportError::Input { name, error },
            None => ReportError::Merge(error),
        }
    }
}

/// Returns the path of a block.
fn name_of(block: &IndexedBlock) -> String {
    block.block().path().map(|path| path.display().to_string()).unwrap_or_default()
}
