//! Values by part of a plan: [`ByPart`].

use std::ops::{Index, IndexMut};

use chronoxide_planner::Part;

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
