//! [`LabelSetStore`]: every distinct labelset once, under a number.

use crate::error::LabelError;

/// The number of a series in one store, in the order of arrival: dense, from 0. A block numbers its
/// series anew; sealing a store gives the permutation.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreRef(pub u32);

impl StoreRef {
    /// The ref as a position.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of labelsets, each under a number.
///
/// A labelset is given as pairs of name and value in the canonical order: names strictly increasing
/// in byte order, no empty name, no empty value, within the limits of
/// [`labelset::check`](crate::labelset::check). Sorting is left to the caller, who mostly has sorted
/// labels at hand or, like ingest, has better ways to sort than comparing strings.
///
/// Every implementation must pass `chronoxide_testdata::conformance::check_labelset_store`.
pub trait LabelSetStore {
    /// The ref of a labelset, which is added if it is new; and whether it was.
    ///
    /// # Errors
    ///
    /// The labelset is not as [`labelset::check`](crate::labelset::check) wants it, or a count of the
    /// store has run out ([`LabelError::Full`]).
    fn insert(&mut self, labels: &[(&str, &str)]) -> Result<(StoreRef, bool), LabelError>;

    /// The ref of a labelset, if it is in the store.
    ///
    /// # Errors
    ///
    /// The labelset is not as [`labelset::check`](crate::labelset::check) wants it: an unsorted one is
    /// a mistake of the caller, and no miss.
    fn find(&self, labels: &[(&str, &str)]) -> Result<Option<StoreRef>, LabelError>;

    /// Calls `each` with the name and value of each label of a series, in the order of names.
    ///
    /// # Errors
    ///
    /// [`LabelError::Unknown`] if the store never gave out this ref; nothing was called then.
    fn visit(&self, series: StoreRef, each: impl FnMut(&str, &str)) -> Result<(), LabelError>;

    /// How many distinct labelsets there are; refs are below it.
    fn len(&self) -> usize;

    /// Whether there is no labelset.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory held, with room that is reserved and not yet used.
    fn memory_used(&self) -> usize;
}
