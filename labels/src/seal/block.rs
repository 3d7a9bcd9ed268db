//! Sealing of a store into the bytes of a block.

use bitvec::slice::BitSlice;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::write::{BlockBuilder, BlockMeta, BuildError, SeriesValues};
use chronoxide_format::{KeyId, SeriesRef, SymbolId};
use chronoxide_planner::{Content, KeysetRows, Layout, ThreadLimit, plan};

use super::order::BlockKey;
use super::plans::Plans;
use super::selection::Selection;
use super::write::{BlockTarget, write};
use crate::keyset::KeysetStore;
use crate::store::StoreRef;

/// Sealed store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Bytes of the block.
    pub block: Vec<u8>,
    /// Series ref in the block for each series of the store, by its number: a permutation.
    pub refs: Vec<SeriesRef>,
}

/// Error of sealing a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The block builder refused metadata, or a count exceeds the format.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A name is longer than the block's label policy allows.
    #[error("label name of {len} bytes exceeds the policy's limit of {limit}")]
    NameBreaksPolicy {
        /// Length of the name in bytes.
        len: u32,
        /// Limit of the policy.
        limit: u32,
    },
    /// A value is longer than the block's label policy allows.
    #[error("label value of {len} bytes exceeds the policy's limit of {limit}")]
    ValueBreaksPolicy {
        /// Length of the value in bytes.
        len: u32,
        /// Limit of the policy.
        limit: u32,
    },
}

impl KeysetStore {
    /// Seals the series of this store into a block.
    ///
    /// The bytes depend only on the series, the recorded origins of labels, the layout and the metadata. They do not
    /// depend on the order of arrival, or on labels that no series has. The store is not changed. The block records the
    /// version of the planner, whatever `meta` contains.
    ///
    /// Costs one pass over all codes, sorting the symbols, and sorting the rows of each keyset; a factored block costs
    /// a few more passes. Memory holds the block and twice the rows of the largest keyset, or for a factored block
    /// twice all rows.
    ///
    /// ```
    /// use chronoxide_format::{write::BlockMeta, view::BlockView};
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
    /// The metadata is not sorted, names or values are longer than its label policy allows, or a count exceeds the
    /// format.
    pub fn seal(&self, layout: Layout, meta: &BlockMeta) -> Result<Sealed, SealError> {
        self.seal_with(layout, meta, &[])
    }

    /// Seals the series of this store with columns of values, which have none for series of other stores; see
    /// [`seal`](Self::seal).
    ///
    /// # Errors
    ///
    /// Errors of [`seal`](Self::seal), and for two columns of one name.
    pub fn seal_with(&self, layout: Layout, meta: &BlockMeta, columns: &[SeriesValues]) -> Result<Sealed, SealError> {
        let (block, series) = self.prepare_selection(&Selection::ALL, layout, meta, None)?.into_block(columns)?;
        let mut refs = vec![SeriesRef(0); series.len()];
        for (number, place) in series.iter().zip(0..) {
            if let Some(series_ref) = refs.get_mut(number.index()) {
                *series_ref = SeriesRef(place);
            }
        }
        Ok(Sealed { block, refs })
    }

    /// Copies the series whose bit is set, by their number in the store, into the order of a block. [`Prepared::seal`]
    /// does the rest, for which the store is not needed. A factored block may adopt the plan of those before it. With
    /// new `plans`, the block equals that of a store with only these series; see [`seal`](Self::seal).
    ///
    /// # Errors
    ///
    /// Errors of [`seal`](Self::seal).
    pub fn prepare<'p>(
        &self,
        selected: &BitSlice,
        layout: Layout,
        meta: &'p BlockMeta,
        plans: &'p mut Plans,
    ) -> Result<Prepared<'p>, SealError> {
        self.prepare_selection(&Selection::from_bits(self, selected), layout, meta, Some(plans))
    }

    fn prepare_selection<'p>(
        &self,
        selection: &Selection,
        layout: Layout,
        meta: &'p BlockMeta,
        plans: Option<&'p mut Plans>,
    ) -> Result<Prepared<'p>, SealError> {
        let mut target = Target {
            builder: BlockBuilder::new(layout.row_form()),
            policy: meta.policy,
            lens: Vec::new(),
            numbers: Vec::new(),
            key_count: 0,
            plans,
            content: (layout == Layout::Factored).then(Content::default),
            series: 0,
        };
        let limit = target.plans.as_ref().map_or_else(ThreadLimit::default, |plans| plans.threads());
        let series = write(self, selection, &mut target, limit)?;
        let Target { builder, key_count, content, numbers, plans, .. } = target;
        Ok(Prepared { builder, layout, meta, key_count, content, numbers, plans, series })
    }
}

