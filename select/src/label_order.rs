//! Selected series in the order of their labels.

use chronoxide_format::SeriesRef;

use crate::project::room_for;
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
        let mut last_keys = Vec::with_capacity(self.view.keyset_count() as usize);
        for keyset in self.view.keysets() {
            let keyset = keyset?;
            let table = keyset.table();
            let leaves = table.leaf_count()?;
            let last = leaves.checked_sub(1).map(|leaf| table.leaf_key(leaf)).transpose()?.flatten();
            let end = keyset.first().0.saturating_add(keyset.series_count());
            last_keys.push((end, last.map_or(0, |key| key.0 + 1)));
        }
        let mut all = room_for(selection)?;
        all.extend(selection.iter());
        Ok(LabelOrder { searcher: *self, last_keys, pending: vec![Run { key: 0, series: all }], sorted: Vec::new() })
    }
}

/// Series whose labels are equal before some key.
#[derive(Debug)]
struct Run {
    /// Number of the first key that was not compared.
    key: u32,
    /// Refs, in order.
    series: Vec<SeriesRef>,
}

/// Iterator over series in the order of their labels.
#[derive(Debug)]
pub struct LabelOrder<'a, 'data> {
    searcher: Searcher<'a, 'data>,
    /// For each keyset, the end of its refs and the number after its last key.
    last_keys: Vec<(u32, u32)>,
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

    /// Splits a run by the values of a key.
    fn split(&mut self, key: u32, series: &[SeriesRef]) -> Result<(), SelectError> {
        let Some(name) = self.searcher.view.key_name(chronoxide_format::KeyId(key))? else {
            // Two series with equal labels, which only a damaged block has.
            self.sorted.extend(series.iter().rev());
            return Ok(());
        };
        let projection = self.searcher.project(series, &[name])?;
        let rank = |(series, code): (&SeriesRef, &u32)| match *code {
            Projection::ABSENT if self.last_key(*series) <= key => ENDED,
            Projection::ABSENT => LATER,
            code => u64::from(code) + 1,
        };
        let mut ranked: Vec<(u64, SeriesRef)> =
            series.iter().zip(projection.codes(0)).map(|pair| (rank(pair), *pair.0)).collect();
        ranked.sort_unstable();
        let runs = ranked.chunk_by(|left, right| left.0 == right.0);
        let runs = runs.map(|run| Run { key: key + 1, series: run.iter().map(|(_, series)| *series).collect() });
        self.pending.extend(runs.rev());
        Ok(())
    }

    /// Returns the number after the last key of a series.
    fn last_key(&self, series: SeriesRef) -> u32 {
        let keyset = self.last_keys.partition_point(|(end, _)| *end <= series.0);
        self.last_keys.get(keyset).map_or(0, |(_, last)| *last)
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
