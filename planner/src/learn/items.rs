//! Distinct items of samples: rows of a table, or lists. What a sample shows of them, and estimates for all rows.

use std::collections::hash_map::Entry;

use foldhash::HashMap;

/// Sampled values with which an item occurs: none, one, two, or more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spread {
    count: u8,
    values: [u32; 2],
}

impl Spread {
    /// Adds a value.
    pub(crate) fn add(&mut self, value: u32) {
        match self.count {
            0 => *self = Self { count: 1, values: [value; 2] },
            1 if self.values[0] != value => *self = Self { count: 2, values: [self.values[0], value] },
            2 if !self.values.contains(&value) => self.count = 3,
            _ => {}
        }
    }

    /// Adds the values of another spread.
    fn join(&mut self, other: Self) {
        for &value in &other.values[..usize::from(other.count.min(2))] {
            self.add(value);
        }
        self.count = self.count.max(other.count);
    }

    /// Returns true if the item occurs with one value.
    pub(crate) fn is_once(self) -> bool {
        self.count == 1
    }

    /// Returns true if the item occurs with two values.
    pub(crate) fn is_twice(self) -> bool {
        self.count == 2
    }
}

/// Item of one keyset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnItem {
    /// Name, which is equal in all keysets.
    pub name: u64,
    /// Number of members of a list, or 1.
    pub weight: u32,
    pub spread: Spread,
}

/// Items of one keyset.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnItems {
    /// Items of the rows that the samples of all keysets have.
    pub shared: Vec<OwnItem>,
    /// Estimated number of items in all rows of the keyset.
    pub count: f64,
    /// Estimated sum of their weights.
    pub weight: f64,
    /// Number of rows of the keyset per row that the samples of all keysets have.
    pub scale: f64,
}

/// Distinct items of several keysets.
#[derive(Debug, Default)]
pub(crate) struct Items {
    items: HashMap<u64, Item>,
    /// Sum of the items of each keyset.
    uses: usize,
    /// Sum of the weights of the items of each keyset, and of the distinct items.
    used_weight: u64,
    weight: u64,
    /// Number of items with one and with two sampled values.
    once: usize,
    twice: usize,
    /// Largest scale of a keyset.
    scale: f64,
}

#[derive(Debug, Default)]
struct Item {
    keysets: u32,
    weight: u32,
    spread: Spread,
}

impl Items {
    /// Adds the items of a keyset.
    pub(crate) fn add(&mut self, own: &OwnItems) {
        self.scale = self.scale.max(own.scale);
        for item in &own.shared {
            self.uses += 1;
            self.used_weight += u64::from(item.weight);
            let known = self.items.entry(item.name).or_default();
            if known.keysets == 0 {
                known.weight = item.weight;
                self.weight += u64::from(item.weight);
            }
            known.keysets += 1;
            let before = known.spread;
            known.spread.join(item.spread);
            let after = known.spread;
            self.count_spread(before, after);
        }
    }

    /// Removes the items of a keyset that was added. The spread of items that other keysets have stays.
    pub(crate) fn remove(&mut self, own: &OwnItems) {
        for item in &own.shared {
            let Entry::Occupied(mut known) = self.items.entry(item.name) else { continue };
            self.uses -= 1;
            self.used_weight -= u64::from(item.weight);
            known.get_mut().keysets -= 1;
            if known.get().keysets == 0 {
                let known = known.remove();
                self.weight -= u64::from(known.weight);
                self.count_spread(known.spread, Spread::default());
            }
        }
    }

    fn count_spread(&mut self, before: Spread, after: Spread) {
        self.once = self.once + usize::from(after.is_once()) - usize::from(before.is_once());
        self.twice = self.twice + usize::from(after.is_twice()) - usize::from(before.is_twice());
    }

    /// Estimates the number of distinct items in all rows.
    pub(crate) fn count(&self) -> f64 {
        self.items.len() as f64 + unseen(self.once, self.twice, self.scale)
    }

    /// Returns the average number of keysets per item.
    pub(crate) fn sharing(&self) -> f64 {
        self.uses.max(1) as f64 / self.items.len().max(1) as f64
    }

