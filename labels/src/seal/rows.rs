//! Rows of one keyset in the order of a block.

use super::selection::Selection;
use crate::keyset::Keyset;
use crate::store::StoreRef;

/// Buffers for the rows of a keyset, reused for each keyset.
#[derive(Debug, Default)]
pub(crate) struct SortedRows {
    /// Codes of the block, row by row, rows in increasing order.
    pub(crate) codes: Vec<u32>,
    /// Series of each row.
    pub(crate) series: Vec<StoreRef>,
    remapped: Vec<u32>,
    order: Vec<(u64, u32)>,
    columns: Vec<Column>,
}

/// Smallest and largest code of a column.
#[derive(Debug, Clone, Copy)]
struct Column {
    least: u32,
    most: u32,
}

/// Bits of a column in the beginning of a row.
#[derive(Debug, Clone, Copy)]
struct Field {
    place: usize,
    least: u32,
    /// Number of bits in the beginning, and of low bits that do not fit.
    taken: u32,
    left_out: u32,
}

impl SortedRows {
    /// Remaps and sorts the selected rows of the keyset with this number. `code_ranks` contains the block's code for
    /// each key and code of the store.
    pub(crate) fn fill(&mut self, number: usize, keyset: &Keyset, selection: &Selection, code_ranks: &[Vec<u32>]) {
        let width = keyset.keys().len();
        self.remap(number, keyset, selection, code_ranks);
        self.sort(width);

        self.codes.clear();
        self.codes.reserve(self.remapped.len());
        let unsorted: Vec<StoreRef> = std::mem::take(&mut self.series);
        self.series.reserve(unsorted.len());
        for &(_, row) in &self.order {
            let row = row as usize;
            self.codes.extend_from_slice(self.remapped.get(row * width..(row + 1) * width).unwrap_or_default());
            self.series.extend(unsorted.get(row));
        }
    }

    /// Fills `remapped`, `series` and `columns`.
    fn remap(&mut self, number: usize, keyset: &Keyset, selection: &Selection, code_ranks: &[Vec<u32>]) {
        let ranks: Vec<&[u32]> =
            keyset.keys().iter().map(|key| code_ranks.get(key.index()).map_or(&[][..], Vec::as_slice)).collect();
        self.columns.clear();
        self.columns.resize(ranks.len(), Column { least: u32::MAX, most: 0 });
        self.remapped.clear();
        self.remapped.reserve(selection.count(number, keyset) * ranks.len());
        self.series.clear();
        let Self { series: all, columns, remapped, .. } = self;
        selection.rows(number, keyset).for_each(|(series, codes)| {
            all.push(series);
            remapped.extend(codes.iter().zip(&ranks).zip(&mut *columns).map(|((&code, ranks), column)| {
                let rank = ranks.get(code as usize).copied().unwrap_or_default();
                column.least = column.least.min(rank);
                column.most = column.most.max(rank);
                rank
            }));
        });
    }

    /// Fills `order` with the rows in increasing order. The 64 most significant bits of each row, without constant
    /// columns, are next to its number: most comparisons of rows end there.
    fn sort(&mut self, width: usize) {
        let Self { remapped, order, columns, .. } = self;
        order.clear();
        if width == 0 {
            return;
        }
        let mut room = u64::BITS;
        let fields: Vec<Field> = (columns.iter().enumerate())
            .filter_map(|(place, &Column { least, most })| {
                let bits = u32::BITS - (most - least).leading_zeros();
                let taken = bits.min(room);
                room -= taken;
                (taken > 0).then_some(Field { place, least, taken, left_out: bits - taken })
            })
            .collect();
        let beginning = |row: &[u32]| {
            fields.iter().fold(0u64, |packed, field| {
                let code = row.get(field.place).map_or(0, |code| code - field.least);
                packed << field.taken | u64::from(code >> field.left_out)
            })
        };
        order.extend(remapped.chunks_exact(width).zip(0u32..).map(|(row, number)| (beginning(row), number)));
        let row = |number: u32| remapped.get(number as usize * width..(number as usize + 1) * width);
        order.sort_unstable_by(|left, right| left.0.cmp(&right.0).then_with(|| row(left.1).cmp(&row(right.1))));
    }
}
