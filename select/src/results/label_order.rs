//! Selected series in the order of their labels.

use chronoxide_format::{KeyId, SeriesRef};

use crate::results::project::room_for;
use crate::{Projection, Searcher, SelectError, Selection};

/// Rank of a series that has no label with this key or a later one: a labelset comes before those that continue it.
const ENDED: u64 = 0;
/// Rank of a series without the label, but with a later one: its next label has a greater name.
const LATER: u64 = u64::MAX;

impl<'a, 'data> Searcher<'a, 'data> {
    /// Returns the selected series in the order of their labels: of the first name, then the first value, then the
    /// second name, and so on, by bytes. A labelset comes before those that begin with it. This is the order of
    /// Prometheus.
    ///
    /// Refs are sorted by one label at a time, on codes. Takes 16 bytes of memory per selected series, whatever their
    /// labels. Sorting begins as the iterator is read: the first series are there before the last are sorted.
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

    /// Splits a run by the values of the first key from `key` on that one of its series has.
    fn split(&mut self, key: KeyId, series: &[SeriesRef]) -> Result<(), SelectError> {
        let Some(key) = self.next_key(key, series) else {
            // Two series with equal labels, which only a damaged block has.
            self.sorted.extend(series.iter().rev());
            return Ok(());
        };
        let projection = self.searcher.project_keys(series, &[key])?;
        let rank = |(series, code): (&SeriesRef, &u32)| match *code {
            Projection::ABSENT if self.keyset(*series).is_none_or(|own| own.next_key(key).is_none()) => ENDED,
            Projection::ABSENT => LATER,
            code => u64::from(code) + 1,
        };
        let mut ranked: Vec<(u64, SeriesRef)> =
            series.iter().zip(projection.codes(0)).map(|pair| (rank(pair), *pair.0)).collect();
        ranked.sort_unstable();
        let runs = ranked.chunk_by(|left, right| left.0 == right.0);
        let next = KeyId(key.0 + 1);
        let runs = runs.map(|run| Run { key: next, series: run.iter().map(|(_, series)| *series).collect() });
        self.pending.extend(runs.rev());
        Ok(())
    }

    /// Returns the first key from `key` on that one of the series has.
    fn next_key(&self, key: KeyId, series: &[SeriesRef]) -> Option<KeyId> {
        let mut next = None;
        let mut end = 0;
        // Refs are in order: each keyset is asked once.
        for series in series {
            if series.0 >= end
                && let Some(keyset) = self.keyset(*series)
            {
                end = keyset.end;
                next = next.into_iter().chain(keyset.next_key(key)).min();
                if next == Some(key) {
                    break;
                }
            }
        }
        next
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
