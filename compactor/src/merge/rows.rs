//! Unites sorted rows.

use super::lists::MergedPool;
use super::tally::{Overlap, Tally};

/// Distinct sorted rows of one keyset: plain rows, or prefixes with a list.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Number of codes per row, the list included.
    pub width: usize,
    /// Codes, row after row.
    pub codes: Vec<u32>,
    /// Series of each row that occurred more than once. For a plain row, the number of repetitions without a sum.
    pub overlaps: Vec<Overlap>,
}

/// Rows, and the series of their sources that were left out.
#[derive(Debug)]
pub(crate) struct MergedRows {
    pub run: Run,
    pub tally: Tally,
}

impl Run {
    pub(crate) fn new(width: usize, codes: Vec<u32>) -> Self {
        Self { overlaps: vec![Overlap::NONE; codes.len() / width], width, codes }
    }

    /// Returns a run without rows.
    pub(crate) fn empty(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.overlaps.len()
    }

    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.codes.chunks_exact(self.width)
    }

    pub(crate) fn push(&mut self, row: &[u32], overlap: Overlap) {
        self.codes.extend_from_slice(row);
        self.overlaps.push(overlap);
    }
}

/// Unites runs of one keyset. All lists of a prefix are united at once: uniting them two by two would add a list to
/// `pool` at each step. `pool` has the lists of the rows.
pub(crate) fn unite(mut runs: Vec<Run>, pool: Option<&MergedPool<'_>>) -> Run {
    if runs.len() < 2 {
        return runs.pop().unwrap_or_default();
    }
    let width = runs[0].width;
    let compared = width - usize::from(pool.is_some());
    let mut sorted: Vec<(&[u32], Overlap)> =
        runs.iter().flat_map(|run| run.rows().zip(run.overlaps.iter().copied())).collect();
    // The runs are sorted, so a stable sort merges them.
    sorted.sort_by(|(row, _), (other, _)| row[..compared].cmp(&other[..compared]));
    let mut united = Run::empty(width);
    let mut lists = Vec::new();
    for same in sorted.chunk_by(|(row, _), (other, _)| row[..compared] == other[..compared]) {
        let (row, first) = same[0];
        if same.len() == 1 {
            united.push(row, first);
            continue;
        }
        let before = same.iter().fold(Overlap::NONE, |before, (_, overlap)| before.and(*overlap));
        let Some(pool) = pool else {
            united.push(row, Overlap { series: before.series + same.len() as u64 - 1, ..before });
            continue;
        };
        lists.clear();
        lists.extend(same.iter().map(|(row, _)| row[compared]));
        let (list, overlap) = pool.unite(&mut lists);
        united.push(&row[..compared], before.and(overlap));
        united.codes.push(list);
    }
    united
}
