//! Which series are kept: selectors evaluated on values once, on rows of tables once, and on what is left of series.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use chronoxide_format::shard::Shard;
use chronoxide_planner::{Part, Plan};

use super::tables::MergedTables;
use super::vocabulary::Vocabulary;
use chronoxide_select::Selector;

/// A set of selectors. The last bit is that of the only shard that is wanted.
pub(crate) type Mask = u64;

/// The most selectors that there may be.
pub(crate) const MAX_SELECTORS: usize = Mask::BITS as usize - 1;

const SHARD: Mask = 1 << MAX_SELECTORS;

/// What becomes of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    /// Selectors leave it out.
    Dropped,
    /// It is in another shard than the one that is wanted.
    OtherShard,
}

/// Selectors in the values of the vocabulary.
pub(crate) struct Filter {
    /// For each key that a selector asks about, and each of its values, the selectors that it does not rule out.
    of_values: HashMap<u32, Vec<Mask>>,
    /// The same for series without the key.
    of_absent: HashMap<u32, Mask>,
    /// The selectors that labels which no input has do not rule out.
    possible: Mask,
    /// Those of which a series must match one, if there are any.
    keep: Mask,
    /// Those of which it must match none.
    drop: Mask,
    /// The bit of the only shard that is wanted, if one is.
    shard: Mask,
    /// Selectors that have matched some series.
    matched: AtomicU64,
}

impl Filter {
    /// Series of the one shard, if there is one, that one of `keep` selects, if there are any, and none of `drop`.
    pub(crate) fn new(
        keep: &[Selector],
        drop: &[Selector],
        shard: Option<(&str, Shard)>,
        vocabulary: &Vocabulary<'_>,
    ) -> Self {
        let bits = |count: usize| (1 << count) - 1;
        let (keep_bits, drop_bits) = (bits(keep.len()), bits(keep.len() + drop.len()) & !bits(keep.len()));
        let mut filter = Self {
            of_values: HashMap::new(),
            of_absent: HashMap::new(),
            possible: Mask::MAX,
            keep: keep_bits,
            drop: drop_bits,
            shard: if shard.is_some() { SHARD } else { 0 },
            matched: AtomicU64::new(0),
        };
        for (number, selector) in keep.iter().chain(drop).enumerate() {
            for matcher in selector.matchers() {
                filter.rule_out(1 << number, matcher.name(), vocabulary, |value| matcher.matches(value));
            }
        }
        if let Some((key, shard)) = shard {
            filter.rule_out(SHARD, key, vocabulary, |value| shard.has(value.as_bytes()));
        }
        filter
    }

    /// Rules a selector out for values of a label that do not match; the empty value is that of an absent label.
    fn rule_out(&mut self, bit: Mask, name: &str, vocabulary: &Vocabulary<'_>, matches: impl Fn(&str) -> bool) {
        let rule_out = |mask: &mut Mask, value| {
            if !matches(value) {
                *mask &= !bit;
            }
        };
        let Some(key) = vocabulary.key(name) else {
            rule_out(&mut self.possible, "");
            return;
        };
        let none = || vec![Mask::MAX; vocabulary.keys[key as usize].values.len()];
        let masks = self.of_values.entry(key).or_insert_with(none);
        for (mask, value) in masks.iter_mut().zip(vocabulary.values(key)) {
            rule_out(mask, value);
        }
        rule_out(self.of_absent.entry(key).or_insert(Mask::MAX), "");
    }

    /// Whether all series are kept.
    pub(crate) fn keeps_all(&self) -> bool {
        self.keep | self.drop | self.shard == 0
    }

    /// What becomes of a series that none of these selectors is ruled out for.
    pub(crate) fn fate(&self, matched: Mask) -> Fate {
        // Mostly nothing is new, and reading is cheap.
        if matched & !self.matched.load(Ordering::Relaxed) != 0 {
            self.matched.fetch_or(matched, Ordering::Relaxed);
        }
        if matched & self.shard != self.shard {
            Fate::OtherShard
        } else if (self.keep == 0 || matched & self.keep != 0) && matched & self.drop == 0 {
            Fate::Kept
        } else {
            Fate::Dropped
        }
    }

    /// Returns true if selector `number` has matched a series: those to keep come first, then those to drop.
    pub(crate) fn has_matched(&self, number: usize) -> bool {
        self.matched.load(Ordering::Relaxed) & (1 << number) != 0
    }

    /// The selectors that series with these keys may match.
    pub(crate) fn keys_mask(&self, keys: &[u32]) -> Mask {
        let absent = self.of_absent.iter().filter(|(key, _)| !keys.contains(key));
        absent.fold(self.possible, |mask, (_, absent)| mask & absent)
    }

    /// The selectors that a label does not rule out.
    pub(crate) fn value_mask(&self, key: u32, code: u32) -> Mask {
        self.of_values.get(&key).map_or(Mask::MAX, |masks| masks[code as usize])
    }

    /// For the rows of each table of a plan, the selectors that they do not rule out.
    pub(crate) fn table_masks(&self, plan: &Plan, tables: &MergedTables) -> Vec<Vec<Mask>> {
        let mut table_masks: Vec<Vec<Mask>> = Vec::with_capacity(plan.tables.len());
        for (table, merged) in plan.tables.iter().zip(&tables.tables) {
            let row = |row: &[u32]| self.parts_mask(&table_masks, &table.parts, row);
            table_masks.push(merged.rows.chunks_exact(table.parts.len()).map(row).collect());
        }
        table_masks
    }

    /// The selectors that no code of a row rules out; codes that the row has beyond these parts are not looked at.
    pub(crate) fn parts_mask(&self, table_masks: &[Vec<Mask>], parts: &[Part], row: &[u32]) -> Mask {
        let codes = parts.iter().zip(row);
        codes.fold(Mask::MAX, |mask, (&part, &code)| mask & self.part_mask(table_masks, part, code))
    }

    /// The selectors that a code of a part does not rule out.
    pub(crate) fn part_mask(&self, table_masks: &[Vec<Mask>], part: Part, code: u32) -> Mask {
        match part {
            Part::Key(key) => self.value_mask(key, code),
            Part::Table(table) => table_masks[table][code as usize],
        }
    }
}
