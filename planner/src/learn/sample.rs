//! Sampled rows of a keyset, column by column: [`Sample`].

use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::cost::Costs;
use super::group::{Group, Numbering, label_name};
use super::items::{OwnItem, OwnItems, Spread, unseen};
use crate::content::{Content, KeysetRows};
use crate::factor::column_ranges;

/// Maximum number of rows of all keysets that a plan is learnt from, except for those of small ones.
const MAX_ROWS: u64 = 1 << 22;
/// Minimum number of sampled rows of a keyset that has more.
const MIN_ROWS: usize = 256;
/// Maximum number of sampled codes of a keyset: those with many keys have fewer sampled rows.
const MAX_CODES: usize = 1 << 22;
/// Minimum number of sampled values of a key that chooses rows.
const MIN_VALUES: u64 = 64;
/// Maximum number of codes of a sample in which groups of columns are searched.
const MAX_SEARCHED_CODES: usize = 1 << 18;
/// Maximum number of codes of groups that are cached for one keyset.
const MAX_CACHED_CODES: usize = 1 << 19;
/// Maximum number of codes of a sample whose labels are named once: 8 bytes per code.
const MAX_NAMED_CODES: usize = 1 << 18;

/// Choice of the sampled rows: all rows with some values of a key. Keysets with the same key have rows of the same
/// values, so that their samples show what they share.
#[derive(Debug, Default)]
pub(crate) struct Sampling {
    /// Keys that choose rows, the best first.
    keys: Vec<u32>,
    /// Values have levels: half of them 0, a quarter 1, and so on. The samples of all keysets have the rows whose
    /// values have this level or more.
    level: u32,
    /// True if the samples of all keysets have all rows, so that nothing is estimated.
    is_exact: bool,
}

impl Sampling {
    /// Chooses keys of entities, those with most values first: if whole entities are sampled, what their series have
    /// in common stays.
    pub(crate) fn new(content: &Content, entities: &[Vec<u32>]) -> Self {
        let mut series = vec![0u64; content.value_counts.len()];
        for keyset in &content.keysets {
            keyset.keys.iter().for_each(|&key| series[key as usize] += keyset.len() as u64);
        }
        let total = content.series_count();
        let level = (0..u64::BITS).find(|level| total >> level <= MAX_ROWS).unwrap_or_default();
        let is_exact = level == 0 && content.keysets.iter().all(|keyset| keyset.rows.len() <= MAX_CODES);
        let values = |key: u32| u64::from(content.value_counts[key as usize]);
        let mut keys = Vec::new();
        for entity in entities {
            let most = entity.iter().map(|&key| series[key as usize]).max().unwrap_or_default();
            let mut named: Vec<u32> =
                entity.iter().copied().filter(|&key| values(key) >= MIN_VALUES << level).collect();
            // Keys of most series come first.
            named.sort_by_key(|&key| (series[key as usize] < most / 4 * 3, Reverse(values(key))));
            keys.extend(named);
        }
        Self { keys, level, is_exact }
    }

    /// Returns the content with the chosen rows, or `None` if it has few rows.
    ///
    /// A plan learnt from all rows of some entities is as good as one learnt from all rows of all entities (10 million
    /// series of the workload), and better than one that extrapolates from these rows: what extrapolation gets wrong
    /// grows with the number of rows.
    pub(crate) fn subset(&self, content: &Content) -> Option<Content> {
        let rows = |keyset: &KeysetRows| {
            let sample = Sample::new(keyset, self);
            KeysetRows { keys: keyset.keys.clone(), rows: sample.sampled_rows().flatten().copied().collect() }
        };
        (self.level > 0).then(|| Content {
            value_counts: content.value_counts.clone(),
            origins: content.origins.clone(),
            keysets: content.keysets.iter().map(rows).collect(),
        })
    }

    /// Returns the choice of all rows of a [`subset`](Self::subset).
    pub(crate) fn whole(self) -> Self {
        Self { level: 0, is_exact: true, ..self }
    }

    /// Returns this choice of rows with what items occur with, as if some keysets had more rows than their samples.
    #[cfg(test)]
    pub(crate) fn estimated(self) -> Self {
        assert!(self.is_exact);
        Self { is_exact: false, ..self }
    }
}