    /// Estimates the number of items of a keyset that are new, and the sum of their weights. The estimate is exact if
    /// all rows are sampled.
    pub(crate) fn new_items(&self, own: &OwnItems, is_exact: bool) -> (f64, f64) {
        let (mut items, mut weight, mut all_weight) = (0usize, 0u64, 0u64);
        for item in &own.shared {
            all_weight += u64::from(item.weight);
            if !self.items.contains_key(&item.name) {
                items += 1;
                weight += u64::from(item.weight);
            }
        }
        if is_exact {
            return (items as f64, weight as f64);
        }
        // Few items show little: assume one more, which is new as often as those of other keysets were.
        let share = |distinct: f64, uses: f64| if uses == 0.0 { 1.0 } else { distinct / uses };
        let item_share = share(self.items.len() as f64, self.uses as f64);
        let weight_share = share(self.weight as f64, self.used_weight as f64);
        let average = if own.count == 0.0 { 1.0 } else { own.weight / own.count };
        let items = (items as f64 + item_share) / (own.shared.len() as f64 + 1.0);
        let weight = (weight as f64 + weight_share * average) / (all_weight as f64 + average);
        (own.count * items, own.weight * weight)
    }
}

/// Estimates the number of items that a sample lacks, from the number that occur with one and with two of the sampled
/// values (the estimator of Chao, 1984). `scale` is the number of rows per sampled row: no more can be missing than if
/// all rows had as many new items as those of the sample.
pub(crate) fn unseen(once: usize, twice: usize, scale: f64) -> f64 {
    let (once, twice) = (once as f64, twice as f64);
    (once * once / (2.0 * twice.max(0.5))).min((scale - 1.0).max(0.0) * once)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(names: &[(u64, u32)], value: u32) -> OwnItems {
        let mut spread = Spread::default();
        spread.add(value);
        let shared: Vec<OwnItem> = names.iter().map(|&(name, weight)| OwnItem { name, weight, spread }).collect();
        let weight = names.iter().map(|name| f64::from(name.1)).sum();
        OwnItems { count: shared.len() as f64, weight, shared, scale: 8.0 }
    }

    #[test]
    fn a_spread_counts_up_to_three_distinct_values() {
        let mut spread = Spread::default();
        let counts: Vec<u8> = [7, 7, 9, 7, 9, 4, 5]
            .map(|value| {
                spread.add(value);
                spread.count
            })
            .to_vec();
        assert_eq!(counts, [1, 1, 2, 2, 2, 3, 3]);
        let (mut left, mut right) = (Spread::default(), Spread::default());
        left.add(1);
        right.add(2);
        left.join(right);
        assert!(left.is_twice() && right.is_once());
        left.join(spread);
        assert_eq!(left.count, 3);
    }

    #[test]
    fn new_items_are_those_that_no_keyset_has() {
        let mut items = Items::default();
        let first = own(&[(1, 10), (2, 20)], 1);
        let second = own(&[(2, 20), (3, 30)], 1);
        items.add(&first);
        assert_eq!(items.new_items(&second, true), (1.0, 30.0));
        items.add(&second);
        assert_eq!(items.sharing(), 4.0 / 3.0);
        assert_eq!(items.new_items(&first, true), (0.0, 0.0));
        items.remove(&first);
        assert_eq!(items.new_items(&first, true), (1.0, 10.0), "the second keyset still has item 2");
        items.remove(&second);
        assert_eq!(items.new_items(&first, true), (2.0, 30.0));
        assert_eq!(items.count(), 0.0);
    }

    #[test]
    fn items_of_one_value_are_a_sample_and_items_of_several_are_all_there_are() {
        let mut items = Items::default();
        items.add(&own(&[(1, 1), (2, 1), (3, 1)], 1));
        assert_eq!(items.count(), 3.0 + 9.0, "3 * 3 / (2 * 0.5)");
        items.add(&own(&[(1, 1), (2, 1), (3, 1)], 2));
        assert_eq!(items.count(), 3.0);
        // At most as many per row as in the sample.
        assert_eq!(unseen(100, 0, 8.0), 700.0);
        assert_eq!(unseen(100, 0, 1.0), 0.0);
    }
}
