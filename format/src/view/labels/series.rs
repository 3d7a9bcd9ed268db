//! [`Series`]: labels of a series (spec, section 9).

use std::cmp::Ordering;
use std::iter::FusedIterator;

use super::path::{LabelPaths, PartRows};
use super::walk::{KeysAndCodes, LabelWalk, RowPlace, descend};
use super::{Label, LabelIds};
use crate::number::{index, length, low32};
use crate::view::catalogue::{BlockView, Keyset, Table, binary_search};
use crate::{KeyId, Result, SeriesRef};

/// The way to the labels of a keyset's series.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeysetLabels<'view> {
    pub leaf_count: u32,
    pub paths: Option<LabelPaths<'view>>,
}

impl<'view> KeysetLabels<'view> {
    #[inline]
    pub(super) fn for_keyset(keyset: &Keyset<'_, 'view>) -> Result<Self> {
        let paths = LabelPaths::for_keyset(keyset)?;
        let leaf_count = match &paths {
            Some(paths) => low32(length(paths.path.fields.len())),
            None => keyset.table().leaf_count()?,
        };
        Ok(Self { leaf_count, paths })
    }
}

impl<'data> BlockView<'data> {
    /// Returns the series with this ref, or `None` if it is out of range. Costs a binary search over keysets, and one
    /// over anchors if the keyset has lists.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn series(&self, series: SeriesRef) -> Result<Option<Series<'data, '_>>> {
        let Some(keyset) = self.keyset_with(series)? else { return Ok(None) };
        let place = series.0 - keyset.first().0;
        let (row, in_list) = keyset.locate(place)?;
        Series::open(&keyset, &KeysetLabels::for_keyset(&keyset)?, series, row, in_list).map(Some)
    }

    /// Returns an iterator over all series in the order of their refs. It reads the record of each keyset once, so that
    /// it is faster than [`BlockView::series`] for each ref.
    #[must_use]
    pub const fn series_iter(&self) -> SeriesIter<'data, '_> {
        SeriesIter::new(self)
    }
}

impl<'data, 'view> Keyset<'data, 'view> {
    /// Returns the series, in the order of their refs.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    pub fn series(&self) -> Result<KeysetSeries<'data, 'view>> {
        KeysetSeries::new(self)
    }
}

/// A series of a block, from which its labels are read.
#[derive(Clone, Copy, Debug)]
pub struct Series<'data, 'view> {
    series: SeriesRef,
    keyset: u32,
    table: Table<'data, 'view>,
    row: RowPlace,
    /// Row of the pool's table, for a keyset with lists.
    member: u32,
    labels: KeysetLabels<'view>,
}

impl<'data, 'view> Series<'data, 'view> {
    #[inline]
    pub(super) fn open(
        keyset: &Keyset<'data, 'view>,
        labels: &KeysetLabels<'view>,
        series: SeriesRef,
        row: u32,
        in_list: u32,
    ) -> Result<Self> {
        let member = match keyset.list(row)? {
            Some(list) => list.get(in_list)?,
            None => 0,
        };
        let table = keyset.table();
        Ok(Self { series, keyset: keyset.id(), table, row: RowPlace::new(&table, row)?, member, labels: *labels })
    }

    /// Returns the ref of the series.
    #[must_use]
    pub const fn series_ref(&self) -> SeriesRef {
        self.series
    }

    /// Returns the number of its keyset.
    #[must_use]
    pub const fn keyset(&self) -> u32 {
        self.keyset
    }

    /// Returns the number of labels.
    #[must_use]
    pub const fn label_count(&self) -> u32 {
        self.labels.leaf_count
    }

    pub(super) const fn view(&self) -> &'view BlockView<'data> {
        self.table.view
    }

    /// Returns label number `leaf` (from 0, in the order of names) as ids. Costs O(depth), and O(`leaf`) where leaves
    /// are written out.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged or the series has fewer labels.
    pub fn ids(&self, leaf: u32) -> Result<LabelIds> {
        let view = self.view();
        if let Some(paths) = self.labels.paths
            && let Some(field) = paths.path.fields.get(index(leaf))
        {
            let rows = PartRows::read(view, paths.path, self.row.number, self.member)?;
            return view.label_ids(KeyId(field.key), paths.code(view, field, &rows)?);
        }
        let mut visitor = KeysAndCodes { view, member: self.member };
        let (key, code) = descend(self.table, self.row, leaf, &mut visitor)?;
        view.label_ids(key, code)
    }

