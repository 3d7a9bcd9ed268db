//! [`Inputs`]: open blocks with their names.

use std::path::Path;

use chronoxide_format::view::BlockView;
use chronoxide_locations::Wanted;
use chronoxide_reader::{Block, BlockId};

use super::{CompactionError, Publisher, Workplace};
use crate::{CompactError, CompactOptions, Compaction, Draft, Summary};

/// Blocks to merge, and their names for messages.
#[derive(Debug)]
pub struct Inputs {
    names: Vec<String>,
    blocks: Vec<Block>,
}

impl Inputs {
    /// Takes open blocks. Archives need not be decoded.
    #[must_use]
    pub fn new(blocks: Vec<(String, Block)>) -> Self {
        let (names, blocks) = blocks.into_iter().unzip();
        Self { names, blocks }
    }

    /// Brings blocks to this machine, and maps them.
    ///
    /// # Errors
    /// A block cannot be read, or is not the wanted one.
    pub fn open<'w>(
        place: &Workplace<'_>,
        wanted: impl IntoIterator<Item = Wanted<'w>>,
    ) -> Result<Self, CompactionError> {
        let named = |wanted: Wanted<'_>| Ok((place.location.name(wanted.key), place.open(&wanted)?));
        Ok(Self::new(wanted.into_iter().map(named).collect::<Result<_, CompactionError>>()?))
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Returns true if there are no blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the bytes of all blocks.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes().len() as u64).sum()
    }

    /// Returns the ids of the blocks.
    pub fn ids(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.blocks.iter().map(|block| block.view().block_id())
    }

    /// Returns the blocks.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Merges the blocks, and publishes the outputs. [Remaps](chronoxide_format::remap) go into a folder, if it is
    /// given. Archives are decoded, unless the merge could exceed the memory limit: a small file can have an arena that
    /// is hundreds of times as long.
    ///
    /// # Errors
    /// See [`CompactionError`].
    pub fn merge(
        &self,
        options: &CompactOptions,
        remaps: Option<&Path>,
        publisher: &mut Publisher<'_>,
    ) -> Result<Summary, CompactionError> {
        let place = publisher.place();
        let folder = place.scratch_folder()?;
        let publish = |_, draft: Draft<'_>| publisher.publish(draft.into());
        self.merge_to(options, place, remaps, |compaction| compaction.publish_in(&folder, publish))
    }

    /// Merges the blocks as `merge` does it.
    ///
    /// # Errors
    /// Those of `merge`, with the names of the inputs.
    pub fn merge_to<T>(
        &self,
        options: &CompactOptions,
        place: &Workplace<'_>,
        remaps: Option<&Path>,
        merge: impl FnOnce(&Compaction<'_>) -> Result<T, CompactionError>,
    ) -> Result<T, CompactionError> {
        let options = &CompactOptions { memory_limit: place.memory_limit, ..options.clone() };
        let compaction = |views| Compaction {
            system: place.system(),
            observer: place.observer,
            remaps,
            ..Compaction::new(views, options)
        };
        let views = || -> Vec<BlockView<'_>> { self.blocks.iter().map(|block| *block.view()).collect() };
        let packed = views();
        if packed.iter().any(BlockView::is_packed) {
            compaction(&packed).check_memory().map_err(|error| self.named(error))?;
            for (input, block) in self.blocks.iter().enumerate() {
                block.unpack().map_err(|source| self.named(CompactError::Input { input, source }))?;
            }
        }
        merge(&compaction(&views())).map_err(|error| match error {
            CompactionError::Compact(error) => self.named(error),
            error => error,
        })
    }

    /// Adds the name of the input to an error of a merge.
    #[must_use]
    pub fn named(&self, error: CompactError) -> CompactionError {
        let Some(input) = error.input().and_then(|input| self.names.get(input)) else { return error.into() };
        let reason = match &error {
            CompactError::ColumnsDiffer { other, name, .. } => {
                let other = self.names.get(*other).map_or("another input", String::as_str);
                format!(
                    "its column {name:?} differs from that of {other} in type or way to merge (--drop-column leaves it out)"
                )
            }
            error => error.reason(),
        };
        CompactionError::Input { input: input.clone(), reason, error }
    }
}
