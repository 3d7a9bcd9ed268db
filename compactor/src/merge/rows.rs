//! Unites sorted rows.

use std::cmp::Ordering;

use super::lists::MergedPool;
use super::tally::Overlap;

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

impl Run {
    pub(crate) fn new(width: usize, codes: Vec<u32>) -> Self {
        Self { overlaps: vec![Overlap::NONE; codes.len() / width], width, codes }
    }

    pub(crate) fn len(&self) -> usize {
        self.overlaps.len()
    }

    pub(crate) fn row(&self, number: usize) -> &[u32] {
        &self.codes[number * self.width..(number + 1) * self.width]
    }

    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.codes.chunks_exact(self.width)
    }

    pub(crate) fn push(&mut self, row: &[u32], overlap: Overlap) {
        self.codes.extend_from_slice(row);
        self.overlaps.push(overlap);
    }
}

/// Unites runs of one keyset recursively; each half is deduplicated before it is merged. `pool` has the lists of the
/// rows.
pub(crate) fn unite(mut runs: Vec<Run>, pool: Option<&MergedPool<'_>>) -> Run {
    if runs.len() < 2 {
        return runs.pop().unwrap_or_default();
    }
    let right = runs.split_off(runs.len() / 2);
    unite_two(unite(runs, pool), unite(right, pool), pool)
}

fn unite_two(left: Run, right: Run, pool: Option<&MergedPool<'_>>) -> Run {
    let width = left.width;
    let compared = width - usize::from(pool.is_some());
    let mut united = Run {
        width,
        codes: Vec::with_capacity(left.codes.len().max(right.codes.len())),
        overlaps: Vec::with_capacity(left.len().max(right.len())),
    };
    let (mut a, mut b) = (0, 0);
    while a < left.len() && b < right.len() {
        let (row, other) = (left.row(a), right.row(b));
        match row[..compared].cmp(&other[..compared]) {
            Ordering::Less => {
                united.push(row, left.overlaps[a]);
                a += 1;
            }
            Ordering::Greater => {
                united.push(other, right.overlaps[b]);
                b += 1;
            }
            Ordering::Equal => {
                let before = left.overlaps[a].and(right.overlaps[b]);
                if let Some(pool) = pool {
                    let (list, overlap) = pool.unite(row[compared], other[compared]);
                    united.push(row, before.and(overlap));
                    *united.codes.last_mut().expect("a row was pushed") = list;
                } else {
                    united.push(row, Overlap { series: before.series + 1, ..before });
                }
                a += 1;
                b += 1;
            }
        }
    }
    united.codes.extend_from_slice(&left.codes[a * width..]);
    united.overlaps.extend_from_slice(&left.overlaps[a..]);
    united.codes.extend_from_slice(&right.codes[b * width..]);
    united.overlaps.extend_from_slice(&right.overlaps[b..]);
    united
}
