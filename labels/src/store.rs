//! [`LabelSets`] and [`LabelSetStore`]: the set of distinct labelsets, numbered.

use crate::error::LabelError;

/// Number of a series in one store, dense from 0 in order of arrival. A block renumbers its series; sealing a store
/// returns the permutation.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreRef(pub u32);

impl StoreRef {
    /// Returns the ref as a position.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Set of numbered labelsets that can be read.
///
/// A labelset is a list of pairs of name and value in canonical order: names strictly increasing in byte order, no
/// empty name or value, within the limits of [`labelset::check`](crate::labelset::check). The caller sorts labels: it
/// often has sorted ones, or, like ingest, faster ways to sort than comparing strings.
///
/// Every implementation that only reads must pass `chronoxide_testkit::conformance::check_labelsets`.
pub trait LabelSets {
    /// Returns the ref of a labelset, or `None` if it is not in the set.
    ///
    /// # Errors
    ///
    /// The labelset violates [`labelset::check`](crate::labelset::check). An unsorted labelset is an error instead of a
    /// miss.
    fn find(&self, labels: &[(&str, &str)]) -> Result<Option<StoreRef>, LabelError>;

    /// Calls `each` with the name and value of each label of a series, sorted by name.
    ///
    /// # Errors
    ///
    /// [`LabelError::Unknown`] if the set has no series with this ref. `each` is not called then.
    fn visit(&self, series: StoreRef, each: impl FnMut(&str, &str)) -> Result<(), LabelError>;

    /// Returns the number of distinct labelsets. Refs are below it.
    fn len(&self) -> usize;

    /// Returns true if there are no labelsets.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the memory in bytes, including reserved capacity. Costs no pass over the labelsets.
    fn estimated_bytes(&self) -> usize;

    /// Returns the memory in bytes that holds data, without reserved capacity.
    fn used_bytes(&self) -> usize;
}

/// Set of numbered labelsets that grows.
///
/// Every implementation must pass `chronoxide_testkit::conformance::check_labelset_store`.
pub trait LabelSetStore: LabelSets {
    /// Inserts a labelset. Returns its ref, and true if it is new.
    ///
    /// # Errors
    ///
    /// The labelset violates [`labelset::check`](crate::labelset::check), or the store is full ([`LabelError::Full`],
    /// [`LabelError::ArenaFull`]).
    fn insert(&mut self, labels: &[(&str, &str)]) -> Result<(StoreRef, bool), LabelError>;
}
