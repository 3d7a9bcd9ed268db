//! Rows of one keyset in the order of a block.

use super::selection::Selection;
use crate::keyset::Keyset;
use crate::store::StoreRef;

/// Rows of a keyset in increasing order.
#[derive(Debug)]
pub(crate) struct SortedRows {
    /// Codes of the block, row by row.
    pub(crate) codes: Vec<u32>,
    /// Series of each row.
    pub(crate) series: Vec<StoreRef>,
}

/// Rows of a keyset in order of arrival, with codes of the block.
struct Remapped {
    width: usize,
    codes: Vec<u32>,
    series: Vec<StoreRef>,
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
    pub(crate) fn new(number: usize, keyset: &Keyset, selection: &Selection, code_ranks: &[Vec<u32>]) -> Self {
        let remapped = Remapped::new(number, keyset, selection, code_ranks);
        let mut codes = Vec::with_capacity(remapped.codes.len());
        let mut series = Vec::with_capacity(remapped.series.len());
        for row in remapped.order() {
            codes.extend_from_slice(remapped.row(row));
            series.extend(remapped.series.get(row as usize));
        }
        Self { codes, series }
    }
}

impl Remapped {
    fn new(number: usize, keyset: &Keyset, selection: &Selection, code_ranks: &[Vec<u32>]) -> Self {
        let ranks: Vec<&[u32]> =
            keyset.keys().iter().map(|key| code_ranks.get(key.index()).map_or(&[][..], Vec::as_slice)).collect();
        let (width, count) = (ranks.len(), selection.count(number, keyset));
        let mut columns = vec![Column { least: u32::MAX, most: 0 }; width];
        let (mut all, mut series) = (Vec::with_capacity(count * width), Vec::with_capacity(count));
        selection.rows(number, keyset).for_each(|(number, codes)| {
            series.push(number);
            all.extend(codes.iter().zip(&ranks).zip(&mut columns).map(|((&code, ranks), column)| {
                let rank = ranks.get(code as usize).copied().unwrap_or_default();
                column.least = column.least.min(rank);
                column.most = column.most.max(rank);
                rank
            }));
        });
        Self { width, codes: all, series, columns }
    }

    /// Returns the codes of a row, none for an unknown one.
    fn row(&self, number: u32) -> &[u32] {
        let start = number as usize * self.width;
        self.codes.get(start..start + self.width).unwrap_or_default()
    }

    /// Returns the numbers of the rows in increasing order. The 64 most significant bits of each row, without constant
    /// columns, are next to its number: most comparisons of rows end there.
    fn order(&self) -> impl Iterator<Item = u32> + use<> {
        let mut room = u64::BITS;
        let fields: Vec<Field> = (self.columns.iter().enumerate())
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
        let rows = self.codes.chunks_exact(self.width.max(1)).zip(0u32..);
        let mut order: Vec<(u64, u32)> = rows.map(|(row, number)| (beginning(row), number)).collect();
        order
            .sort_unstable_by(|left, right| left.0.cmp(&right.0).then_with(|| self.row(left.1).cmp(self.row(right.1))));
        order.into_iter().map(|(_, number)| number)
    }
}
