//! Selected series in the order of their labels.

use std::ops::Range;

use chronoxide_format::view::LabelIds;
use chronoxide_format::{KeyId, SeriesRef};

use crate::results::project::room_for;
use crate::{Projection, Searcher, SelectError, Selection};

impl<'a, 'data> Searcher<'a, 'data> {
    /// Returns the selected series in the order of their labels: of the first name, then the first value, then the
    /// second name, and so on, by bytes. A labelset comes before those that begin with it. This is the order of
    /// Prometheus.
    ///
    /// Many refs are sorted by one label at a time, few of them by all labels at once, on codes. Takes up to 100 bytes
    /// of memory per selected series, whatever their labels, and up to 16 MiB. Sorting begins as the iterator is read:
    /// the first series are there before the last are sorted.
    ///
    /// # Errors
    /// The iterator gives an error, and ends, if the block is damaged in a byte that was read, and for the
    /// [`Limits`](crate::Limits).
    pub fn in_label_order(&self, selection: &Selection) -> Result<LabelOrder<'a, 'data>, SelectError> {
        let mut keysets: Vec<KeysetKeys> = Vec::new();
        for range in selection.ranges() {
            let mut next = range.start.0.max(keysets.last().map_or(0, |last| last.end));
            while next < range.end.0 {
                let number = self.view.keyset_number(SeriesRef(next))?;
                let Some(keyset) = self.view.keyset(number)? else { break };
                let end = keyset.first().0.saturating_add(keyset.series_count()).max(next + 1);
                keysets.push(KeysetKeys { number, end, keys: Vec::new() });
                next = end;
            }
        }
        if !is_for_labels(selection.count() as usize, keysets.len()) {
            for keyset in &mut keysets {
                keyset.keys = self.index.keys_of_keyset(keyset.number);
            }
        }
        let mut all = room_for(selection)?;
        all.extend(selection.iter());
        let pending = vec![Run { key: KeyId(0), series: all }];
        Ok(LabelOrder { searcher: *self, keysets, pending, sorted: Vec::new() })
    }
}

/// Codes of series that are sorted by all of their labels at once, one for each key of their keysets. They are there
/// twice, and take 16 MiB.
const MAX_CODES_AT_ONCE: usize = 1 << 21;

/// Series per keyset from which on this is done. It costs a look at each keyset for each label.
const MIN_SERIES_PER_KEYSET: usize = 16;

/// Maximum number of series whose labels are read one by one and compared, if they are of many keysets.
const MAX_SERIES_BY_LABELS: usize = 1 << 12;

/// Returns true if some series of some keysets are best sorted by their labels.
fn is_for_labels(series: usize, keysets: usize) -> bool {
    series <= MAX_SERIES_BY_LABELS && keysets * MIN_SERIES_PER_KEYSET > series
}

/// Returns the keys of a run from `key` on, if it is best sorted by all of them at once.
fn keys_at_once(keysets: &[KeysetKeys], key: KeyId, series: &[SeriesRef]) -> Option<Vec<KeyId>> {
    if keysets.len() * MIN_SERIES_PER_KEYSET > series.len() {
        return None;
    }
    let mut keys: Vec<KeyId> = keysets.iter().flat_map(|keyset| keyset.keys_from(key)).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    (series.len() * keys.len() <= MAX_CODES_AT_ONCE).then_some(keys)
}

/// The keys of a keyset with selected series.
#[derive(Debug)]
struct KeysetKeys {
    number: u32,
    /// End of its refs.
    end: u32,
    keys: Vec<KeyId>,
}

impl KeysetKeys {
    /// Returns the keys from `key` on.
    fn keys_from(&self, key: KeyId) -> &[KeyId] {
        self.keys.get(self.keys.partition_point(|own| *own < key)..).unwrap_or_default()
    }

    /// Returns the first key from `key` on.
    fn next_key(&self, key: KeyId) -> Option<KeyId> {
        self.keys_from(key).first().copied()
    }
}

/// Series whose labels are equal before some key.
#[derive(Debug)]
struct Run {
    /// The first key that was not compared.
    key: KeyId,
    /// Refs, in order.
    series: Vec<SeriesRef>,
}

/// Iterator over series in the order of their labels.
#[derive(Debug)]
pub struct LabelOrder<'a, 'data> {
    searcher: Searcher<'a, 'data>,
    /// Keysets with selected series, in order.
    keysets: Vec<KeysetKeys>,
    /// Runs that are not sorted yet, the next one last.
    pending: Vec<Run>,
    /// Sorted series, the next one last.
    sorted: Vec<SeriesRef>,
}

impl LabelOrder<'_, '_> {
    /// Sorts pending runs until the first series is known.
    fn sort(&mut self) -> Result<(), SelectError> {
        while let Some(Run { key, series }) = self.pending.pop() {
            if let [only] = *series {
                self.sorted.push(only);
                return Ok(());
            }
            if series.is_empty() {
                continue;
            }
            self.searcher.limits.check()?;
            // Keysets between the first and the last one need not have series of the run.
            let ends = [series.first(), series.last()].map(|end| end.map_or(0, |end| self.keyset_position(*end)));
            let keysets = self.keysets.get(ends[0]..=ends[1]).unwrap_or_default();
            if is_for_labels(series.len(), keysets.len()) {
                return self.sort_by_labels(&series);
            }
            if let Some(keys) = keys_at_once(keysets, key, &series) {
                return self.sort_at_once(&keys, &series);
            }
            self.split(key, &series)?;
        }
        Ok(())
    }

