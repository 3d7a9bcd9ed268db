//! The choice for one keyset: prefix and list.

use super::affinity::Affinity;
use super::agglomerate::agglomerate;
use super::cost::{Split, plain_bits};
use super::group::Group;
use super::known::Known;
use super::sample::Sample;
use crate::content::KeysetRows;
use std::rc::Rc;

/// Known groups that are tried on a keyset, at most.
const MOST_KNOWN: usize = 8;
/// Groups of a keyset that are tried as lists, at most.
const MOST_TRIED: usize = 12;
/// Groups of which pairs are, at most.
const MOST_PAIRED: usize = 6;

/// Where a split leaves this share of the plain bits, it is good enough.
const GOOD_SHARE: f64 = 0.12;

/// A way to factor a keyset, and what it costs.
#[derive(Debug)]
pub(crate) struct Choice {
    /// None where nothing is better than plain rows.
    pub split: Option<Split>,
    pub bits: f64,
}

/// What choosing needs besides the keyset.
pub(crate) struct Learned<'a> {
    pub known: &'a Known,
    pub affinity: &'a Affinity,
    pub entities: &'a [Vec<u32>],
}

impl Choice {
    fn offer(&mut self, split: Split, sample: &mut Sample<'_>, learned: &Learned<'_>) {
        let bits = split.bits(sample, learned.known);
        if bits < self.bits {
            *self = Self { split: Some(split), bits };
        }
    }
}

/// Chooses. Where entities and known groups leave no more than a share of the plain bits, nothing else is looked for.
pub(crate) fn choose(sample: &mut Sample<'_>, learned: &Learned<'_>) -> Choice {
    let plain = plain_bits(sample);
    let mut choice = Choice { split: None, bits: plain };
    for split in entity_splits(sample.keyset, learned.entities) {
        choice.offer(split, sample, learned);
    }
    if choice.bits <= plain * GOOD_SHARE {
        return choice;
    }
    for split in known_splits(sample, learned) {
        choice.offer(split, sample, learned);
    }
    if choice.bits > plain * GOOD_SHARE {
        for split in found_splits(sample, learned) {
            choice.offer(split, sample, learned);
        }
    }
    choice
}

/// Splits into entities and the rest.
pub(crate) fn entity_splits(keyset: &KeysetRows, entities: &[Vec<u32>]) -> Vec<Split> {
    let columns = |keys: &Vec<u32>| keys.iter().filter_map(|key| keyset.keys.binary_search(key).ok()).collect();
    let mut entities: Vec<Vec<usize>> = entities.iter().map(columns).collect();
    entities.retain(|columns| !columns.is_empty());
    let mut splits = Vec::new();
    for count in 1..=entities.len() {
        let inside: Vec<usize> = entities[..count].concat();
        let rest = (0..keyset.keys.len()).filter(|column| !inside.contains(column)).collect::<Vec<_>>();
        if rest.is_empty() {
            if count > 1 {
                let list = entities[count - 1].clone();
                splits.push(Split { prefix: entities[..count - 1].to_vec(), list });
            }
            splits.push(Split { prefix: entities[..count].to_vec(), list: Vec::new() });
            continue;
        }
        splits.push(Split { prefix: entities[..count].to_vec(), list: rest.clone() });
        if count == 1 {
            splits.push(Split { prefix: vec![rest], list: entities[0].clone() });
        } else {
            splits.push(Split { prefix: [&entities[1..count], &[rest]].concat(), list: entities[0].clone() });
        }
    }
    splits
}

/// Splits into a known group and the rest.
fn known_splits(sample: &Sample<'_>, learned: &Learned<'_>) -> Vec<Split> {
    let mut splits = Vec::new();
    for group in learned.known.inside(&sample.keyset.keys).into_iter().take(MOST_KNOWN) {
        let inside = sample.columns_of(&group.keys);
        let rest = sample.others(&inside);
        if rest.is_empty() {
            continue;
        }
        splits.push(Split { prefix: vec![inside.clone()], list: rest.clone() });
        splits.push(Split { prefix: vec![inside.clone(), rest.clone()], list: Vec::new() });
        splits.push(Split { prefix: vec![rest], list: inside });
    }
    splits
}

/// Splits of the groups that the rows show.
fn found_splits(sample: &mut Sample<'_>, learned: &Learned<'_>) -> Vec<Split> {
    let columns: Vec<Rc<Group>> = (0..sample.keyset.keys.len()).map(|column| sample.group(&[column])).collect();
    let groups: Vec<Vec<usize>> = agglomerate(sample, &columns).into_iter().map(|group| group.columns).collect();
    if groups.is_empty() {
        return Vec::new();
    }
    let constants: Vec<usize> =
        columns.iter().filter(|group| group.distinct() == 1).flat_map(|group| group.columns.clone()).collect();
    let mut parts = vec![Split { prefix: groups.clone(), list: Vec::new() }];
    for list in subsets(groups.len()) {
        let mut split = Split { prefix: Vec::new(), list: Vec::new() };
        for (number, group) in groups.iter().enumerate() {
            if list.contains(&number) { split.list.extend(group) } else { split.prefix.push(group.clone()) }
        }
        split.list.sort_unstable();
        parts.push(split);
    }
    parts.into_iter().map(|split| with_constants(split, &constants, sample, learned.affinity)).collect()
}

/// Which groups may form the list: each one of the first, each pair of them, and all but these.
fn subsets(count: usize) -> Vec<Vec<usize>> {
    let tried = count.min(MOST_TRIED);
    let mut chosen: Vec<Vec<usize>> = (0..tried).map(|number| vec![number]).collect();
    for first in 0..tried.min(MOST_PAIRED) {
        chosen.extend((first + 1..tried.min(MOST_PAIRED)).map(|second| vec![first, second]));
    }
    let others = |chosen: &Vec<usize>| (0..count).filter(|number| !chosen.contains(number)).collect();
    let complements: Vec<Vec<usize>> = chosen.iter().map(others).collect();
    chosen.extend(complements);
    chosen.retain(|list| !list.is_empty() && list.len() < count);
    chosen.sort();
    chosen.dedup();
    chosen
}

/// Puts each column that does not change to the group to which its key belongs.
fn with_constants(mut split: Split, constants: &[usize], sample: &Sample<'_>, affinity: &Affinity) -> Split {
    let mut groups: Vec<Vec<usize>> = split.prefix.clone();
    if !split.list.is_empty() {
        groups.push(split.list.clone());
    }
    let keys: Vec<Vec<u32>> = groups.iter().map(|group| sample.keys_of(group)).collect();
    for &column in constants {
        groups[affinity.nearest(sample.keyset.keys[column], &keys)].push(column);
    }
    groups.iter_mut().for_each(|group| group.sort_unstable());
    if !split.list.is_empty() {
        split.list = groups.pop().unwrap_or_default();
    }
    split.prefix = groups;
    split
}
