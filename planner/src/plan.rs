//! A plan: which shared tables there are, and what each keyset's table is made of.

use crate::content::{Content, KeysetRows};

/// What a column stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// A value of this key.
    Key(u32),
    /// A row of this shared table of the plan.
    Table(usize),
}

/// How the rows of a block are factored. It says nothing of rows: it can be carried over to other content with the same keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The shared tables, each after those that it refers to.
    pub tables: Vec<TablePlan>,
    /// The keysets, in the order of the content.
    pub keysets: Vec<KeysetPlan>,
}

/// A shared table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TablePlan {
    /// Its columns; several.
    pub parts: Vec<Part>,
}

/// A keyset's table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeysetPlan {
    /// Its columns, besides that of lists.
    pub prefix: Vec<Part>,
    /// What its lists are lists of, if it has lists.
    pub list: Option<Part>,
}

impl KeysetPlan {
    /// Columns of its table, that of lists included.
    #[must_use]
    pub fn width(&self) -> usize {
        self.prefix.len() + usize::from(self.list.is_some())
    }

    /// A column of value codes for each key.
    #[must_use]
    pub fn plain(keyset: &KeysetRows) -> Self {
        Self { prefix: keyset.keys.iter().copied().map(Part::Key).collect(), list: None }
    }
}

impl Plan {
    /// No shared tables and no lists.
    #[must_use]
    pub fn plain(content: &Content) -> Self {
        Self { tables: Vec::new(), keysets: content.keysets.iter().map(KeysetPlan::plain).collect() }
    }

    /// The same plan without tables that nothing refers to: in a block, every table is used.
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
        // The number of each table once the unused ones before it are gone.
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
        // The last table is used by a list, and uses the second; the first and third stand alone.
        let tables = [table(&keys), table(&keys), table(&keys), table(&[Part::Table(1), Part::Key(2)])];
        let keyset = |list| KeysetPlan { prefix: vec![Part::Key(3)], list: Some(Part::Table(list)) };
        let plan = Plan { tables: tables.to_vec(), keysets: vec![keyset(3)] };
        let tables = vec![table(&keys), table(&[Part::Table(0), Part::Key(2)])];
        assert_eq!(plan.without_unused_tables(), Plan { tables, keysets: vec![keyset(1)] });
    }
}
