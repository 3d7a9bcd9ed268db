//! Decides which series are kept. Selectors are evaluated once per value and once per row of a shared table.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use chronoxide_format::shard::Shard;
use chronoxide_planner::{Part, Plan};
use chronoxide_select::Selector;

use super::parts::ByPart;
use super::tables::MergedTables;
use super::tally::Fate;
use super::vocabulary::Vocabulary;

/// A set of selectors. The last bit stands for the only shard to write.
pub(crate) type Mask = u64;

/// Maximum number of selectors.
pub(crate) const MAX_SELECTORS: usize = Mask::BITS as usize - 1;

const SHARD: Mask = 1 << MAX_SELECTORS;

/// Selectors evaluated on the values of the vocabulary.
pub(crate) struct Filter {
    /// Selectors that labels can match, by part and code; `None` for parts without a key that selectors name.
    masks: ByPart<Option<Vec<Mask>>>,
    /// Selectors that series without the key can match, by key.
    of_absent: HashMap<u32, Mask>,
    /// Selectors that can match although no input has some of their labels.
    possible: Mask,
    /// Selectors to keep: a series must match one of them, if there are any.
    keep: Mask,
    /// Selectors to drop: a series must match none of them.
    drop: Mask,
    /// Bit of the only shard to write; 0 without one.
    shard: Mask,
    /// Selectors that matched a series so far.
    matched: AtomicU64,
}

impl Filter {
    /// Keeps a series if it belongs to `shard` (if set), matches at least one selector of `keep` (if any are given),
    /// and matches none of `drop`.
    pub(crate) fn new(
        keep: &[Selector],
        drop: &[Selector],
        shard: Option<(&str, Shard)>,
        vocabulary: &Vocabulary<'_>,
    ) -> Self {
        let bits = |count: usize| (1 << count) - 1;
        let (keep_bits, drop_bits) = (bits(keep.len()), bits(keep.len() + drop.len()) & !bits(keep.len()));
        let mut filter = Self {
            masks: ByPart { keys: vec![None; vocabulary.keys.len()], tables: Vec::new() },
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

    /// Removes a selector from the masks of values that do not match. An absent label has the empty value.
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
        let masks = self.masks.keys[key as usize].get_or_insert_with(none);
        for (mask, value) in masks.iter_mut().zip(vocabulary.values(key)) {
            rule_out(mask, value);
        }
        rule_out(self.of_absent.entry(key).or_insert(Mask::MAX), "");
    }

    /// Returns true if the filter keeps every series.
    pub(crate) fn keeps_all(&self) -> bool {
        self.keep | self.drop | self.shard == 0
    }

    /// Returns the fate of a series that matches exactly these selectors.
    pub(crate) fn fate(&self, matched: Mask) -> Fate {
        // Usually nothing is new, and reading is cheaper than writing.
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

    /// Returns the selectors that series with these keys can match.
    pub(crate) fn keys_mask(&self, keys: &[u32]) -> Mask {
        let absent = self.of_absent.iter().filter(|(key, _)| !keys.contains(key));
        absent.fold(self.possible, |mask, (_, absent)| mask & absent)
    }

    /// Evaluates the selectors on the rows of the merged tables of a plan.
    pub(crate) fn add_tables(&mut self, plan: &Plan, tables: &MergedTables) {
        tables.spread(plan, &mut self.masks, |mask, other| mask & other);
    }

    /// Returns the selectors that series with these codes can match. Codes beyond `parts` are ignored.
    pub(crate) fn parts_mask(&self, parts: &[Part], row: &[u32]) -> Mask {
        let codes = parts.iter().zip(row);
        codes.fold(Mask::MAX, |mask, (&part, &code)| mask & self.part_mask(part, code))
    }

    /// Returns the selectors that series with this code can match.
    pub(crate) fn part_mask(&self, part: Part, code: u32) -> Mask {
        self.masks[part].as_ref().map_or(Mask::MAX, |masks| masks[code as usize])
    }
}