/// Sampled rows of a keyset.
#[derive(Debug)]
pub(crate) struct Sample<'c> {
    pub keyset: &'c KeysetRows,
    /// Numbers of the sampled rows in increasing order, or `None` if all rows are sampled.
    rows: Option<Vec<u32>>,
    /// Column that chose the rows, or `None` if each row was chosen by its number.
    chosen_by: Option<usize>,
    /// Name of the value that chose each sampled row, and its level. Empty if the samples of all keysets are exact.
    chosen: Vec<(u32, u32)>,
    /// True if the samples of all keysets have all rows.
    all_are_exact: bool,
    /// Level of the rows that the samples of all keysets have.
    shared_level: u32,
    /// Bits of the code of each column in its range, once they were needed: they cost a pass over all rows.
    code_bits: OnceCell<Vec<u32>>,
    /// Number of series per sampled row, and per row that the samples of all keysets have.
    scale: f64,
    shared_scale: f64,
    /// Cache of groups, and of costs.
    groups: BTreeMap<Vec<usize>, Rc<Group>>,
    pub costs: Costs,
    /// Name of each row, once it was needed.
    whole_names: Vec<u64>,
    /// Names of the labels of each column, once they were needed. Empty for large samples.
    column_names: Vec<Vec<u64>>,
    /// Names of combinations; reused to keep its capacity.
    buffer: Vec<u64>,
    numbering: Numbering,
}

impl<'c> Sample<'c> {
    pub(crate) fn new(keyset: &'c KeysetRows, sampling: &Sampling) -> Self {
        let chosen_by = sampling.keys.iter().find_map(|key| keyset.keys.binary_search(key).ok());
        if sampling.is_exact {
            return Self::exact(keyset, chosen_by);
        }
        let (mut rows, mut chosen) = (Vec::new(), chosen_rows(keyset, chosen_by));
        let rows_from = |level: u32| chosen.iter().filter(|chosen| chosen.1 >= level).count();
        // The highest level that leaves enough rows.
        let mut level = (0..=sampling.level).rev().find(|&level| rows_from(level) >= MIN_ROWS).unwrap_or(0);
        while rows_from(level) * keyset.keys.len() > MAX_CODES && rows_from(level + 1) >= MIN_ROWS {
            level += 1;
        }
        let shared_scale = keyset.len() as f64 / rows_from(sampling.level).max(1) as f64;
        if level > 0 {
            rows = (0u32..).zip(&chosen).filter(|(_, chosen)| chosen.1 >= level).map(|(number, _)| number).collect();
            chosen.retain(|chosen| chosen.1 >= level);
        }
        Self {
            shared_level: sampling.level,
            scale: keyset.len() as f64 / chosen.len() as f64,
            shared_scale,
            rows: (level > 0).then_some(rows),
            chosen,
            all_are_exact: false,
            ..Self::exact(keyset, chosen_by)
        }
    }

    /// Returns the sample of a keyset with all rows, if those of the other keysets have all rows too.
    fn exact(keyset: &'c KeysetRows, chosen_by: Option<usize>) -> Self {
        Self {
            keyset,
            chosen_by,
            shared_level: 0,
            code_bits: OnceCell::new(),
            scale: 1.0,
            shared_scale: 1.0,
            rows: None,
            chosen: Vec::new(),
            all_are_exact: true,
            groups: BTreeMap::new(),
            costs: Costs::default(),
            whole_names: Vec::new(),
            column_names: Vec::new(),
            buffer: Vec::new(),
            numbering: Numbering::default(),
        }
    }

    /// Returns the bits of the code of each column in its range.
    pub(crate) fn code_bits(&self) -> &[u32] {
        self.code_bits.get_or_init(|| range_bits(self.keyset))
    }

