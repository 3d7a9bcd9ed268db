//! The memory that sealing a store takes.

use crate::keyset::{KeysetStore, StoreCounts};
use chronoxide_planner::Layout;

/// What sealing takes on top of the store, as tenths of the store: ranks, sorted rows, the sections, the block. Measured
/// for stores of many shapes (`labels/tests/memory.rs`): 12 to 21.
const TENTHS_OF_STORE: usize = 22;

/// Bytes that the allocator adds for each key and each keyset, which have allocations of their own.
const ALLOCATIONS: usize = 100;

/// Bytes for the planner: for each keyset, each key of a keyset and each label of a series.
const PLANNER_PER_KEYSET: usize = 150;
const PLANNER_PER_KEYSET_KEY: usize = 40;
const PLANNER_PER_CODE: usize = 4;

/// Bytes that small stores take too.
const SMALL: usize = 1 << 20;

impl KeysetStore {
    /// Returns the bytes of memory in use at the peak of [sealing](Self::seal) all series of this store, the store and
    /// the block included, at most: an estimate from counts, which costs no pass over the store.
    ///
    /// Equal stores give equal estimates, so that a caller that seals before a limit is reached does so at the same
    /// place of the same input.
    #[must_use]
    pub fn peak_memory(&self, layout: Layout) -> usize {
        let StoreCounts { store_bytes, keys, keysets, keyset_keys, codes } = self.counts();
        let planner = match layout {
            Layout::Factored => {
                keysets * PLANNER_PER_KEYSET + keyset_keys * PLANNER_PER_KEYSET_KEY + codes * PLANNER_PER_CODE
            }
            Layout::BitPacked | Layout::FixedWidth => 0,
        };
        store_bytes + store_bytes / 10 * TENTHS_OF_STORE + (keys + keysets) * ALLOCATIONS + planner + SMALL
    }
}
