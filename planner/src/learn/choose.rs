//! Choice of the split of one keyset: prefix and list.

use super::affinity::Affinity;
use super::cost::{Split, plain_bits};
use super::found::found_splits;
use super::known::Known;
use super::moves::neighbours;
use super::sample::Sample;
use crate::content::{KeysetRows, Origin};

/// Maximum number of known groups that are tried on a keyset.
const MAX_KNOWN: usize = 4;

/// Maximum number of moves that improve a split.
const MAX_MOVES: usize = 8;

/// Minimum share of the bits that a move saves.
const MIN_SAVING: f64 = 0.001;

/// A split that leaves this share of the plain bits is good enough to be improved, without a search for others.
const GOOD_SHARE: f64 = 0.2;

/// Split of a keyset, and its cost.
#[derive(Debug)]
pub(crate) struct Choice {
    /// Best split, or `None` if plain rows are best.
    pub split: Option<Split>,
    pub bits: f64,
}

/// Inputs of the choice besides the keyset.
pub(crate) struct Learned<'a> {
    pub known: &'a Known,
    pub affinity: &'a Affinity<'a>,
    pub entities: &'a [Vec<u32>],
    pub origins: &'a [Origin],
    /// True if groups of columns are searched in the rows of keysets.
    pub searches: bool,
}

impl Learned<'_> {
    /// Returns true if a key of a keyset describes a resource.
    fn has_resource(&self, keyset: &KeysetRows) -> bool {
        keyset.keys.iter().any(|&key| self.origins.get(key as usize) == Some(&Origin::Resource))
    }
}

impl Choice {
    fn offer(&mut self, split: Split, sample: &mut Sample<'_>, learned: &Learned<'_>) {
        let bits = split.bits(sample, learned.known, self.bits);
        if bits < self.bits {
            *self = Self { split: Some(split), bits };
        }
    }

    /// Moves columns as long as it saves bits.
    fn improve(&mut self, sample: &mut Sample<'_>, learned: &Learned<'_>) {
        for _ in 0..MAX_MOVES {
            let (Some(split), before) = (self.split.clone(), self.bits) else { return };
            neighbours(&split, sample.keyset, learned.entities, |moved| self.offer(moved, sample, learned));
            if self.bits >= before * (1.0 - MIN_SAVING) {
                return;
            }
        }
    }
}

/// Chooses a split, where `before` is the split of the last pass.
pub(crate) fn choose(sample: &mut Sample<'_>, learned: &Learned<'_>, before: Option<&Split>) -> Choice {
    let plain = plain_bits(sample);
    let mut choice = Choice { split: None, bits: f64::INFINITY };
    if let Some(before) = before {
        choice.offer(before.clone(), sample, learned);
    }
    for split in entity_splits(sample.keyset, learned.entities) {
        choice.offer(split, sample, learned);
    }
    for split in known_splits(sample, learned) {
        choice.offer(split, sample, learned);
    }
    // The rows of a keyset do not show better what describes a resource than the input does.
    let is_searched = learned.searches && !learned.has_resource(sample.keyset);
    if is_searched && choice.bits > plain * GOOD_SHARE {
        let found = match &mut sample.searched() {
            Some(searched) => found_splits(searched, learned.affinity),
            None => found_splits(sample, learned.affinity),
        };
        for split in found {
            choice.offer(split, sample, learned);
        }
    }
    choice.improve(sample, learned);
    if choice.bits < plain { choice } else { Choice { split: None, bits: plain } }
}

/// Returns splits into entities and the rest.
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

/// Returns splits into a known group and the rest.
fn known_splits(sample: &Sample<'_>, learned: &Learned<'_>) -> Vec<Split> {
    let mut splits = Vec::new();
    for group in learned.known.inside(&sample.keyset.keys).into_iter().take(MAX_KNOWN) {
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