/// Series of a store in the order of a block.
#[derive(Debug)]
pub struct Prepared<'p> {
    builder: BlockBuilder,
    layout: Layout,
    meta: &'p BlockMeta,
    key_count: u32,
    /// Keysets of a factored block, which are not in the builder yet.
    content: Option<Content>,
    /// Plans of the blocks before this one, and the numbers of the names of its keys there.
    plans: Option<&'p mut Plans>,
    numbers: Vec<Option<u32>>,
    /// Numbers of the series in the store.
    series: Vec<StoreRef>,
}

impl Prepared<'_> {
    /// Seals the series into a block, with columns of values by their numbers in the store. Values of other series are
    /// left out.
    ///
    /// # Errors
    ///
    /// Errors of [`KeysetStore::seal_with`].
    pub fn seal(self, columns: &[SeriesValues]) -> Result<Vec<u8>, SealError> {
        Ok(self.into_block(columns)?.0)
    }

    /// Returns the block, and the number of each of its series in the store.
    fn into_block(self, columns: &[SeriesValues]) -> Result<(Vec<u8>, Vec<StoreRef>), SealError> {
        let Self { mut builder, layout, meta, key_count, content, plans, numbers, mut series } = self;
        if let Some(content) = content {
            let factored = match plans {
                Some(plans) => plans.plan(&content, &numbers),
                None => plan(&content).1,
            };
            drop(content);
            let before = series.clone();
            for (number, place) in before.into_iter().zip(factored.write(key_count, &mut builder)?) {
                if let Some(at_place) = series.get_mut(place.0 as usize) {
                    *at_place = number;
                }
            }
        }
        let mut meta = BlockMeta { planner_version: layout.planner_version(), ..meta.clone() };
        for column in columns {
            meta.columns.push(column.pack(series.iter().map(|number| number.0))?);
        }
        Ok((builder.finish(&meta)?, series))
    }
}

/// Block builder that checks names and values against the policy.
struct Target<'p> {
    builder: BlockBuilder,
    policy: LabelPolicy,
    /// Length of each symbol.
    lens: Vec<u32>,
    key_count: u32,
    /// Plans of the blocks before this one, and the numbers of the names of its keys there.
    plans: Option<&'p mut Plans>,
    numbers: Vec<Option<u32>>,
    /// Keysets of a factored block, which are written when all are known.
    content: Option<Content>,
    /// Number of their series.
    series: u32,
}

impl Target<'_> {
    fn len(&self, symbol: u32) -> u32 {
        self.lens.get(symbol as usize).copied().unwrap_or_default()
    }
}

impl BlockTarget for Target<'_> {
    type Error = SealError;

    fn symbol(&mut self, text: &str) -> Result<(), SealError> {
        self.builder.push_symbol(text)?;
        // The builder refuses symbols whose length does not fit.
        self.lens.push(text.len() as u32);
        Ok(())
    }

    fn key(&mut self, name: &str, key: &BlockKey) -> Result<(), SealError> {
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
        if let (Some(plans), Some(_)) = (&mut self.plans, &self.content) {
            self.numbers.push(plans.number(name));
        }
        if let Some(content) = &mut self.content {
            // The builder refuses more series than fit.
            content.value_counts.push(values.len() as u32);
            content.origins.push(key.origin);
        }
        Ok(())
    }

    fn keyset(&mut self, keys: &[u32], rows: Vec<u32>) -> Result<(), SealError> {
        let Some(content) = &mut self.content else {
            let keys: Vec<KeyId> = keys.iter().copied().map(KeyId).collect();
            self.builder.push_keyset(&keys, &rows)?;
            return Ok(());
        };
        let keyset = KeysetRows { keys: keys.to_vec(), rows };
        let series = u32::try_from(keyset.len()).ok().and_then(|series| self.series.checked_add(series));
        self.series = series.ok_or(BuildError::TooMany { what: "series", limit: u32::MAX })?;
        content.keysets.push(keyset);
        Ok(())
    }
}
