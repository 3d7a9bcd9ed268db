//! [`SymbolTable`]: the set of distinct strings, numbered.

use crate::error::LabelError;

/// Number of a string in one symbol table, in order of arrival. A block renumbers its symbols by rank: see
/// [`seal`](crate::seal).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreSymbolId(pub u32);

impl StoreSymbolId {
    /// Returns the id as a position.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Set of numbered strings. Numbers are dense and count from 0 in order of arrival.
///
/// Every implementation must pass `chronoxide_testkit::conformance::check_symbol_table`.
pub trait SymbolTable {
    /// Returns the id of a string, and adds it if it is new. Any string is valid, including the empty one. After an
    /// error the table is unchanged.
    ///
    /// # Errors
    ///
    /// The string is new, and there are 2^32 - 1 already ([`LabelError::Full`]), the table cannot hold its bytes
    /// ([`LabelError::ArenaFull`]), or the string is longer than the table allows ([`LabelError::SymbolTooLong`]; each
    /// table allows 65,535 bytes).
    fn intern(&mut self, text: &str) -> Result<StoreSymbolId, LabelError>;

    /// Returns the id of a string, or `None` if it is not in the table.
    fn get(&self, text: &str) -> Option<StoreSymbolId>;

    /// Returns the string of an id, or `None` if the table did not issue it.
    fn resolve(&self, id: StoreSymbolId) -> Option<&str>;

    /// Returns the number of distinct strings.
    fn len(&self) -> usize;

    /// Returns true if there are no strings.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the memory in bytes, including reserved capacity. Costs no pass over the strings.
    fn estimated_bytes(&self) -> usize;

    /// Returns the memory in bytes that holds data, without reserved capacity.
    fn used_bytes(&self) -> usize;
}
