//! Memory of assembling and sealing.

use chronoxide_labels::{LabelSets, Plans, StoreRef};

use super::assembler::Assembler;
use super::blocks::BlockSink;
use super::options::AssembleOptions;
use super::windows::Times;

/// Factor for the memory of metric metadata during sealing: six copies (assembled, the set of the block and its copy,
/// the section, the block, the block as read back), and buffers that have grown to twice their content.
const METADATA_COPIES: usize = 8;

/// Shares of the memory limit that a store and its sealing may take, as a fraction. The next store fills in the rest
/// while this one is sealed: of an OTLP store, sealing takes twice as much as the store itself.
const STORE_SHARE: (usize, usize) = (3, 4);

/// Share of the memory limit for the plans of the blocks before, and its maximum in bytes: some ten thousand keysets.
const PLANS_SHARE: usize = 16;
const MAX_PLANS_BYTES: usize = 16 << 20;

/// Returns the plans of the blocks of a run.
pub(super) fn plans(options: &AssembleOptions) -> Plans {
    Plans::new(plans_bytes(options)).with_threads(options.threads)
}

/// Returns the memory in bytes for the plans of blocks.
fn plans_bytes(options: &AssembleOptions) -> usize {
    options.max_memory.map_or(MAX_PLANS_BYTES, |limit| MAX_PLANS_BYTES.min(limit / PLANS_SHARE))
}

impl<B: BlockSink> Assembler<B> {
    /// Waits until the series so far and those that are being sealed fit into the limit, and returns true if sealing
    /// the series so far may use all memory that the options allow for a store.
    pub(super) fn wait_or_cut(&mut self) -> bool {
        let sealing = self.sealer.memory();
        if sealing > 0 && self.options.max_memory.is_some_and(|limit| sealing + self.memory_in_use() > limit) {
            self.sealer.join();
        }
        self.is_memory_exhausted()
    }

    /// Returns true if sealing the series now may use all memory that the options allow for a store.
    ///
    /// The decision depends only on counts, not on the allocator or on other threads: equal inputs are cut at equal
    /// places.
    fn is_memory_exhausted(&self) -> bool {
        let Some(limit) = self.options.max_memory else { return false };
        let share = if self.options.one_block { limit } else { limit / STORE_SHARE.1 * STORE_SHARE.0 };
        self.memory_needed() > share
    }

    /// Returns true if the store has as many symbols as the options allow.
    pub(super) fn has_max_symbols(&self) -> bool {
        !self.options.one_block && self.store.symbol_count() > self.options.max_symbols as usize
    }

    /// Returns the peak memory of sealing all series in bytes. Costs no pass over them.
    pub(super) fn memory_needed(&self) -> usize {
        let layouts = if self.options.compare_layouts { 2 } else { 1 };
        self.store.peak_memory(self.options.layout) * layouts
            + self.columns.sealing_bytes()
            + self.metrics.estimated_bytes() * METADATA_COPIES
            + self.memory_besides_store()
    }

    /// Returns the memory of the series in bytes, as long as they are not sealed.
    fn memory_in_use(&self) -> usize {
        self.store.estimated_bytes() + self.metrics.estimated_bytes() + self.memory_besides_store()
    }

    fn memory_besides_store(&self) -> usize {
        let levels = [&self.resource, &self.scope, &self.point];
        self.windows.estimated_bytes()
            + plans_bytes(&self.options)
            + self.families.estimated_bytes()
            + self.lists.estimated_bytes()
            + self.outside_memory
            + levels.map(|level| level.estimated_bytes()).into_iter().sum::<usize>()
    }

    /// Returns true if these times touch enough windows that adding the series to all of them takes a quarter of the
    /// memory.
    pub(super) fn is_too_wide(&self, series: StoreRef, times: Option<Times>) -> bool {
        let (Some(limit), Some((first, last))) = (self.options.max_memory, times) else { return false };
        // A single time lies in one window.
        if first == last {
            return false;
        }
        // The first series of a store need few bytes in each window.
        let bytes = self.windows.bytes_per_window(series, self.series_values.len()) as u64;
        bytes > 64 && self.windows.span(times).saturating_mul(bytes) > limit as u64 / 4
    }
}
