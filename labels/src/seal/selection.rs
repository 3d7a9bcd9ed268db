//! Which series of a store are sealed.

use crate::store::StoreRef;
use bitvec::slice::BitSlice;

/// A set of series: all, or those whose bit is set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selection<'a>(Option<&'a BitSlice>);

impl<'a> Selection<'a> {
    /// All series.
    pub(crate) const ALL: Self = Self(None);

    /// The series whose bit is set. Those behind the last bit are not selected.
    pub(crate) fn of(bits: &'a BitSlice) -> Self {
        Self(Some(bits))
    }

    pub(crate) fn is_all(self) -> bool {
        self.0.is_none()
    }

    #[inline]
    pub(crate) fn has(self, series: StoreRef) -> bool {
        self.0.is_none_or(|bits| bits.get(series.index()).is_some_and(|bit| *bit))
    }
}
