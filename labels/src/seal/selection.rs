//! Set of series to seal: [`Selection`].

use bitvec::slice::BitSlice;

use crate::keyset::{Keyset, KeysetStore};
use crate::store::StoreRef;

/// Set of series: all, or rows of each keyset.
#[derive(Debug, Clone)]
pub(crate) struct Selection(Option<Vec<Vec<u32>>>);

impl Selection {
    /// All series.
    pub(crate) const ALL: Self = Self(None);

    /// Selects the series whose bit is set. Series beyond the last bit are not selected. The cost is proportional to
    /// the number of keysets and selected series, so that many small parts of a store can be sealed.
    pub(crate) fn from_bits(store: &KeysetStore, bits: &BitSlice) -> Self {
        let mut rows = vec![Vec::new(); store.keysets().len()];
        for number in bits.iter_ones() {
            if let Some((keyset, row)) = store.place(number)
                && let Some(rows) = rows.get_mut(keyset as usize)
            {
                rows.push(row);
            }
        }
        Self(Some(rows))
    }

    /// Returns the number of selected series of a keyset.
    pub(crate) fn count(&self, number: usize, keyset: &Keyset) -> usize {
        self.0.as_ref().map_or(keyset.len(), |rows| rows.get(number).map_or(0, Vec::len))
    }

    /// Returns the selected rows of a keyset, by its number in the store: the ref of each series and its codes.
    pub(crate) fn rows<'a>(&'a self, number: usize, keyset: &'a Keyset) -> impl Iterator<Item = (StoreRef, &'a [u32])> {
        let all = self.0.is_none().then(|| keyset.rows());
        let some = self.0.as_ref().and_then(|rows| rows.get(number));
        let some = some.into_iter().flatten().filter_map(|&row| keyset.row_with_ref(row));
        all.into_iter().flatten().chain(some)
    }
}
