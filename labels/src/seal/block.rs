//! A store as the bytes of a block.

use super::selection::Selection;
use super::write::{BlockTarget, write};
use crate::keyset::KeysetStore;
use bitvec::slice::BitSlice;
use chronoxide_format::build::{BlockBuilder, BlockMeta, BuildError};
use chronoxide_format::layout::RowForm;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::{KeyId, SeriesRef, SymbolId};

/// A store as a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The bytes of the block.
    pub block: Vec<u8>,
    /// The block's ref of each series, by its number in the store: a permutation.
    pub refs: Vec<SeriesRef>,
}

/// Why a store cannot be sealed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The builder refuses a part: what the meta data say, or a count.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A name is longer than the policy that the block would record.
    #[error("a label name has {len} bytes, and the block's policy says at most {limit}")]
    NameBreaksPolicy {
        /// Bytes of the name.
        len: u32,
        /// The policy's limit.
        limit: u32,
    },
    /// A value is longer than the policy that the block would record.
    #[error("a label value has {len} bytes, and the block's policy says at most {limit}")]
    ValueBreaksPolicy {
        /// Bytes of the value.
        len: u32,
        /// The policy's limit.
        limit: u32,
    },
}

impl KeysetStore {
    /// The series of this store as a block, with rows in this form.
    ///
    /// The bytes depend on the series, the form and the meta data, and on nothing else: not on the order of arrival,
    /// nor on what was interned and not used. The store stays as it is.
    ///
    /// Costs one pass over all codes, sorting the symbols and, keyset by keyset, the rows. Holds the block and twice
    /// the rows of the largest keyset.
    ///
    /// ```
    /// use chronoxide_format::{build::BlockMeta, layout::RowForm, view::BlockView};
    /// use chronoxide_labels::{KeysetStore, LabelSetStore};
    ///
    /// let mut store = KeysetStore::new();
    /// let (late, _) = store.insert(&[("__name__", "up"), ("job", "checkout")])?;
    /// let (early, _) = store.insert(&[("__name__", "up"), ("job", "cart")])?;
    /// let sealed = store.seal(RowForm::BitPacked, &BlockMeta::default())?;
    /// assert_eq!([sealed.refs[late.index()].0, sealed.refs[early.index()].0], [1, 0]);
    ///
    /// let block = BlockView::open(&sealed.block)?;
    /// block.verify()?;
    /// assert_eq!(block.find([("__name__", "up"), ("job", "cart")])?, Some(sealed.refs[early.index()]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The meta data are not in order, names or values are longer than their policy says, or a count of the format has
    /// run out.
    pub fn seal(&self, form: RowForm, meta: &BlockMeta) -> Result<Sealed, SealError> {
        let (block, refs) = self.seal_selection(&Selection::ALL, form, meta)?;
        Ok(Sealed { block, refs })
    }

    /// The series whose bit is set, by their number in the store, as a block. Otherwise as [`seal`](Self::seal): it
    /// is the block of a store that has only these.
    ///
    /// # Errors
    ///
    /// As [`seal`](Self::seal).
    pub fn seal_selected(&self, selected: &BitSlice, form: RowForm, meta: &BlockMeta) -> Result<Vec<u8>, SealError> {
        Ok(self.seal_selection(&Selection::of(self, selected), form, meta)?.0)
    }

    fn seal_selection(
        &self,
        selection: &Selection,
        form: RowForm,
        meta: &BlockMeta,
    ) -> Result<(Vec<u8>, Vec<SeriesRef>), SealError> {
        let mut target = Target { builder: BlockBuilder::new(form), policy: meta.policy, lens: Vec::new() };
        let refs = write(self, selection, &mut target)?;
        Ok((target.builder.finish(meta)?, refs))
    }
}

/// A block builder that holds names and values to the policy.
struct Target {
    builder: BlockBuilder,
    policy: LabelPolicy,
    /// Bytes of each symbol.
    lens: Vec<u32>,
}

impl Target {
    fn len(&self, symbol: u32) -> u32 {
        self.lens.get(symbol as usize).copied().unwrap_or_default()
    }
}

impl BlockTarget for Target {
    type Error = SealError;

    fn symbol(&mut self, text: &str) -> Result<(), SealError> {
        self.builder.push_symbol(text)?;
        // The builder takes no symbol whose length does not fit.
        self.lens.push(text.len() as u32);
        Ok(())
    }

    fn key(&mut self, name: u32, values: &[u32]) -> Result<(), SealError> {
        let (len, limit) = (self.len(name), self.policy.max_name_len());
        if len > limit {
            return Err(SealError::NameBreaksPolicy { len, limit });
        }
        let limit = self.policy.max_value_len();
        if let Some(len) = values.iter().map(|&value| self.len(value)).find(|&len| len > limit) {
            return Err(SealError::ValueBreaksPolicy { len, limit });
        }
        let values: Vec<SymbolId> = values.iter().copied().map(SymbolId).collect();
        self.builder.push_key(SymbolId(name), &values)?;
        Ok(())
    }

    fn keyset(&mut self, keys: &[u32], rows: &[u32]) -> Result<u32, SealError> {
        let keys: Vec<KeyId> = keys.iter().copied().map(KeyId).collect();
        Ok(self.builder.push_keyset(&keys, rows)?.0)
    }
}