    /// Returns a sample of this one in which groups of columns can be searched, or `None` if this one is small.
    pub(crate) fn searched(&self) -> Option<Self> {
        let limit = (MAX_SEARCHED_CODES / self.keyset.keys.len().max(1)).max(MIN_ROWS);
        if self.len() <= limit {
            return None;
        }
        let chosen = if self.all_are_exact {
            Cow::Owned(chosen_rows(self.keyset, self.chosen_by))
        } else {
            Cow::Borrowed(&self.chosen)
        };
        let rows_from = |level: u32| chosen.iter().filter(|chosen| chosen.1 >= level).count();
        // If few values choose many rows, no level leaves few rows, and not none.
        let level = (0..u64::BITS).find(|&level| rows_from(level) <= limit).unwrap_or_default();
        let is_chosen = |place: usize| chosen[place].1 >= level;
        let step = self.len().div_ceil(limit);
        let mut places: Vec<usize> = (0..self.len()).filter(|&place| is_chosen(place)).collect();
        if places.len() < limit / 4 {
            places = (0..self.len()).step_by(step).collect();
        }
        let row = |&place: &usize| self.rows.as_ref().map_or(place as u32, |rows| rows[place]);
        Some(Self {
            keyset: self.keyset,
            rows: Some(places.iter().map(row).collect()),
            chosen: places.iter().map(|&place| chosen[place]).collect(),
            all_are_exact: false,
            shared_level: self.shared_level,
            scale: self.keyset.len() as f64 / places.len() as f64,
            shared_scale: self.shared_scale,
            ..Self::exact(self.keyset, self.chosen_by)
        })
    }

