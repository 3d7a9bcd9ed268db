//! [`Resolver`]: labels of many series, with a cache of the parts that neighbours share (spec, section 9).

use super::fields::{FieldCache, Parts};
use super::label_cache::LabelCache;
use super::{Label, Series};
use crate::layout::MAX_WIDE;
use crate::number::index;
use crate::view::catalogue::{BlockView, Keyset, List};
use crate::{Result, SeriesRef};

/// Keysets that are cached, each at its number modulo the length.
const CACHED_KEYSETS: usize = 128;

/// Refs that [`Resolver::resolve_many`] sorts at a time.
const SORTED_REFS: usize = 1 << 20;

/// Resolves series to labels and caches what it reads: the columns of keysets, names and dictionaries of keys, values
/// of small dictionaries, and the labels that the last series shares with the next one.
///
/// Series may come in any order. Neighbours share their prefix, so that reading in order costs little more than the
/// members of lists; [`Resolver::resolve_many`] reads any refs in order.
///
/// It takes about 190 KiB and allocates nothing. It is made in 2 us: make one per query or thread, not one per series.
///
/// ```
/// # fn count(block: &chronoxide_format::view::BlockView<'_>) -> chronoxide_format::Result<usize> {
/// let mut resolver = block.resolver();
/// let mut bytes = 0;
/// for series in 0..block.series_count()? {
///     for label in resolver.labels(series.into())?.unwrap_or_default() {
///         bytes += label.name.len() + label.value.len();
///     }
/// }
/// # Ok(bytes)
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Resolver<'data, 'view> {
    /// Keyset of the last series.
    current: Option<Current<'data, 'view>>,
    keysets: [Option<CachedKeyset<'data, 'view>>; CACHED_KEYSETS],
    fields: FieldCache,
    values: LabelCache<'data, 'view>,
    labels: [Label<'data>; MAX_WIDE],
    /// Changes whenever labels of an earlier time must not be kept.
    time: u64,
}

/// A keyset that was opened, and its parts.
#[derive(Clone, Copy, Debug)]
struct CachedKeyset<'data, 'view> {
    keyset: Keyset<'data, 'view>,
    label_count: u32,
    /// `None` if it has more labels or tables than the cache of fields has room for.
    parts: Option<Parts>,
}

/// The keyset of the last series.
#[derive(Clone, Copy, Debug)]
struct Current<'data, 'view> {
    cached: CachedKeyset<'data, 'view>,
    /// Row of the last series, if its labels are in the buffer.
    read: Option<ReadRow<'data, 'view>>,
}

/// A row whose labels are in the buffer, except those of its list.
#[derive(Clone, Copy, Debug)]
struct ReadRow<'data, 'view> {
    row: u32,
    /// Number of series of the keyset before the row.
    before: u32,
    series_count: u32,
    list: Option<List<'data, 'view>>,
}

impl<'data> BlockView<'data> {
    /// Returns a cache that resolves many series faster than [`BlockView::series`] does one by one.
    #[must_use]
    pub const fn resolver(&self) -> Resolver<'data, '_> {
        Resolver::new(self)
    }
}

impl<'data, 'view> Resolver<'data, 'view> {
    pub(crate) const fn new(view: &'view BlockView<'data>) -> Self {
        const NOTHING: Label<'static> = Label { name: &[], value: &[] };
        Self {
            current: None,
            keysets: [None; CACHED_KEYSETS],
            fields: FieldCache::new(),
            values: LabelCache::new(view),
            labels: [NOTHING; MAX_WIDE],
            time: 1,
        }
    }

    /// Returns the labels of a series, in the order of their names, or `None` if it is out of range.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged. Later calls are not affected.
    #[inline]
    pub fn labels(&mut self, series: SeriesRef) -> Result<Option<&[Label<'data>]>> {
        let is_current = self.current.as_ref().is_some_and(|current| current.cached.has(series));
        if !is_current && !self.enter(series)? {
            return Ok(None);
        }
        let Some(Current { cached, read }) = &mut self.current else { return Ok(None) };
        let place = series.0.wrapping_sub(cached.keyset.first().0);
        let Self { fields, values, labels, time, .. } = self;
        let result = match &cached.parts {
            Some(parts) => Reader { fields, values, labels, time: *time }.read(&cached.keyset, parts, read, place),
            None => read_wide(cached, series, place, labels),
        };
        if let Err(error) = result {
            // The labels may be a mix of this series and the last one.
            *read = None;
            *time += 1;
            return Err(error);
        }
        let label_count = index(cached.label_count);
        Ok(self.labels.get(..label_count))
    }

    /// Resolves many series, in any order and with repetitions, and calls `each` once per ref with the position of the
    /// ref in `refs` and the result of [`Resolver::labels`] for it: `Ok(None)` if the series is out of range, and an
    /// error if a byte that was read is damaged, which does not affect the other series.
    ///
    /// The calls come in increasing order of refs, not in the order of `refs`: series that follow one another in the
    /// block share their keyset, most of their labels, and the cache lines of the rest. Costs a sort besides, and
    /// allocates 8 bytes per ref, for at most 2^20 refs at a time. With refs in order already,
    /// [`Resolver::labels`] is as fast.
    ///
    /// ```
    /// use chronoxide_format::view::{BlockView, Label};
    /// use chronoxide_format::{Result, SeriesRef};
    ///
    /// /// Returns the number of labels of each series, in the order of `refs`; 0 if the block does not have it.
    /// fn label_counts(block: &BlockView<'_>, refs: &[SeriesRef]) -> Result<Vec<usize>> {
    ///     let mut counts = vec![0; refs.len()];
    ///     let mut damage = Ok(());
    ///     block.resolver().resolve_many(refs, |position, labels| match labels {
    ///         Ok(labels) => counts[position] = labels.map_or(0, <[Label]>::len),
    ///         Err(error) => damage = Err(error),
    ///     });
    ///     damage.map(|()| counts)
    /// }
    /// # use chronoxide_format::{layout::RowForm, write::{BlockBuilder, BlockMeta}};
    /// # let mut builder = BlockBuilder::new(RowForm::BitPacked);
    /// # let [api, job] = ["api", "job"].map(|symbol| builder.push_symbol(symbol).unwrap());
    /// # let job = builder.push_key(job, &[api]).unwrap();
    /// # builder.push_keyset(&[job], &[0]).unwrap();
    /// # let bytes = builder.finish(&BlockMeta::default()).unwrap();
    /// // A block with one series, of one label.
    /// let block = BlockView::open(&bytes)?;
    /// assert_eq!(label_counts(&block, &[SeriesRef(7), SeriesRef(0), SeriesRef(0)])?, [0, 1, 1]);
    /// # Ok::<(), chronoxide_format::Error>(())
    /// ```
    pub fn resolve_many(&mut self, refs: &[SeriesRef], mut each: impl FnMut(usize, Result<Option<&[Label<'data>]>>)) {
        let mut order = Vec::with_capacity(refs.len().min(SORTED_REFS));
        for (refs, first) in refs.chunks(SORTED_REFS).zip((0..).step_by(SORTED_REFS)) {
            order.clear();
            order.extend(refs.iter().zip(0_u32..).map(|(series, place)| (series.0, place)));
            order.sort_unstable();
            for &(series, place) in &order {
                each(first + index(place), self.labels(SeriesRef(series)));
            }
        }
    }

    /// Makes the keyset of a series the current one. Returns false if the series is out of range.
    fn enter(&mut self, series: SeriesRef) -> Result<bool> {
        self.current = None;
        self.time += 1;
        let view = self.values.view();
        let number = view.keyset_number(series)?;
        let place = self.keysets.get_mut(index(number) % CACHED_KEYSETS);
        let cached = match place.as_deref() {
            Some(Some(cached)) if cached.keyset.id() == number && cached.has(series) => *cached,
            _ => {
                let Some(keyset) = view.keyset_with(series)? else { return Ok(false) };
                let label_count = keyset.table().leaf_count()?;
                let mut parts = self.fields.add(&keyset, label_count)?;
                if parts.is_none() {
                    self.fields.clear();
                    self.keysets = [None; CACHED_KEYSETS];
                    parts = self.fields.add(&keyset, label_count)?;
                }
                let cached = CachedKeyset { keyset, label_count, parts };
                if let Some(place) = self.keysets.get_mut(index(number) % CACHED_KEYSETS) {
                    *place = Some(cached);
                }
                cached
            }
        };
        self.current = Some(Current { cached, read: None });
        Ok(true)
    }
}

impl CachedKeyset<'_, '_> {
    #[inline]
    fn has(&self, series: SeriesRef) -> bool {
        series.0.checked_sub(self.keyset.first().0).is_some_and(|place| place < self.keyset.series_count())
    }
}

/// The parts of a resolver that a read changes.
struct Reader<'r, 'data, 'view> {
    fields: &'r mut FieldCache,
    values: &'r mut LabelCache<'data, 'view>,
    labels: &'r mut [Label<'data>; MAX_WIDE],
    time: u64,
}

impl<'data, 'view> Reader<'_, 'data, 'view> {
    /// Reads the labels of series `place` of a keyset: only those of its member if the row was the last one.
    #[inline]
    fn read(
        self,
        keyset: &Keyset<'data, 'view>,
        parts: &Parts,
        read: &mut Option<ReadRow<'data, 'view>>,
        place: u32,
    ) -> Result<()> {
        let Self { fields, values, labels, time } = self;
        let is_read = |read: &ReadRow<'_, '_>| place.wrapping_sub(read.before) < read.series_count;
        let row = match read {
            Some(row) if is_read(row) => row,
            _ => {
                let (row, in_list) = match read {
                    // Reading in order: the next row.
                    Some(read) if place == read.before.wrapping_add(read.series_count) => (read.row + 1, 0),
                    _ => keyset.locate(place)?,
                };
                fields.read_row(parts, row, time, values, labels)?;
                let list = keyset.list(row)?;
                let series_count = list.as_ref().map_or(1, |list| list.len());
                read.insert(ReadRow { row, before: place - in_list, series_count, list })
            }
        };
        match &row.list {
            Some(list) => fields.read_member(parts, list.get(place - row.before)?, time, values, labels),
            None => Ok(()),
        }
    }
}

/// Reads the labels of series `place` of a keyset that has more labels or tables than the cache has room for.
#[cold]
fn read_wide<'data>(
    cached: &CachedKeyset<'data, '_>,
    series: SeriesRef,
    place: u32,
    labels: &mut [Label<'data>; MAX_WIDE],
) -> Result<()> {
    let (row, in_list) = cached.keyset.locate(place)?;
    let series = Series::open(&cached.keyset, series, row, in_list, cached.label_count)?;
    for (label, place) in series.labels().zip(labels.iter_mut()) {
        *place = label?;
    }
    Ok(())
}
