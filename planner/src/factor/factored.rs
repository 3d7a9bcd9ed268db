//! Result of factoring: [`Factored`], the content of a block besides symbols and dictionaries.

use super::lists::Lists;
use crate::content::{Content, KeysetRows};
use crate::plan::Part;

/// Content as tables, pools and keysets of a block, in order of the block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Factored {
    /// Inner tables: maps and shared tables.
    pub tables: Vec<FactoredTable>,
    /// List pools, in order of their tables.
    pub pools: Vec<FactoredPool>,
    /// Keysets, in order of the content.
    pub keysets: Vec<FactoredKeyset>,
}

/// Map or shared table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactoredTable {
    /// Parts to which the columns refer.
    pub parts: Vec<Part>,
    /// Codes, row by row.
    pub rows: Vec<u32>,
}

/// List pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactoredPool {
    /// Part whose values or rows the lists contain.
    pub part: Part,
    /// Lists in increasing order.
    pub lists: Lists,
}

/// Table of a keyset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactoredKeyset {
    /// Parts to which the columns refer, except for the column of lists.
    pub parts: Vec<Part>,
    /// Pool of its lists.
    pub pool: Option<usize>,
    /// Codes, row by row. The list is last.
    pub rows: Vec<u32>,
    /// Row in the content for each series of the block.
    pub order: Vec<u32>,
}

impl FactoredKeyset {
    /// Returns the number of columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.parts.len() + usize::from(self.pool.is_some())
    }
}

impl Factored {
    /// Returns plain rows of value codes, without maps.
    pub(crate) fn plain(content: &Content) -> Self {
        let keyset = |source: &KeysetRows| FactoredKeyset {
            parts: source.keys.iter().copied().map(Part::Key).collect(),
            pool: None,
            rows: source.rows.clone(),
            order: (0..source.len() as u32).collect(),
        };
        Self { keysets: content.keysets.iter().map(keyset).collect(), ..Self::default() }
    }
}