    /// Returns the labels in the order of their names, as ids. Nothing is allocated.
    #[inline]
    #[must_use]
    pub fn label_ids(&self) -> LabelIdsIter<'data, 'view> {
        LabelIdsIter { codes: LabelCodes::new(self) }
    }

    /// Returns the labels in the order of their names, as bytes of the arena. Nothing is allocated.
    #[inline]
    #[must_use]
    pub fn labels(&self) -> Labels<'data, 'view> {
        Labels { codes: LabelCodes::new(self) }
    }

    /// Returns the value of the label `name`, or `None` if the series does not have it. Costs a binary search over the
    /// block's keys and one over the series' labels. The value borrows the block's bytes, not the view.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Result<Option<&'data [u8]>> {
        match self.view().key(name)? {
            Some(key) => self.get_key(key)?.map(|ids| self.view().symbol(ids.value)).transpose(),
            None => Ok(None),
        }
    }

    /// Returns the label of `key`, or `None` if the series does not have it. Costs a binary search over its labels.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn get_key(&self, key: KeyId) -> Result<Option<LabelIds>> {
        let kept = self.labels.paths.map(|paths| &*paths.path.fields);
        let found = binary_search(self.label_count(), |leaf| {
            let field = kept.and_then(|fields| fields.get(index(leaf)));
            Ok(field.map_or_else(|| self.table.leaf_key(leaf), |field| Ok(KeyId(field.key)))?.cmp(&key))
        })?;
        found.ok().map(|leaf| self.ids(leaf)).transpose()
    }
}

/// The labels of a series as keys and value codes, in the order of their names.
#[derive(Clone, Debug)]
pub(super) struct LabelCodes<'data, 'view> {
    view: &'view BlockView<'data>,
    way: Way<'data, 'view>,
}

/// A way to labels.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "made once per series; a box would be an allocation for each")]
enum Way<'data, 'view> {
    /// Paths that are kept.
    Paths { paths: LabelPaths<'view>, rows: Result<PartRows<'data>>, next: usize },
    /// A walk over the catalogue, for a view that keeps no paths.
    Walk { walk: LabelWalk<'data, 'view, RowPlace>, visitor: KeysAndCodes<'data, 'view> },
}

impl<'data, 'view> LabelCodes<'data, 'view> {
    #[inline]
    fn new(series: &Series<'data, 'view>) -> Self {
        let view = series.view();
        let way = match series.labels.paths {
            Some(paths) => {
                let rows = PartRows::read(view, paths.path, series.row.number, series.member);
                Way::Paths { paths, rows, next: 0 }
            }
            None => {
                let walk = LabelWalk::new(series.table, series.row, series.labels.leaf_count);
                Way::Walk { walk, visitor: KeysAndCodes { view, member: series.member } }
            }
        };
        Self { view, way }
    }

    /// Returns the next label as `read` reads it from the view, the key and the value code. After an error there is
    /// none.
    #[inline(always)]
    pub(super) fn next<T>(
        &mut self,
        read: impl FnOnce(&'view BlockView<'data>, KeyId, u32) -> Result<T>,
    ) -> Option<Result<T>> {
        let found = match &mut self.way {
            Way::Paths { paths, rows, next } => {
                let field = paths.path.fields.get(*next)?;
                *next += 1;
                let rows = rows.as_ref().map_err(Clone::clone);
                rows.and_then(|rows| Ok((KeyId(field.key), paths.code(self.view, field, rows)?)))
            }
            Way::Walk { walk, visitor } => walk.next(visitor).transpose()?,
        };
        let label = found.and_then(|(key, code)| read(self.view, key, code));
        if label.is_err() {
            self.stop();
        }
        Some(label)
    }

    #[cold]
    fn stop(&mut self) {
        match &mut self.way {
            Way::Paths { next, .. } => *next = usize::MAX,
            Way::Walk { walk, .. } => walk.stop(),
        }
    }
}

/// Iterator over the labels of a series as ids, in the order of their names. After an error it ends.
#[derive(Clone, Debug)]
pub struct LabelIdsIter<'data, 'view> {
    pub(super) codes: LabelCodes<'data, 'view>,
}

impl Iterator for LabelIdsIter<'_, '_> {
    type Item = Result<LabelIds>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.codes.next(|view, key, code| view.label_ids(key, code))
    }
}

impl FusedIterator for LabelIdsIter<'_, '_> {}

