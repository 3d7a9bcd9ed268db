//! [`SealedLabelSets`]: the series of a keyset store, sealed into a block in memory.

use std::fmt;
use std::marker::PhantomData;

use chronoxide_format::write::BlockMeta;
use chronoxide_labels::{Counted, KeysetStore, LabelError, LabelSets, Layout, SealError, StoreRef, labelset};
use chronoxide_reader::{Block, Checks, SeriesRef};

/// Width of the codes in the rows of a sealed store.
pub trait RowWidth {
    /// Layout of the block.
    const LAYOUT: Layout;
}

/// Codes in whole bytes: 0, 1, 2 or 4.
#[derive(Debug, Clone, Copy)]
pub struct WholeBytes;

/// Codes in exactly the bits of the largest one.
#[derive(Debug, Clone, Copy)]
pub struct ExactBits;

impl RowWidth for WholeBytes {
    const LAYOUT: Layout = Layout::FixedWidth;
}

impl RowWidth for ExactBits {
    const LAYOUT: Layout = Layout::BitPacked;
}

/// Sealed store with codes in whole bytes.
pub type FixedWidthPackedKeySetLabelSetStore = SealedLabelSets<WholeBytes>;

/// Sealed store with codes in exactly the bits that they need.
pub type BitPackedKeySetLabelSetStore = SealedLabelSets<ExactBits>;

/// Labelsets in a block in memory. It has no hash table: labelsets are found by binary search, and refs are those of
/// the block, which are dense.
#[derive(Clone)]
pub struct SealedLabelSets<W> {
    block: Block,
    len: usize,
    width: PhantomData<W>,
}

impl<W: RowWidth> SealedLabelSets<W> {
    /// Seals the series of a store. Returns the sealed store, and for each ref of the old store the ref of the series
    /// in the new one.
    ///
    /// # Errors
    /// A count of the store exceeds the format.
    pub fn from_store(store: &KeysetStore) -> Result<(Self, Vec<StoreRef>), SealError> {
        let sealed = store.seal(W::LAYOUT, &BlockMeta::default())?;
        let refs: Vec<StoreRef> = sealed.refs.iter().map(|series| StoreRef(series.0)).collect();
        let block = sound(Block::from_vec(sealed.block, Checks::Never));
        Ok((Self { block, len: refs.len(), width: PhantomData }, refs))
    }

    /// Returns the block.
    #[must_use]
    pub fn block(&self) -> &Block {
        &self.block
    }
}

/// Returns the result of reading a block that was sealed in this process, and cannot be damaged.
fn sound<T, E: fmt::Debug>(result: Result<T, E>) -> T {
    result.expect("a block that was just sealed is sound")
}

impl<W> fmt::Debug for SealedLabelSets<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedLabelSets").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<W> LabelSets for SealedLabelSets<W> {
    fn find(&self, labels: &[(&str, &str)]) -> Result<Option<StoreRef>, LabelError> {
        labelset::check(labels)?;
        Ok(sound(self.block.view().find(labels.iter().copied())).map(|series| StoreRef(series.0)))
    }

    fn visit(&self, series: StoreRef, mut each: impl FnMut(&str, &str)) -> Result<(), LabelError> {
        let view = self.block.view();
        let Some(found) = sound(view.series(SeriesRef(series.0))) else {
            return Err(LabelError::Unknown { what: Counted::Series, number: series.0 });
        };
        for label in sound(view.text()).labels(&found) {
            let label = sound(label);
            each(label.name, label.value);
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.len
    }

    fn estimated_bytes(&self) -> usize {
        self.block.bytes().len()
    }

    fn used_bytes(&self) -> usize {
        self.block.bytes().len()
    }
}
