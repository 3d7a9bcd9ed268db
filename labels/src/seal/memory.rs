//! Memory of sealing a store.

use chronoxide_planner::Layout;

use crate::keyset::{KeysetStore, StoreCounts};

// Memory of sealing on top of the store, in bytes per item. Each is an upper bound for buffers that need not exist at
// the same time, measured for stores of many shapes (`labels/tests/memory.rs`).

/// Per byte of a string: the section, which grows to twice its content, and the block.
const PER_TEXT_BYTE: usize = 3;

/// Per byte of packed codes: the section, the block, and the block as it is read back.
const PER_PACKED_BYTE: usize = 3;

/// Per symbol: whether it is used, its first bytes and id while they are sorted, its rank, and its place in the block.
const PER_SYMBOL: usize = 64;

/// Per value of a key: its rank, rank and code while they are sorted, and its place in the dictionary.
const PER_VALUE: usize = 64;

/// Per series: its row, its ref, and its first bits while rows are sorted.
const PER_SERIES: usize = 36;

/// Per ref and code of the largest keyset: rows before and after they are sorted.
const PER_SORTED_CODE: usize = 8;

/// Per key, per keyset, and per key of a keyset. Keys and keysets are allocated separately.
const PER_KEY: usize = 360;
const PER_KEYSET: usize = 400;
const PER_KEYSET_KEY: usize = 40;

/// For the planner, per label of a series, per keyset, and per key of a keyset.
const PLANNER_PER_CODE: usize = 4;
const PLANNER_PER_KEYSET: usize = 150;
const PLANNER_PER_KEYSET_KEY: usize = 40;

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
        let counts = self.counts();
        let StoreCounts { keys, keysets, keyset_keys, codes, packed_bytes, .. } = counts;
        let (packed, planner) = match layout {
            Layout::Factored => {
                let keysets = keysets * PLANNER_PER_KEYSET + keyset_keys * PLANNER_PER_KEYSET_KEY;
                (packed_bytes, keysets + codes * PLANNER_PER_CODE)
            }
            Layout::BitPacked => (packed_bytes, 0),
            // Codes of whole bytes.
            Layout::FixedWidth => (packed_bytes + codes, 0),
        };
        counts.store_bytes
            + counts.text_len * PER_TEXT_BYTE
            + packed * PER_PACKED_BYTE
            + counts.symbols * PER_SYMBOL
            + counts.values * PER_VALUE
            + counts.series * PER_SERIES
            + counts.largest_keyset * PER_SORTED_CODE
            + keys * PER_KEY
            + keysets * PER_KEYSET
            + keyset_keys * PER_KEYSET_KEY
            + planner
            + SMALL
    }
}
