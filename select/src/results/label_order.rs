//! Selected series in the order of their labels.

use chronoxide_format::{KeyId, SeriesRef};

use crate::results::project::room_for;
use crate::{Searcher, SelectError, Selection};

impl<'a, 'data> Searcher<'a, 'data> {
    /// Returns the selected series in the order of their labels: of the first name, then the first value, then the
    /// second name, and so on, by bytes. A labelset comes before those that begin with it. This is the order of
    /// Prometheus.
    ///
    /// Refs are sorted by one label at a time, on codes. Takes up to 100 bytes of memory per selected series, whatever
    /// their labels. Sorting begins as the iterator is read: the first series are there before the last are sorted.
    ///
    /// # Errors
    /// The iterator gives an error, and ends, if the block is damaged in a byte that was read, and for the
    /// [`Limits`](crate::Limits).
    pub fn in_label_order(&self, selection: &Selection) -> Result<LabelOrder<'a, 'data>, SelectError> {
        let mut keysets = Vec::with_capacity(self.view.keyset_count() as usize);
        for (keyset, keys) in self.view.keysets().zip(self.index.keys_of_keysets()) {
            let keyset = keyset?;
            keysets.push(KeysetKeys { end: keyset.first().0.saturating_add(keyset.series_count()), keys });
        }
        let mut all = room_for(selection)?;
        all.extend(selection.iter());
        let pending = vec![Run { key: KeyId(0), series: all }];
        Ok(LabelOrder { searcher: *self, keysets, pending, sorted: Vec::new() })
    }
}

/// The keys of a keyset.
#[derive(Debug)]
struct KeysetKeys {
    /// End of its refs.
    end: u32,
    keys: Vec<KeyId>,
}

impl KeysetKeys {
    /// Returns the first key from `key` on.
    fn next_key(&self, key: KeyId) -> Option<KeyId> {
        self.keys.get(self.keys.partition_point(|own| *own < key)).copied()
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
            self.split(key, &series)?;
        }
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
        self.keysets.get(self.keysets.partition_point(|keyset| keyset.end <= series.0))
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
