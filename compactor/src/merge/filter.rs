//! Which series are kept: selectors evaluated on values once, on rows of tables once, and on what is left of series.

use std::collections::HashMap;

use chronoxide_planner::{Part, Plan};

use super::tables::MergedTables;
use super::vocabulary::Vocabulary;
use crate::select::Selector;

/// A set of selectors, of which there are 64 at most.
pub(crate) type Mask = u64;

/// The most selectors that there may be.
pub(crate) const MOST_SELECTORS: usize = Mask::BITS as usize;

/// Selectors in the values of the vocabulary.
pub(crate) struct Filter {
    /// For each key that a selector asks about, and each of its values, the selectors that it does not rule out.
    of_values: HashMap<u32, Vec<Mask>>,
    /// The same for series without the key, and for keys that no input has: those are in `absent_everywhere`.
    of_absent: HashMap<u32, Mask>,
    /// The selectors that keys which no input has do not rule out.
    possible: Mask,
    /// Those of which a series must match one, if there are any.
    keep: Mask,
    /// Those of which it must match none.
    drop: Mask,
}

impl Filter {
    pub(crate) fn new(keep: &[Selector], drop: &[Selector], vocabulary: &Vocabulary<'_>) -> Self {
        let count = keep.len() + drop.len();
        let all = Mask::MAX.checked_shr(Mask::BITS - count as u32).unwrap_or(0);
        let keep_mask = Mask::MAX.checked_shr(Mask::BITS - keep.len() as u32).unwrap_or(0);
        let mut filter = Self {
            of_values: HashMap::new(),
            of_absent: HashMap::new(),
            possible: all,
            keep: keep_mask,
            drop: all & !keep_mask,
        };
        for (number, selector) in keep.iter().chain(drop).enumerate() {
            let bit = 1 << number;
            for matcher in selector.matchers() {
                match vocabulary.key(matcher.name()) {
                    None if matcher.matches("") => {}
                    None => filter.possible &= !bit,
                    Some(key) => {
                        let masks = filter
                            .of_values
                            .entry(key)
                            .or_insert_with(|| vec![all; vocabulary.keys[key as usize].values.len()]);
                        for (mask, value) in masks.iter_mut().zip(vocabulary.values(key)) {
                            if !matcher.matches(value) {
                                *mask &= !bit;
                            }
                        }
                        let absent = filter.of_absent.entry(key).or_insert(all);
                        if !matcher.matches("") {
                            *absent &= !bit;
                        }
                    }
                }
            }
        }
        filter
    }

    /// Whether all series are kept.
    pub(crate) fn keeps_all(&self) -> bool {
        self.keep == 0 && self.drop == 0
    }

    /// Whether a series is kept that none of these selectors is ruled out for.
    pub(crate) fn keeps(&self, matched: Mask) -> bool {
        (self.keep == 0 || matched & self.keep != 0) && matched & self.drop == 0
    }

    /// The selectors that series with these keys may match.
    pub(crate) fn of_keys(&self, keys: &[u32]) -> Mask {
        let absent = self.of_absent.iter().filter(|(key, _)| !keys.contains(key));
        absent.fold(self.possible, |mask, (_, absent)| mask & absent)
    }

    /// The selectors that a label does not rule out.
    pub(crate) fn of_value(&self, key: u32, code: u32) -> Mask {
        self.of_values.get(&key).map_or(Mask::MAX, |masks| masks[code as usize])
    }

    /// For the rows of each table of a plan, the selectors that they do not rule out.
    pub(crate) fn of_tables(&self, plan: &Plan, tables: &MergedTables) -> Vec<Vec<Mask>> {
        let mut of_tables: Vec<Vec<Mask>> = Vec::with_capacity(plan.tables.len());
        for (table, merged) in plan.tables.iter().zip(&tables.tables) {
            let row = |row: &[u32]| {
                table
                    .parts
                    .iter()
                    .zip(row)
                    .fold(Mask::MAX, |mask, (&part, &code)| mask & self.of_part(&of_tables, part, code))
            };
            of_tables.push(merged.rows.chunks_exact(table.parts.len()).map(row).collect());
        }
        of_tables
    }

    /// The selectors that a code of a part does not rule out.
    pub(crate) fn of_part(&self, of_tables: &[Vec<Mask>], part: Part, code: u32) -> Mask {
        match part {
            Part::Key(key) => self.of_value(key, code),
            Part::Table(table) => of_tables[table][code as usize],
        }
    }
}
