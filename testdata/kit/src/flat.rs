//! Plain store to compare with: each series as a flat array of pairs of symbol ids, in memory. Benches
//! compare blocks with it.

use chronoxide_format::SymbolId;
use chronoxide_format::view::BlockView;

/// Series as pairs of symbol ids, with `u32` offsets: 8 bytes a label and 4 a series, besides the symbols.
///
/// ```
/// use chronoxide_format::view::BlockView;
/// use chronoxide_testkit::flat::{FlatPairs, touch};
/// use chronoxide_testkit::golden::goldens;
///
/// let golden = goldens().into_iter().find(|golden| golden.name == "plain-bitpacked").unwrap();
/// let flat = FlatPairs::from_view(&BlockView::open(&golden.bytes).unwrap());
/// let touched: u64 = (0..golden.series.len() as u32).map(|series| flat.touch(series)).sum();
/// let expected: u64 = golden.series.iter().flatten().map(|(name, value)| touch(name.as_bytes()) + touch(value.as_bytes())).sum();
/// assert_eq!(touched, expected);
/// ```
#[derive(Clone, Debug, Default)]
pub struct FlatPairs {
    arena: Vec<u8>,
    symbol_ends: Vec<u32>,
    pairs: Vec<(u32, u32)>,
    series_ends: Vec<u32>,
}

impl FlatPairs {
    /// The series of a block, in the order of their refs.
    ///
    /// # Panics
    ///
    /// The block is not sound.
    #[must_use]
    pub fn from_view(view: &BlockView<'_>) -> Self {
        let mut flat = Self::default();
        for id in 0..view.symbols().count() {
            flat.arena.extend_from_slice(view.symbol(SymbolId(id)).expect("sound"));
            flat.symbol_ends.push(flat.arena.len() as u32);
        }
        for series in view.series_iter() {
            for ids in series.expect("sound").label_ids() {
                let ids = ids.expect("sound");
                flat.pairs.push((view.key_symbol(ids.key).expect("sound").0, ids.value.0));
            }
            flat.series_ends.push(flat.pairs.len() as u32);
        }
        flat
    }

    fn symbol(&self, id: u32) -> &[u8] {
        let start = if id == 0 { 0 } else { self.symbol_ends[id as usize - 1] };
        &self.arena[start as usize..self.symbol_ends[id as usize] as usize]
    }

    /// Reads every byte of every label of a series.
    ///
    /// # Panics
    ///
    /// The series is out of range.
    #[must_use]
    pub fn touch(&self, series: u32) -> u64 {
        let start = if series == 0 { 0 } else { self.series_ends[series as usize - 1] };
        let pairs = &self.pairs[start as usize..self.series_ends[series as usize] as usize];
        pairs.iter().map(|&(name, value)| touch(self.symbol(name)) + touch(self.symbol(value))).sum()
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.arena.len() + self.symbol_ends.len() * 4 + self.pairs.len() * 8 + self.series_ends.len() * 4
    }
}

/// Reads every byte.
///
/// Inlined in all benches: a call costs as much as the bytes of a short label.
#[inline]
#[must_use]
pub fn touch(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte)).sum()
}
