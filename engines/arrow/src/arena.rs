//! [`Arena`]: the strings of a block as buffers of Arrow.

use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_buffer::alloc::Allocation;
use chronoxide_reader::Block;

/// Bytes from the start of one buffer to that of the next. Offsets of a view have 31 bits.
const BUFFER_STEP: usize = 1 << 30;
/// Bytes by which a buffer reaches into the next, so that every symbol lies within one: symbols are shorter.
const OVERLAP: usize = 1 << 16;

/// The arena of a block as buffers, which share its memory and keep the block open.
#[derive(Debug)]
pub(crate) struct Arena {
    /// Windows of the arena; one for most blocks.
    buffers: Arc<[Buffer]>,
    step: usize,
}

impl Arena {
    /// Wraps the arena of a block. Costs nothing: no bytes are copied or read.
    pub(crate) fn new(block: &Block) -> Self {
        Self::with_step(block, BUFFER_STEP)
    }

    /// Like [`Arena::new`], with another distance between buffers.
    fn with_step(block: &Block, step: usize) -> Self {
        // A block never changes: a panic elsewhere leaves nothing half-done in it.
        let owner: Arc<dyn Allocation> = Arc::new(AssertUnwindSafe(block.clone()));
        let view = block.view();
        let arena = view.symbols().arena();
        let starts = (0..arena.len().max(1)).step_by(step);
        let buffers = starts.map(|start| {
            let window = arena.get(start..arena.len().min(start + step + OVERLAP)).unwrap_or_default();
            let pointer = NonNull::from(window).cast::<u8>();
            // SAFETY: the pointer and the length are those of a slice of the bytes of `block`, or of its decoded arena.
            // They stay valid and unchanged while a clone of the block exists, by the contract of `Block::map` or
            // because the block owns them, and `owner` is such a clone.
            unsafe { Buffer::from_custom_allocation(pointer, window.len(), Arc::clone(&owner)) }
        });
        Self { buffers: buffers.collect(), step }
    }

    /// Returns the buffers.
    pub(crate) fn buffers(&self) -> &Arc<[Buffer]> {
        &self.buffers
    }

    /// Returns the buffer that has a symbol of `len` bytes from `offset` of the arena, and its offset in the buffer, or
    /// `None` if it does not lie within the buffer.
    pub(crate) fn place(&self, offset: usize, len: usize) -> Option<(u32, u32)> {
        let (buffer, start) = (offset / self.step, offset % self.step);
        let end = start.checked_add(len)?;
        if self.buffers.get(buffer)?.len() < end {
            return None;
        }
        Some((u32::try_from(buffer).ok()?, u32::try_from(start).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use chronoxide_reader::Checks;

    use super::*;

    #[test]
    fn every_symbol_lies_within_the_buffer_of_its_place() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/plain-bitpacked.cx");
        let block = Block::read(path, Checks::Lazy).expect("a golden block");
        let view = block.view();
        let arena = view.symbols().arena();
        for step in [1, 7, 64, BUFFER_STEP] {
            let wrapped = Arena::with_step(&block, step);
            assert_eq!(wrapped.buffers().len(), arena.len().div_ceil(step));
            for offset in 0..arena.len() {
                let len = (arena.len() - offset).min(OVERLAP);
                let (buffer, place) = wrapped.place(offset, len).expect("symbols are shorter than the overlap");
                let found = &wrapped.buffers()[buffer as usize][place as usize..][..len];
                assert_eq!(found.as_ptr(), arena[offset..].as_ptr(), "bytes are shared, not copied");
                assert_eq!(found, &arena[offset..][..len]);
            }
            for (offset, len) in [(0, arena.len() + 1), (arena.len(), 1), (1, usize::MAX)] {
                assert_eq!(wrapped.place(offset, len), None);
            }
        }
    }

    #[test]
    fn buffers_keep_the_block_open() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/plain-bitpacked.cx");
        let block = Block::read(path, Checks::Lazy).expect("a golden block");
        let copy = block.view().symbols().arena().to_vec();
        let buffers = Arc::clone(Arena::new(&block).buffers());
        drop(block);
        assert_eq!(buffers[0].as_slice(), copy);
    }
}
