//! Plans: [`Plan`], the shared tables and the parts of each keyset's table.

use crate::content::{Content, KeysetRows};

/// Part of a row that a column contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Value of this key.
    Key(u32),
    /// Row of this shared table of the plan.
    Table(usize),
}

/// Factoring of the rows of a block. It contains no rows, so it can be applied to other content with the same keysets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Shared tables, each after the tables to which it refers.
    pub tables: Vec<TablePlan>,
    /// Keysets in order of the content.
    pub keysets: Vec<KeysetPlan>,
}

/// Shared table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TablePlan {
    /// Columns, at least two.
    pub parts: Vec<Part>,
}

/// Table of a keyset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeysetPlan {
    /// Columns, except for the column of lists.
    pub prefix: Vec<Part>,
    /// Part whose codes the lists contain, if there are lists.
    pub list: Option<Part>,
}

impl KeysetPlan {
    /// Returns the number of columns, including the column of lists.
    #[must_use]
    pub fn width(&self) -> usize {
        self.prefix.len() + usize::from(self.list.is_some())
    }

    /// Returns a plan with one column of value codes per key.
    #[must_use]
    pub fn plain(keyset: &KeysetRows) -> Self {
        Self { prefix: keyset.keys.iter().copied().map(Part::Key).collect(), list: None }
    }
}

impl Plan {
    /// Returns the plan without shared tables and lists.
    #[must_use]
    pub fn plain(content: &Content) -> Self {
        Self { tables: Vec::new(), keysets: content.keysets.iter().map(KeysetPlan::plain).collect() }
    }

    /// Returns the keys of a part's labels, in increasing order.
    #[must_use]
    pub fn keys_of(&self, part: Part) -> Vec<u32> {
        match part {
            Part::Key(key) => vec![key],
            Part::Table(table) => {
                let mut keys: Vec<u32> = self.tables[table].parts.iter().flat_map(|&part| self.keys_of(part)).collect();
                keys.sort_unstable();
                keys
            }
        }
    }

    /// Removes tables without references: a block uses each of its tables.
    #[must_use]
    pub fn without_unused_tables(mut self) -> Self {
        let mut used = vec![false; self.tables.len()];
        let of_keysets = self.keysets.iter().flat_map(|keyset| keyset.prefix.iter().chain(&keyset.list));
        let mut waiting: Vec<Part> = of_keysets.copied().collect();
        while let Some(part) = waiting.pop() {
            if let Part::Table(table) = part
                && !used[table]
            {
                used[table] = true;
                waiting.extend(&self.tables[table].parts);
            }
        }
        // New number of each table, after the removal of unused ones.
        let mut numbers = Vec::with_capacity(used.len());
        let mut count = 0;
        for &used in &used {
            numbers.push(count);
            count += usize::from(used);
        }
        let mut kept = used.iter();
        self.tables.retain(|_| kept.next() == Some(&true));
        let tables = self.tables.iter_mut().flat_map(|table| &mut table.parts);
        let keysets = self.keysets.iter_mut().flat_map(|keyset| keyset.prefix.iter_mut().chain(&mut keyset.list));
        for part in tables.chain(keysets) {
            if let Part::Table(table) = part {
                *table = numbers[*table];
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_nothing_refers_to_go_and_the_others_keep_their_order() {
        let table = |parts: &[Part]| TablePlan { parts: parts.to_vec() };
        let keys = [Part::Key(0), Part::Key(1)];
        // A list uses the last table, which uses the second. The first and the third are unused.
        let tables = [table(&keys), table(&keys), table(&keys), table(&[Part::Table(1), Part::Key(2)])];
        let keyset = |list| KeysetPlan { prefix: vec![Part::Key(3)], list: Some(Part::Table(list)) };
        let plan = Plan { tables: tables.to_vec(), keysets: vec![keyset(3)] };
        let tables = vec![table(&keys), table(&[Part::Table(0), Part::Key(2)])];
        assert_eq!(plan.without_unused_tables(), Plan { tables, keysets: vec![keyset(1)] });
    }
}
