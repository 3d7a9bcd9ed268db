//! [`Union`]: blocks merged into one in memory, and which of its series each block has.

use std::env;

use chronoxide_compactor::{AnnotationPolicy, CompactOptions, Compaction, SCRATCH_MEMORY};
use chronoxide_format::remap::RemapView;
use chronoxide_format::view::BlockView;
use chronoxide_publish::{Disk, Spool};
use chronoxide_reader::{Block, Checks};
use chronoxide_select::{IndexedBlock, Selection};

use super::{Options, ReportError};

/// The selected series of blocks, as one block: each series once.
pub(super) struct Union {
    pub(super) block: IndexedBlock,
    /// Series of each block, in the order of the blocks.
    pub(super) presence: Vec<Selection>,
}

impl Union {
    /// Merges the series that match at least one selector, or all series without selectors. External labels and
    /// annotations are left out.
    ///
    /// Costs the time and memory of a compaction. With `presence`, also a pass over the series of all blocks. It takes
    /// 4 bytes of memory per series of the block that is read, then 8 per range of its series.
    pub(super) fn merge(blocks: &[BlockView<'_>], options: &Options<'_>, presence: bool) -> Result<Self, ReportError> {
        let compact_options = CompactOptions {
            keep: options.selectors.to_vec(),
            annotations: AnnotationPolicy::Drop,
            drop_external_labels: true,
            memory_limit: options.memory_limit,
            ..CompactOptions::default()
        };
        let compaction = Compaction::new(blocks, &compact_options);
        let scratch_folder = env::temp_dir();
        let mut spool = Spool::new(&Disk, &scratch_folder, SCRATCH_MEMORY);
        let (mut block, mut presences) = (Vec::new(), vec![Selection::default(); blocks.len()]);
        let write = |_, draft: chronoxide_compactor::Draft<'_>| {
            let mut out = std::io::Cursor::new(Vec::new());
            let id = draft.write_to(&mut out)?;
            block = out.into_inner();
            Ok::<_, ReportError>(id)
        };
        if presence {
            compaction.merge_to_drafts_with_remaps(&mut spool, write, |input, remap| {
                let remap = RemapView::open(&remap)?;
                let series =
                    remap.targets()?.filter_map(|target| target.map(|target| Some(target?.series)).transpose());
                presences[input] = series.collect::<Result<_, _>>()?;
                Ok(())
            })?;
        } else {
            compaction.merge_to_drafts(&mut spool, write)?;
        }
        spool.close()?;
        // No checks: the bytes were just written.
        Ok(Self { block: Block::from_vec(block, Checks::Never)?.into(), presence: presences })
    }
}
