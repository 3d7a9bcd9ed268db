//! Sealed blocks, and their sink.

use std::error::Error;

use chronoxide_labels::Layout;

/// Sealed block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedBlock {
    /// Bytes of the block.
    pub block: Vec<u8>,
    /// Layout of the block.
    pub layout: Layout,
    /// Blocks of these series in the other layouts, with [`compare_layouts`](super::AssembleOptions::compare_layouts).
    pub others: Vec<(Layout, Vec<u8>)>,
    /// Number of series in the store, which may be more than in the block.
    pub store_series: usize,
    /// Memory of the store in bytes.
    pub store_memory: usize,
}

/// Sink of sealed blocks. All but the last are sealed, and given to it, on another thread, unless the options say
/// otherwise.
pub trait BlockSink: Send + 'static {
    /// Takes a block.
    ///
    /// # Errors
    ///
    /// Any error ends the run.
    fn take(&mut self, sealed: SealedBlock) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// Keeps blocks in memory.
impl BlockSink for Vec<Vec<u8>> {
    fn take(&mut self, sealed: SealedBlock) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.push(sealed.block);
        Ok(())
    }
}