/// Iterator over the labels of a series, in the order of their names. After an error it ends.
#[derive(Clone, Debug)]
pub struct Labels<'data, 'view> {
    codes: LabelCodes<'data, 'view>,
}

impl<'data> Iterator for Labels<'data, '_> {
    type Item = Result<Label<'data>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.codes.next(|view, key, code| view.label(key, code))
    }
}

impl FusedIterator for Labels<'_, '_> {}

/// Iterator over the series of a keyset, in the order of their refs. After an error it ends.
#[derive(Clone, Debug)]
pub struct KeysetSeries<'data, 'view> {
    keyset: Keyset<'data, 'view>,
    labels: KeysetLabels<'view>,
    /// Number of series already returned.
    seen: u32,
    row: u32,
    in_list: u32,
    list_len: u32,
}

impl<'data, 'view> KeysetSeries<'data, 'view> {
    pub(crate) fn new(keyset: &Keyset<'data, 'view>) -> Result<Self> {
        Ok(Self {
            keyset: *keyset,
            labels: KeysetLabels::for_keyset(keyset)?,
            seen: 0,
            row: 0,
            in_list: 0,
            list_len: 0,
        })
    }

    #[inline]
    fn advance(&mut self) -> Result<Series<'data, 'view>> {
        if self.in_list == 0 {
            self.list_len = self.keyset.list(self.row)?.map_or(1, |list| list.len());
        }
        let series_ref = SeriesRef(self.keyset.first().0.saturating_add(self.seen));
        let series = Series::open(&self.keyset, &self.labels, series_ref, self.row, self.in_list)?;
        self.seen += 1;
        self.in_list += 1;
        if self.in_list == self.list_len {
            self.in_list = 0;
            self.row += 1;
        }
        Ok(series)
    }
}

impl<'data, 'view> Iterator for KeysetSeries<'data, 'view> {
    type Item = Result<Series<'data, 'view>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.seen >= self.keyset.series_count() {
            return None;
        }
        let series = self.advance();
        if series.is_err() {
            self.seen = self.keyset.series_count();
        }
        Some(series)
    }
}

impl FusedIterator for KeysetSeries<'_, '_> {}

/// Iterator over all series of a block, in the order of their refs. After an error it ends.
#[derive(Clone, Debug)]
pub struct SeriesIter<'data, 'view> {
    view: &'view BlockView<'data>,
    next_keyset: u32,
    current: Option<KeysetSeries<'data, 'view>>,
}

impl<'data, 'view> SeriesIter<'data, 'view> {
    pub(crate) const fn new(view: &'view BlockView<'data>) -> Self {
        Self { view, next_keyset: 0, current: None }
    }

    fn stop(&mut self) {
        self.current = None;
        self.next_keyset = self.view.keyset_count();
    }
}

impl<'data, 'view> Iterator for SeriesIter<'data, 'view> {
    type Item = Result<Series<'data, 'view>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(series) = self.current.as_mut().and_then(Iterator::next) {
                if series.is_err() {
                    self.stop();
                }
                return Some(series);
            }
            if self.next_keyset >= self.view.keyset_count() {
                return None;
            }
            match Keyset::open(self.view, self.next_keyset).and_then(|keyset| keyset.series()) {
                Ok(series) => self.current = Some(series),
                Err(error) => {
                    self.stop();
                    return Some(Err(error));
                }
            }
            self.next_keyset += 1;
        }
    }
}

impl FusedIterator for SeriesIter<'_, '_> {}

/// Compares the keys of a keyset with a sorted list of keys. A list is greater than its own prefixes.
pub(crate) fn compare_keys(view: &BlockView<'_>, keyset: u32, wanted: impl Iterator<Item = KeyId>) -> Result<Ordering> {
    if view.kept().is_some()
        && let Some(paths) = LabelPaths::for_keyset(&Keyset::open(view, keyset)?)?
    {
        return Ok(paths.path.fields.iter().map(|field| KeyId(field.key)).cmp(wanted));
    }
    let mut wanted = wanted;
    for key in view.keyset_table(keyset)?.keys()? {
        match wanted.next() {
            None => return Ok(Ordering::Greater),
            Some(want) => match key?.cmp(&want) {
                Ordering::Equal => {}
                unequal => return Ok(unequal),
            },
        }
    }
    Ok(if wanted.next().is_some() { Ordering::Less } else { Ordering::Equal })
}
