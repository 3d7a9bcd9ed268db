//! What factoring makes: all that a block has besides symbols and dictionaries.

use crate::content::{Content, KeysetRows};
use crate::plan::Part;

/// Content as the tables, pools and keysets of a block, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Factored {
    /// The inner tables.
    pub tables: Vec<FactoredTable>,
    /// The list pools, in the order of their tables.
    pub pools: Vec<FactoredPool>,
    /// The keysets, in the order of the content.
    pub keysets: Vec<FactoredKeyset>,
}

/// A map or a shared table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactoredTable {
    /// What the columns refer to.
    pub parts: Vec<Part>,
    /// Codes, row after row.
    pub rows: Vec<u32>,
}

/// A list pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactoredPool {
    /// What the members are: values of a key, or rows of a table.
    pub part: Part,
    /// The lists, in increasing order.
    pub lists: Vec<Vec<u32>>,
}

/// A keyset's table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactoredKeyset {
    /// What the columns refer to, besides that of lists.
    pub parts: Vec<Part>,
    /// The pool of its lists.
    pub pool: Option<usize>,
    /// Codes, row after row; the list is the last.
    pub rows: Vec<u32>,
    /// For each series of the block, its row in the content.
    pub order: Vec<u32>,
}

impl FactoredKeyset {
    /// Columns of its table.
    #[must_use]
    pub fn width(&self) -> usize {
        self.parts.len() + usize::from(self.pool.is_some())
    }
}

impl Factored {
    /// Rows of value codes, without so much as a map.
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
