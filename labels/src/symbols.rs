//! [`SymbolTable`]: every distinct string once, under a number.

use crate::error::LabelError;

/// The number of a string in one symbol table, in the order of arrival. A block numbers its symbols
/// anew, by rank: see [`seal`](crate::seal).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreSymbolId(pub u32);

impl StoreSymbolId {
    /// The id as a position.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of strings, each under a number. Numbers are dense and count from 0 in the order of arrival.
///
/// Every implementation must pass `chronoxide_testdata::conformance::check_symbol_table`.
pub trait SymbolTable {
    /// The id of a string, which is added if it is new. Any string goes, the empty one too.
    ///
    /// # Errors
    ///
    /// [`LabelError::Full`] if the string is new and there are 2^32 - 1 already.
    fn intern(&mut self, text: &str) -> Result<StoreSymbolId, LabelError>;

    /// The id of a string, if it is in the table.
    fn get(&self, text: &str) -> Option<StoreSymbolId>;

    /// The string of an id, if the table gave it out.
    fn resolve(&self, id: StoreSymbolId) -> Option<&str>;

    /// How many distinct strings there are.
    fn len(&self) -> usize;

    /// Whether there is no string.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory held, with room that is reserved and not yet used.
    fn memory_used(&self) -> usize;
}
