//! Pieces of a block that does not fit into the memory limit: [`Pieces`].

use std::io;
use std::path::Path;

use chronoxide_cli::{Exit, Failure, Interruption, OrExit, human};
use chronoxide_compactor::{
    CompactError, CompactOptions, Compaction, CompactionError, LEAST_MEMORY, Observer, Phase, verify,
};
use chronoxide_format::view::BlockView;
use chronoxide_publish::{Disk, Existing, Spool, SpoolError};
use chronoxide_reader::lineage::Lineage;

/// Bytes of pieces in memory. More go to a temporary file beside the output.
const PIECES_IN_MEMORY: usize = 1 << 20;

/// Error of pieces.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PieceError {
    /// The temporary file cannot be written.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The merge would need more memory than the limit.
    #[error(
        "one block of all inputs does not fit into the memory limit: merging its {count} parts could need {}; write \
         several blocks to a folder (--output DIR/), or raise --memory-limit",
        human::bytes(*needed)
    )]
    Memory {
        /// Number of pieces so far.
        count: usize,
        /// Approximate maximum number of bytes.
        needed: u64,
    },
}

/// Sealed blocks that become one block in the end. A killed run leaves them in a temporary file, which the next run
/// removes.
pub(crate) struct Pieces {
    spool: Spool<'static>,
    /// End of each block in the spool.
    ends: Vec<u64>,
    /// Memory of the run in bytes.
    memory_limit: usize,
}

/// Returns the smallest memory limit with which pieces can be merged.
pub(crate) const fn least_limit() -> usize {
    2 * LEAST_MEMORY
}

impl Pieces {
    /// Creates an empty set for an output.
    pub(crate) fn beside(output: &Path, memory_limit: usize) -> Self {
        let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
        let spool = Spool::new(&Disk, parent.unwrap_or(Path::new(".")), PIECES_IN_MEMORY);
        Self { spool, ends: Vec::new(), memory_limit }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds a block.
    ///
    /// # Errors
    /// The temporary file cannot be written, or the blocks take more than half of the memory limit: the merge, which
    /// holds them, would not fit.
    pub(crate) fn push(&mut self, block: &[u8]) -> Result<(), PieceError> {
        self.spool.append(block)?;
        self.ends.push(self.spool.byte_len());
        if self.spool.byte_len() > self.memory_limit as u64 / 2 {
            let (count, needed) = (self.ends.len(), self.spool.byte_len().saturating_mul(2));
            return Err(PieceError::Memory { count, needed });
        }
        Ok(())
    }

    /// Merges the blocks into `output`, and returns its bytes as they were read again. The blocks are in memory as a
    /// whole, besides what the merge needs.
    ///
    /// # Errors
    /// The blocks and the merge need more than the memory limit, the run is interrupted, the temporary file cannot be
    /// read, or the output cannot be published.
    pub(crate) fn merge(
        self,
        output: &Path,
        existing: Existing,
        options: &CompactOptions,
        interruption: &Interruption,
    ) -> Result<Vec<u8>, Failure> {
        let Self { memory_limit, .. } = self;
        let blocks = self.read().or_exit(Exit::Io)?;
        self.spool.close().or_exit(Exit::Io)?;
        let mut arenas = vec![Vec::new(); blocks.len()];
        let views: Vec<BlockView<'_>> = (blocks.iter().zip(&mut arenas))
            .map(|(block, arena)| BlockView::open_unpacked(block, arena))
            .collect::<Result<_, _>>()
            .or_exit(Exit::Io)?;
        let bytes: usize = blocks.iter().map(Vec::len).sum();
        let left = memory_limit.saturating_sub(bytes);
        let options = CompactOptions { memory_limit: Some(left), ..options.clone() };
        let observer = Interruptible { interruption };
        let compaction = Compaction { observer: &observer, ..Compaction::new(&views, &options) };
        let merged = compaction.merge_to_file(output, existing, &lineage);
        match merged {
            Ok((_, published)) => std::fs::read(published.path).or_exit(Exit::Io),
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
        starts
            .zip(&self.ends)
            .map(|(start, end)| {
                let mut block = vec![0; (end - start) as usize];
                contents.read_exact_at(start, &mut block)?;
                Ok(block)
            })
            .collect()
    }
}

/// Verifies a written block.
fn lineage(path: &Path) -> Result<Lineage, io::Error> {
    let (block, mut arena) = (std::fs::read(path)?, Vec::new());
    let view = BlockView::open_unpacked(&block, &mut arena).map_err(io::Error::other)?;
    verify(&view).map_err(io::Error::other)?;
    Lineage::from_view(&view).map_err(io::Error::other)
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