    /// Returns the number of sampled rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.as_ref().map_or(self.keyset.len(), Vec::len)
    }

    /// Returns true if the samples of all keysets have all rows: then nothing is estimated from the values with which
    /// items occur.
    pub(crate) fn all_are_exact(&self) -> bool {
        self.all_are_exact
    }

    /// Returns the items of the keyset, as names and weights, if the samples of all keysets have all rows.
    pub(crate) fn exact_items(&self, named: impl Iterator<Item = (u64, u32)>) -> OwnItems {
        let shared: Vec<OwnItem> =
            named.map(|(name, weight)| OwnItem { name, weight, spread: Spread::default() }).collect();
        let weight: u64 = shared.iter().map(|item| u64::from(item.weight)).sum();
        OwnItems { count: shared.len() as f64, weight: weight as f64, shared, scale: self.shared_scale }
    }

    /// Returns the items of the keyset: `numbers` has the item of each sampled row, and `named` the name and the weight
    /// of each item. If `has_sampled_members`, items with several sampled values lack weight.
    pub(crate) fn items(&self, numbers: &[u32], named: &[(u64, u32)], has_sampled_members: bool) -> OwnItems {
        let mut found = vec![(Spread::default(), false); named.len()];
        for (&number, &(value, level)) in numbers.iter().zip(&self.chosen) {
            let found = &mut found[number as usize];
            found.0.add(value);
            found.1 |= level >= self.shared_level;
        }
        let (mut once, mut twice) = (0, 0);
        let (mut once_weight, mut weight) = (0.0, 0.0);
        let mut shared = Vec::with_capacity(named.len());
        for (&(name, item_weight), &(spread, is_shared)) in named.iter().zip(&found) {
            once += usize::from(spread.is_once());
            twice += usize::from(spread.is_twice());
            let sum = if spread.is_once() { &mut once_weight } else { &mut weight };
            *sum += f64::from(item_weight);
            if is_shared {
                shared.push(OwnItem { name, weight: item_weight, spread });
            }
        }
        let unseen = unseen(once, twice, self.scale);
        let scale = if has_sampled_members { self.scale } else { 1.0 };
        OwnItems {
            shared,
            count: named.len() as f64 + unseen,
            weight: weight * scale + once_weight * (1.0 + unseen / once.max(1) as f64),
            scale: self.shared_scale,
        }
    }

    /// Returns the combinations of a group as rows of a table.
    pub(crate) fn rows_of(&self, group: &Group) -> OwnItems {
        if self.all_are_exact {
            return self.exact_items(group.names.iter().map(|&name| (name, 1)));
        }
        let named: Vec<(u64, u32)> = group.names.iter().map(|&name| (name, 1)).collect();
        self.items(&group.codes, &named, false)
    }

    /// Estimates the number of combinations in all rows.
    pub(crate) fn count(&self, group: &Group) -> f64 {
        if self.rows.is_none() {
            return group.distinct() as f64;
        }
        self.rows_of(group).count
    }

    /// Returns true if the column that chose the rows is one of these.
    pub(crate) fn is_chosen_by(&self, columns: &[usize]) -> bool {
        self.rows.is_some() && self.chosen_by.is_some_and(|column| columns.contains(&column))
    }

    /// Returns true if the samples of all keysets have a sampled row.
    pub(crate) fn is_shared(&self, row: usize) -> bool {
        self.all_are_exact || self.chosen[row].1 >= self.shared_level
    }

    /// Returns true if the sample has all rows, as those of other keysets.
    pub(crate) fn is_exact(&self) -> bool {
        self.shared_level == 0 && self.rows.is_none()
    }

    fn sampled_rows(&self) -> impl Iterator<Item = &'c [u32]> {
        let width = self.keyset.keys.len();
        let keyset = self.keyset;
        let all = self.rows.is_none().then(|| keyset.series());
        let some =
            self.rows.iter().flatten().map(move |&row| &keyset.rows[row as usize * width..(row as usize + 1) * width]);
        all.into_iter().flatten().chain(some)
    }

    /// Replaces `names` by the name of the combination of these columns in each row: the sum of the names of its
    /// labels.
    fn name_rows(&mut self, columns: impl Iterator<Item = usize> + Clone, names: &mut Vec<u64>) {
        names.clear();
        let keyset = self.keyset;
        let keys = &keyset.keys;
        if self.len() * keys.len() > MAX_NAMED_CODES {
            // `collect` would ask the chain for each row which part it is in.
            self.sampled_rows().for_each(|row| {
                let labels = columns.clone().map(|column| label_name(keys[column], row[column]));
                names.push(labels.fold(0u64, u64::wrapping_add));
            });
            return;
        }
        // Most keysets are small, and each of their columns is in many groups.
        self.column_names.resize(keys.len(), Vec::new());
        names.resize(self.len(), 0);
        for column in columns {
            if self.column_names[column].is_empty() {
                let mut labels = Vec::with_capacity(self.len());
                self.sampled_rows().for_each(|row| labels.push(label_name(keys[column], row[column])));
                self.column_names[column] = labels;
            }
            for (name, label) in names.iter_mut().zip(&self.column_names[column]) {
                *name = name.wrapping_add(*label);
            }
        }
    }

    /// Returns the group of these columns.
    pub(crate) fn group(&mut self, columns: &[usize]) -> Rc<Group> {
        if let Some(group) = self.groups.get(columns) {
            return Rc::clone(group);
        }
        let mut names = std::mem::take(&mut self.buffer);
        self.name_rows(columns.iter().copied(), &mut names);
        let group = self.insert(columns.to_vec(), &names);
        self.buffer = names;
        group
    }

    fn insert(&mut self, columns: Vec<usize>, names: &[u64]) -> Rc<Group> {
        if self.groups.len() * self.len() > MAX_CACHED_CODES {
            self.groups.retain(|columns, _| columns.len() == 1);
        }
        let group = Rc::new(Group::from_names(columns.clone(), names, &mut self.numbering));
        self.groups.insert(columns, Rc::clone(&group));
        group
    }

    /// Returns the group of all columns except those of another group. Names are sums, so no column needs to be read.
    pub(crate) fn complement(&mut self, group: &Group) -> Rc<Group> {
        let columns = self.others(&group.columns);
        if let Some(group) = self.groups.get(&columns) {
            return Rc::clone(group);
        }
        if self.whole_names.is_empty() {
            let mut names = Vec::with_capacity(self.len());
            self.name_rows(0..self.keyset.keys.len(), &mut names);
            self.whole_names = names;
        }
        let mut names = std::mem::take(&mut self.buffer);
        names.clear();
        let own = group.codes.iter().map(|&code| group.names[code as usize]);
        names.extend(self.whole_names.iter().zip(own).map(|(whole, own)| whole.wrapping_sub(own)));
        let group = self.insert(columns, &names);
        self.buffer = names;
        group
    }

    /// Returns the keys of these columns.
    pub(crate) fn keys_of(&self, columns: &[usize]) -> Vec<u32> {
        self.keyset.keys_of(columns)
    }

    /// Returns the columns of these keys, which the keyset has.
    pub(crate) fn columns_of(&self, keys: &[u32]) -> Vec<usize> {
        keys.iter().filter_map(|key| self.keyset.keys.binary_search(key).ok()).collect()
    }

    /// Returns the columns that are not among these.
    pub(crate) fn others(&self, columns: &[usize]) -> Vec<usize> {
        (0..self.keyset.keys.len()).filter(|column| columns.binary_search(column).is_err()).collect()
    }
}

