//! Memory of sealing a store.

use chronoxide_planner::Layout;

use crate::keyset::{KeysetStore, StoreCounts};

/// Memory of sealing on top of the store, in tenths of the store: ranks, sorted rows, sections, the block. Measured for
/// stores of many shapes (`labels/tests/memory.rs`): 12 to 25.
const TENTHS_OF_STORE: usize = 26;

/// Bytes that the allocator adds for each key and each keyset, which are allocated separately.
const ALLOCATIONS: usize = 100;

/// Bytes for the planner per keyset, per key of a keyset, and per label of a series.
const PLANNER_PER_KEYSET: usize = 150;
const PLANNER_PER_KEYSET_KEY: usize = 40;
const PLANNER_PER_CODE: usize = 4;

/// Minimum memory of sealing, for small stores.
const SMALL: usize = 1 << 20;

impl KeysetStore {
    /// Returns an upper estimate of the memory in bytes at the peak of [sealing](Self::seal) this store, including the
    /// store and the block. It is computed from counts, without a pass over the store.
    ///
    /// Equal stores give equal estimates: a caller that seals before it reaches a limit cuts the same input at the same
    /// place.
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
