//! Blocks that are merged into one file: [`Pieces`].

use std::path::Path;

use chronoxide_compactor::{
    CompactError, CompactOptions, Compaction, CompactionError, LEAST_MEMORY, Observer, Phase, verify_file,
};
use chronoxide_format::view::BlockView;
use chronoxide_publish::{Disk, Existing, Spool, SpoolError};
use chronoxide_reader::{Block, Checks, OpenError};
use chronoxide_text::human;

use crate::{Exit, Failure, Interruption, OrExit};

/// The smallest memory limit with which pieces are merged: half of it for them, half for the merge.
pub(crate) const LEAST_LIMIT: usize = 2 * LEAST_MEMORY;

/// Bytes of pieces in memory before they go to a temporary file.
const BYTES_IN_MEMORY: usize = 1 << 20;

/// Error of pieces.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PieceError {
    /// The temporary file cannot be written.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The merge could need more memory than the limit.
    #[error(
        "one block of all inputs does not fit into the memory limit: the {count} blocks that did fit could need {} or \
         more to be merged; write several blocks to a folder (--output DIR/), or raise --memory-limit",
        human::bytes(*needed)
    )]
    Memory {
        /// Number of pieces so far.
        count: usize,
        /// Approximate maximum number of bytes for a step of the merge.
        needed: u64,
    },
}

/// Sealed blocks of a run that become one block at the end. They wait in a temporary file beside the output. A killed
/// run leaves this file behind, and the next run removes it.
pub(crate) struct Pieces {
    spool: Spool<'static>,
    /// End of each block in the spool.
    ends: Vec<u64>,
    /// Memory of the run in bytes.
    memory_limit: usize,
}

impl Pieces {
    /// Creates an empty set for an output.
    pub(crate) fn beside(output: &Path, memory_limit: usize) -> Self {
        let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
        let spool = Spool::new(&Disk, parent.unwrap_or(Path::new(".")), BYTES_IN_MEMORY);
        Self { spool, ends: Vec::new(), memory_limit }
    }

    /// Returns true if there are no blocks.
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds a block.
    ///
    /// # Errors
    /// The temporary file cannot be written, or the blocks take more than half of the memory limit: the merge has them
    /// in memory.
    pub(crate) fn push(&mut self, block: &[u8]) -> Result<(), PieceError> {
        self.spool.append(block)?;
        self.ends.push(self.spool.byte_len());
        if self.spool.byte_len() > self.memory_limit as u64 / 2 {
            let (count, needed) = (self.ends.len(), self.spool.byte_len().saturating_mul(2));
            return Err(PieceError::Memory { count, needed });
        }
        Ok(())
    }

    /// Merges the blocks into `output`, and returns it.
    ///
    /// # Errors
    /// The blocks and the merge could need more than the memory limit, the run is interrupted, the temporary file
    /// cannot be read, or the output cannot be published.
    pub(crate) fn merge(
        self,
        output: &Path,
        existing: Existing,
        options: &CompactOptions,
        interruption: &Interruption,
    ) -> Result<Block, Failure> {
        let blocks = self.read().or_exit(Exit::Io)?;
        self.spool.close().or_exit(Exit::Io)?;
        let bytes: usize = blocks.iter().map(Vec::len).sum();
        let mut arenas = vec![Vec::new(); blocks.len()];
        let views: Vec<BlockView<'_>> = (blocks.iter().zip(&mut arenas))
            .map(|(block, arena)| BlockView::open_unpacked(block, arena))
            .collect::<Result<_, _>>()
            .or_exit(Exit::Io)?;
        let memory_limit = Some(self.memory_limit.saturating_sub(bytes));
        let options = CompactOptions { memory_limit, are_pieces: true, ..options.clone() };
        let observer = Interruptible { interruption };
        let compaction = Compaction { observer: &observer, ..Compaction::new(&views, &options) };
        match compaction.merge_to_file(output, existing, &|path| verify_file(path, &map)) {
            Ok((_, published)) => map(&published.path).or_exit(Exit::Io),
            Err(CompactionError::Compact(CompactError::Memory { needed, .. })) => {
                let needed = needed.saturating_add(bytes as u64);
                Err(Failure::new(Exit::Usage, PieceError::Memory { count: blocks.len(), needed }))
            }
            Err(error) => Err(Failure::new(Exit::Io, error)),
        }
    }

    /// Reads all blocks.
    fn read(&self) -> Result<Vec<Vec<u8>>, SpoolError> {
        let contents = self.spool.contents();
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let block = |(start, end): (u64, &u64)| {
            let mut block = vec![0; (end - start) as usize];
            contents.read_exact_at(start, &mut block)?;
            Ok(block)
        };
        starts.zip(&self.ends).map(block).collect()
    }
}

/// Maps a written block. The arena of an archive is not decoded.
fn map(path: &Path) -> Result<Block, OpenError> {
    // SAFETY: this run wrote the file. Published blocks are never changed, only deleted or replaced by renaming, which
    // does not affect a map.
    unsafe { Block::map_packed(path, Checks::Never) }
}

/// Stops a merge when the user interrupts it.
struct Interruptible<'a> {
    interruption: &'a Interruption,
}

impl Observer for Interruptible<'_> {
    fn progress(&self, _phase: Phase, _done: u64, _total: u64) -> bool {
        !self.interruption.is_set()
    }
}