/// Returns for each row of a keyset the name of the value that chooses it, and its level.
fn chosen_rows(keyset: &KeysetRows, chosen_by: Option<usize>) -> Vec<(u32, u32)> {
    let choose = |(number, row): (u32, &[u32])| {
        let name = match chosen_by {
            Some(column) => label_name(keyset.keys[column], row[column]),
            None => label_name(u32::MAX, number),
        };
        // The name of a value is independent of its level.
        ((name >> 32) as u32, name.wrapping_mul(0x9e37_79b9_7f4a_7c15).leading_zeros())
    };
    (0u32..).zip(keyset.series()).map(choose).collect()
}

/// Returns the bits of the codes of each column, from the smallest to the largest.
fn range_bits(keyset: &KeysetRows) -> Vec<u32> {
    let ranges = column_ranges(&keyset.rows, keyset.keys.len());
    ranges.into_iter().map(|(least, most)| bits((most - least) as usize + 1)).collect()
}

/// Returns the bits that distinguish `count` items.
pub(crate) fn bits(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns 200 pods with `points` points each. Keys: pod, point.
    fn pods(keys: [u32; 2], points: u32) -> KeysetRows {
        let rows = (0..200).flat_map(|pod| (0..points).flat_map(move |point| [pod, point])).collect();
        KeysetRows { keys: keys.to_vec(), rows }
    }

    fn sampled_pods(sample: &Sample<'_>) -> Vec<u32> {
        let mut pods: Vec<u32> = sample.sampled_rows().map(|row| row[0]).collect();
        pods.dedup();
        pods
    }

    #[test]
    fn keysets_have_rows_of_the_same_values_and_small_ones_have_more() {
        let sampling = Sampling { keys: vec![0], level: 2, is_exact: false };
        let (first, second, small) = (pods([0, 1], 50), pods([0, 2], 80), pods([0, 3], 2));
        let [first, second, small] = [&first, &second, &small].map(|keyset| Sample::new(keyset, &sampling));
        let pods = sampled_pods(&first);
        assert!((25..=75).contains(&pods.len()), "a quarter of 200 pods, but {}", pods.len());
        assert_eq!(first.len(), pods.len() * 50, "all rows of each pod");
        assert_eq!(sampled_pods(&second), pods);
        assert!(small.len() >= MIN_ROWS, "{}", small.len());
        let shared: Vec<u32> = (0..small.len())
            .zip(small.sampled_rows())
            .filter(|(row, _)| small.is_shared(*row))
            .map(|(_, row)| row[0])
            .collect();
        assert_eq!(shared, pods.iter().flat_map(|&pod| [pod; 2]).collect::<Vec<_>>());
    }

    #[test]
    fn pods_are_estimated_and_points_are_known() {
        let sampling = Sampling { keys: vec![0], level: 2, is_exact: false };
        let keyset = pods([0, 1], 50);
        let mut sample = Sample::new(&keyset, &sampling);
        let (pod, point) = (sample.group(&[0]), sample.group(&[1]));
        // Each sampled pod stands for others; all pods have the same points.
        assert!((sample.count(&pod) - 200.0).abs() < 1.0, "{}", sample.count(&pod));
        assert_eq!(sample.count(&point), 50.0);
    }

    #[test]
    fn a_search_has_few_rows_of_a_keyset_with_many_codes() {
        let wide = KeysetRows { keys: (0..1000).collect(), rows: (0..4_000_000).map(|code| code / 4000).collect() };
        let sample = Sample::new(&wide, &Sampling::default());
        assert_eq!(sample.len(), 4000);
        let searched = sample.searched().map_or(0, |searched| searched.len());
        let limit = MAX_SEARCHED_CODES / 1000;
        assert!((limit / 4..=limit).contains(&searched), "{searched}");
        let narrow = pods([0, 1], 50);
        assert!(Sample::new(&narrow, &Sampling::default()).searched().is_none());
    }
}
