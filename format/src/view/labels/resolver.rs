//! [`Resolver`]: labels of many series, with a cache of the parts that neighbours share (spec, section 9).

use super::Label;
use super::path::{LabelPaths, PartRows};
use super::series::{KeysetLabels, Series};
use crate::layout::MAX_WIDE;
use crate::number::index;
use crate::view::catalogue::{BlockView, Keyset, List};
use crate::{KeyId, Result, SeriesRef};

/// Refs that [`Resolver::resolve_many`] sorts at a time.
const SORTED_REFS: usize = 1 << 20;

/// Resolves series to labels, and keeps the labels that the last series shares with the next one.
///
/// Series may come in any order. Neighbours share their prefix, so that reading in order costs little more than the
/// members of lists; [`Resolver::resolve_many`] reads any refs in order. Use it on a view
/// [with paths](BlockView::with_paths): without them each series is walked to as by [`BlockView::series`], which takes
/// several times as long.
///
/// It takes about 37 KiB, and itself allocates nothing. It is made in 1 us: make one per query or thread, not one per
/// series.
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
    view: &'view BlockView<'data>,
    buffer: Buffer<'data>,
    /// Number of labels of the last series.
    last_count: usize,
}

/// Labels of the last series, and the codes in their fields.
#[derive(Clone, Debug)]
struct Buffer<'data> {
    labels: [Label<'data>; MAX_WIDE],
    codes: [u32; MAX_WIDE],
}

/// The keyset of the last series.
#[derive(Clone, Debug)]
struct Current<'data, 'view> {
    keyset: Keyset<'data, 'view>,
    labels: KeysetLabels<'view>,
    /// Rows whose labels are in the buffer.
    rows: PartRows<'data>,
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
        const EMPTY: Label<'static> = Label { name: &[], value: &[] };
        let buffer = Buffer { labels: [EMPTY; MAX_WIDE], codes: [0; MAX_WIDE] };
        Resolver { current: None, view: self, buffer, last_count: 0 }
    }
}

impl<'data, 'view> Resolver<'data, 'view> {
    /// Returns the labels of a series, in the order of their names, or `None` if it is out of range.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged. Later calls are not affected.
    #[inline]
    pub fn labels(&mut self, series: SeriesRef) -> Result<Option<&[Label<'data>]>> {
        self.last_count = 0;
        let is_current = self.current.as_ref().is_some_and(|current| current.has(series));
        if !is_current && !self.enter(series)? {
            return Ok(None);
        }
        let Some(current) = &mut self.current else { return Ok(None) };
        let place = series.0.wrapping_sub(current.keyset.first().0);
        let result = match current.labels.paths {
            Some(paths) => current.read(paths, place, &mut self.buffer),
            None => current.walk(series, place, &mut self.buffer.labels),
        };
        if let Err(error) = result {
            // The labels may be a mix of this series and the last one.
            (current.rows, current.read) = (PartRows::NONE, None);
            return Err(error);
        }
        self.last_count = index(current.labels.leaf_count);
        Ok(Some(self.last()))
    }

    /// Returns the labels that [`Resolver::labels`] returned last; none before, and after an error.
    #[inline]
    #[must_use]
    pub fn last(&self) -> &[Label<'data>] {
        self.buffer.labels.get(..self.last_count).unwrap_or_default()
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
        let Some(keyset) = self.view.keyset_with(series)? else { return Ok(false) };
        let labels = KeysetLabels::for_keyset(&keyset)?;
        self.current = Some(Current { keyset, labels, rows: PartRows::NONE, read: None });
        Ok(true)
    }
}

impl<'data, 'view> Current<'data, 'view> {
    #[inline]
    fn has(&self, series: SeriesRef) -> bool {
        series.0.checked_sub(self.keyset.first().0).is_some_and(|place| place < self.keyset.series_count())
    }

    /// Reads the labels of series `place` of the keyset: only those of its member if the row was the last one.
    #[inline]
    fn read(&mut self, paths: LabelPaths<'view>, place: u32, buffer: &mut Buffer<'data>) -> Result<()> {
        // Lists of a forged block may have more series than the keyset, up to the end of all refs.
        let is_read =
            |read: &ReadRow<'_, '_>| place.checked_sub(read.before).is_some_and(|in_list| in_list < read.series_count);
        if !self.read.as_ref().is_some_and(is_read) {
            let (row, in_list) = match &self.read {
                // Reading in order: the next row.
                Some(read) if read.before.checked_add(read.series_count) == Some(place) => (read.row + 1, 0),
                _ => self.keyset.locate(place)?,
            };
            self.read_parts(paths, (false, row), buffer)?;
            let list = self.keyset.list(row)?;
            let series_count = list.as_ref().map_or(1, |list| list.len());
            self.read = Some(ReadRow { row, before: place - in_list, series_count, list });
        }
        match &self.read {
            Some(ReadRow { list: Some(list), before, .. }) => {
                let member = list.get(place - before)?;
                self.read_parts(paths, (true, member), buffer)
            }
            _ => Ok(()),
        }
    }

    /// Reads the labels of a member, or those of a row except its list. Labels of a part whose row is that of the last
    /// series are kept.
    #[inline(always)]
    fn read_parts(
        &mut self,
        paths: LabelPaths<'view>,
        (is_member, row): (bool, u32),
        buffer: &mut Buffer<'data>,
    ) -> Result<()> {
        let (view, path) = (self.keyset.table().view, paths.path);
        for (number, part) in path.parts.iter().enumerate().filter(|(_, part)| part.is_member == is_member) {
            let row = self.rows.row_of(view, part, row, row)?;
            let last = self.rows.number(number);
            if last == Some(row.number) {
                continue;
            }
            self.rows.set(number, row);
            // The labels of columns that do not vary are those of the last row.
            let (start, end) = part.fields;
            let end = if last.is_some() { part.varying_end } else { end };
            for &place in path.by_part.get(usize::from(start)..usize::from(end)).unwrap_or_default() {
                let place = usize::from(place);
                let Some(field) = path.fields.get(place) else { break };
                let kept = buffer.labels.get_mut(place).zip(buffer.codes.get_mut(place));
                let Some((label, known)) = kept else { break };
                let code = self.rows.code(field)?;
                // Rows are sorted, so that most of the codes of the next row are those of the last one.
                if last.is_none() {
                    *label = view.label(KeyId(field.key), paths.value_code(view, field, code)?)?;
                } else if *known != code {
                    label.value = view.value(KeyId(field.key), paths.value_code(view, field, code)?)?;
                }
                *known = code;
            }
        }
        Ok(())
    }

    /// Reads the labels of series `place` of the keyset by a walk over the catalogue.
    #[cold]
    fn walk(&self, series: SeriesRef, place: u32, labels: &mut [Label<'data>]) -> Result<()> {
        let (row, in_list) = self.keyset.locate(place)?;
        let series = Series::open(&self.keyset, &self.labels, series, row, in_list)?;
        for (ids, place) in series.label_ids().zip(labels) {
            let ids = ids?;
            *place = self.keyset.table().view.label(ids.key, ids.code)?;
        }
        Ok(())
    }
}
