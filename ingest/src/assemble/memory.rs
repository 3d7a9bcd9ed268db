//! Memory that collecting and sealing take.

use super::assembler::Assembler;
use super::windows::Times;
use chronoxide_labels::StoreRef;

/// Factor for the memory of metric metadata while a block is sealed: six copies (collected, the block's set and its copy, the
/// section, the block, the block as it is read again), and buffers that have grown to twice their content.
const METADATA_COPIES: usize = 8;

impl<B> Assembler<B> {
    /// Returns true if sealing what was collected may take all the memory that the options allow.
    ///
    /// The decision rests on counts alone, not on what the allocator did: the same inputs are cut at the same places.
    pub(super) fn is_memory_used(&self) -> bool {
        self.options.max_memory.is_some_and(|limit| self.memory_needed() > limit)
    }

    /// Bytes of memory that sealing everything takes at its peak. Costs no pass over what was collected.
    fn memory_needed(&self) -> usize {
        let layouts = if self.options.compare_layouts { 2 } else { 1 };
        let levels = [&self.resource, &self.scope, &self.point];
        self.store.peak_memory(self.options.layout) * layouts
            + self.windows.memory_used()
            + self.metrics.memory_used() * METADATA_COPIES
            + self.said_bytes
            + self.recall.memory_used()
            + self.outside_memory
            + levels.map(|level| level.memory_used()).into_iter().sum::<usize>()
    }

    /// Returns true if these times touch so many windows that the sets of all of them, each with a place for this
    /// series, take a quarter of the memory.
    pub(super) fn is_too_wide(&self, series: StoreRef, times: Option<Times>) -> bool {
        let (Some(limit), Some((first, last))) = (self.options.max_memory, times) else { return false };
        // A point is in one window.
        if first == last {
            return false;
        }
        // The first series of a store takes some bytes in each.
        let bytes = series.index() as u64 / 8;
        bytes > 64 && self.windows.span(times).saturating_mul(bytes) > limit as u64 / 4
    }
}
