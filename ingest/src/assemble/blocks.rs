//! Blocks as they are sealed, and who takes them.

use chronoxide_labels::Layout;
use std::error::Error;

/// A block, and what it was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedBlock {
    /// The block.
    pub block: Vec<u8>,
    /// Its layout.
    pub layout: Layout,
    /// The same series in the other layouts, if [asked for](super::AssembleOptions::compare_layouts).
    pub others: Vec<(Layout, Vec<u8>)>,
    /// Series that the store had, which may be more than those of the block.
    pub store_series: usize,
    /// Bytes of memory that the store used.
    pub store_memory: usize,
}

/// Takes blocks as they are sealed.
pub trait BlockSink {
    /// Takes a block.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being taken; it ends the run.
    fn take(&mut self, sealed: SealedBlock) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// Keeps them in memory.
impl BlockSink for Vec<Vec<u8>> {
    fn take(&mut self, sealed: SealedBlock) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.push(sealed.block);
        Ok(())
    }
}
