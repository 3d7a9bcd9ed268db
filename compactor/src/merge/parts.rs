//! Values by part of a plan: [`ByPart`].

use std::ops::{Index, IndexMut};

use chronoxide_planner::{Part, Plan};

/// A value for each key and each shared table of a plan.
pub(crate) struct ByPart<T> {
    pub keys: Vec<T>,
    pub tables: Vec<T>,
}

impl<T> Index<Part> for ByPart<T> {
    type Output = T;

    fn index(&self, part: Part) -> &T {
        match part {
            Part::Key(key) => &self.keys[key as usize],
            Part::Table(table) => &self.tables[table],
        }
    }
}

impl<T> IndexMut<Part> for ByPart<T> {
    fn index_mut(&mut self, part: Part) -> &mut T {
        match part {
            Part::Key(key) => &mut self.keys[key as usize],
            Part::Table(table) => &mut self.tables[table],
        }
    }
}

impl<T> ByPart<T> {
    pub(crate) fn map<U>(&self, each: impl Fn(&T) -> U) -> ByPart<U> {
        ByPart { keys: self.keys.iter().map(&each).collect(), tables: self.tables.iter().map(&each).collect() }
    }
}

/// Returns the keys of a table's labels, increasing.
pub(crate) fn keys_of(plan: &Plan, table: usize) -> Vec<u32> {
    let mut keys: Vec<u32> = plan.tables[table].parts.iter().flat_map(|&part| keys_of_part(plan, part)).collect();
    keys.sort_unstable();
    keys
}

/// Returns the keys of a part's labels, increasing.
pub(super) fn keys_of_part(plan: &Plan, part: Part) -> Vec<u32> {
    match part {
        Part::Key(key) => vec![key],
        Part::Table(table) => keys_of(plan, table),
    }
}