    /// Sorts a run by its labels.
    fn sort_by_labels(&mut self, series: &[SeriesRef]) -> Result<(), SelectError> {
        let mut all: Vec<LabelIds> = Vec::new();
        let mut labelled: Vec<(Range<usize>, SeriesRef)> = Vec::with_capacity(series.len());
        for &series in series {
            let start = all.len();
            if let Some(series) = self.searcher.view.series(series)? {
                for label in series.label_ids() {
                    all.push(label?);
                }
            }
            labelled.push((start..all.len(), series));
        }
        // The next one is the last.
        let labels = |range: &Range<usize>| all.get(range.clone());
        labelled.sort_unstable_by(|left, right| (labels(&right.0), right.1).cmp(&(labels(&left.0), left.1)));
        self.sorted.extend(labelled.into_iter().map(|(_, series)| series));
        Ok(())
    }

    /// Sorts a run by all of these keys.
    fn sort_at_once(&mut self, keys: &[KeyId], series: &[SeriesRef]) -> Result<(), SelectError> {
        let projection = self.searcher.project_keys(series, keys)?;
        // Codes of each series, changed so that their order is that of the labels: a series without a label comes after
        // those that have it, unless it has no label behind it either; then it comes first.
        const ENDED: u32 = 0;
        let width = keys.len();
        let mut codes = vec![ENDED; series.len() * width];
        for column in 0..width {
            for (row, &code) in codes.chunks_exact_mut(width).zip(projection.codes(column)) {
                if let Some(slot) = row.get_mut(column) {
                    *slot = if code == Projection::ABSENT { code } else { code + 1 };
                }
            }
        }
        for row in codes.chunks_exact_mut(width.max(1)) {
            row.iter_mut().rev().take_while(|code| **code == Projection::ABSENT).for_each(|code| *code = ENDED);
        }
        let row = |position: u32| codes.get(position as usize * width..(position as usize + 1) * width);
        let mut order: Vec<u32> = (0..series.len() as u32).collect();
        // The next one is the last.
        order.sort_unstable_by(|&left, &right| (row(right), right).cmp(&(row(left), left)));
        self.sorted.extend(order.iter().filter_map(|&position| series.get(position as usize)));
        Ok(())
    }

    /// Splits a run by the next label of each series, from `key` on: by its key, then by its value.
    fn split(&mut self, key: KeyId, series: &[SeriesRef]) -> Result<(), SelectError> {
        let mut keyed = Vec::with_capacity(series.len());
        let (mut end, mut next) = (0, None);
        // Refs are in order: each keyset is asked once.
        for &series in series {
            if series.0 >= end {
                let keyset = self.keyset(series);
                (end, next) = keyset.map_or((series.0 + 1, None), |keyset| (keyset.end, keyset.next_key(key)));
            }
            keyed.push((next, series));
        }
        // A labelset that ends comes first, then the one whose next label has the smaller name.
        keyed.sort_unstable();
        let first = self.pending.len();
        for group in keyed.chunk_by(|left, right| left.0 == right.0) {
            let refs: Vec<SeriesRef> = group.iter().map(|(_, series)| *series).collect();
            let Some((Some(key), _)) = group.first() else {
                // Several have equal labels in a damaged block only.
                self.pending.extend(refs.into_iter().map(|series| Run { key, series: vec![series] }));
                continue;
            };
            let projection = self.searcher.project_keys(&refs, &[*key])?;
            let mut ranked: Vec<(u32, SeriesRef)> = projection.codes(0).iter().copied().zip(refs).collect();
            ranked.sort_unstable();
            let runs = ranked.chunk_by(|left, right| left.0 == right.0);
            let next = KeyId(key.0 + 1);
            self.pending
                .extend(runs.map(|run| Run { key: next, series: run.iter().map(|(_, series)| *series).collect() }));
        }
        // The next one is the last.
        if let Some(added) = self.pending.get_mut(first..) {
            added.reverse();
        }
        Ok(())
    }

    /// Returns the keyset of a series, or `None` if the series is out of range.
    fn keyset(&self, series: SeriesRef) -> Option<&KeysetKeys> {
        self.keysets.get(self.keyset_position(series))
    }

    fn keyset_position(&self, series: SeriesRef) -> usize {
        self.keysets.partition_point(|keyset| keyset.end <= series.0)
    }
}

impl Iterator for LabelOrder<'_, '_> {
    type Item = Result<SeriesRef, SelectError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.sorted.is_empty()
            && let Err(error) = self.sort()
        {
            self.pending.clear();
            return Some(Err(error));
        }
        self.sorted.pop().map(Ok)
    }
}

impl std::iter::FusedIterator for LabelOrder<'_, '_> {}
