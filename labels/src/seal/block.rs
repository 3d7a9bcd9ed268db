//! A store as the bytes of a block.

use super::order::BlockKey;
use super::selection::Selection;
use super::write::{BlockTarget, write};
use crate::keyset::KeysetStore;
use bitvec::slice::BitSlice;
use chronoxide_format::build::{BlockBuilder, BlockMeta, BuildError};
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::{KeyId, SeriesRef, SymbolId};
use chronoxide_planner::{Content, KeysetRows, Layout, plan};

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
    #[error("label name of {len} bytes exceeds the policy's limit of {limit}")]
    NameBreaksPolicy {
        /// Bytes of the name.
        len: u32,
        /// The policy's limit.
        limit: u32,
    },
    /// A value is longer than the policy that the block would record.
    #[error("label value of {len} bytes exceeds the policy's limit of {limit}")]
    ValueBreaksPolicy {
        /// Bytes of the value.
        len: u32,
        /// The policy's limit.
        limit: u32,
    },
}

impl KeysetStore {
    /// The series of this store as a block of this layout.
    ///
    /// The bytes depend on the series, on where their labels come from as far as the store was told, on the layout and on the meta data, and on nothing
    /// else: not on the order of arrival, nor on what was interned and not used. The store stays as it is. The block records the version of
    /// the planner, whatever the meta data say.
    ///
    /// Costs one pass over all codes, sorting the symbols and, keyset by keyset, the rows; a factored block some passes more. Holds the block and twice the
    /// rows of the largest keyset, for a factored block twice the rows of all.
    ///
    /// ```
    /// use chronoxide_format::{build::BlockMeta, view::BlockView};
    /// use chronoxide_labels::{KeysetStore, LabelSetStore, Layout};
    ///
    /// let mut store = KeysetStore::new();
    /// let (late, _) = store.insert(&[("__name__", "up"), ("job", "checkout")])?;
    /// let (early, _) = store.insert(&[("__name__", "up"), ("job", "cart")])?;
    /// let sealed = store.seal(Layout::Factored, &BlockMeta::default())?;
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
    pub fn seal(&self, layout: Layout, meta: &BlockMeta) -> Result<Sealed, SealError> {
        let (block, refs) = self.seal_selection(&Selection::ALL, layout, meta)?;
        Ok(Sealed { block, refs })
    }

    /// The series whose bit is set, by their number in the store, as a block. Otherwise as [`seal`](Self::seal): it
    /// is the block of a store that has only these.
    ///
    /// # Errors
    ///
    /// As [`seal`](Self::seal).
    pub fn seal_selected(&self, selected: &BitSlice, layout: Layout, meta: &BlockMeta) -> Result<Vec<u8>, SealError> {
        Ok(self.seal_selection(&Selection::from_bits(self, selected), layout, meta)?.0)
    }

    fn seal_selection(
        &self,
        selection: &Selection,
        layout: Layout,
        meta: &BlockMeta,
    ) -> Result<(Vec<u8>, Vec<SeriesRef>), SealError> {
        let mut target = Target {
            builder: BlockBuilder::new(layout.row_form()),
            policy: meta.policy,
            lens: Vec::new(),
            key_count: 0,
            content: (layout == Layout::Factored).then(Content::default),
            series: 0,
        };
        let mut refs = write(self, selection, &mut target)?;
        let Target { mut builder, key_count, content, .. } = target;
        if let Some(content) = content {
            let (_, factored) = plan(&content);
            let places = factored.write(key_count, &mut builder)?;
            for series in &mut refs {
                if let Some(&place) = places.get(series.0 as usize) {
                    *series = place;
                }
            }
        }
        let meta = BlockMeta { planner_version: layout.planner_version(), ..meta.clone() };
        Ok((builder.finish(&meta)?, refs))
    }
}

/// A block builder that holds names and values to the policy.
struct Target {
    builder: BlockBuilder,
    policy: LabelPolicy,
    /// Bytes of each symbol.
    lens: Vec<u32>,
    key_count: u32,
    /// The keysets of a block that is to be factored: they are written when all are there.
    content: Option<Content>,
    /// Series of these.
    series: u32,
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

    fn key(&mut self, key: &BlockKey) -> Result<(), SealError> {
        let (len, limit) = (self.len(key.name), self.policy.max_name_len());
        if len > limit {
            return Err(SealError::NameBreaksPolicy { len, limit });
        }
        let limit = self.policy.max_value_len();
        if let Some(len) = key.values.iter().map(|&value| self.len(value)).find(|&len| len > limit) {
            return Err(SealError::ValueBreaksPolicy { len, limit });
        }
        let values: Vec<SymbolId> = key.values.iter().copied().map(SymbolId).collect();
        self.builder.push_key(SymbolId(key.name), &values)?;
        self.key_count += 1;
        if let Some(content) = &mut self.content {
            // The builder takes no more than fit.
            content.value_counts.push(values.len() as u32);
            content.origins.push(key.origin);
        }
        Ok(())
    }

    fn keyset(&mut self, keys: &[u32], rows: &[u32]) -> Result<u32, SealError> {
        let Some(content) = &mut self.content else {
            let keys: Vec<KeyId> = keys.iter().copied().map(KeyId).collect();
            return Ok(self.builder.push_keyset(&keys, rows)?.0);
        };
        let keyset = KeysetRows { keys: keys.to_vec(), rows: rows.to_vec() };
        let first = self.series;
        let series = u32::try_from(keyset.len()).ok().and_then(|series| first.checked_add(series));
        self.series = series.ok_or(BuildError::TooMany { what: "series" })?;
        content.keysets.push(keyset);
        Ok(first)
    }
}
