//! Plan from samples of the keysets.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::affinity::Affinity;
use super::choose::{Learned, choose, entity_splits};
use super::cost::{Split, plain_bits};
use super::entity::find_entities;
use super::known::Known;
use super::sample::{Sample, Sampling};
use crate::content::{Content, KeysetRows};
use crate::plan::{KeysetPlan, Part, Plan, TablePlan};

/// Maximum number of passes over all keysets.
const MAX_PASSES: usize = 4;

/// Minimum share of the bits that a pass saves, so that another one follows.
const MIN_SAVING: f64 = 0.005;

/// Plans all keysets. The caller checks on all rows if the plan pays.
pub(crate) fn learn(content: &Content) -> Plan {
    let splits = split_keysets(content);
    let mut tables = Tables::default();
    let keysets = (content.keysets.iter().zip(&splits))
        .map(|(keyset, split)| {
            split.as_ref().map_or_else(|| KeysetPlan::plain(keyset), |split| tables.plan(keyset, split))
        })
        .collect();
    Plan { tables: tables.plans, keysets }
}

/// Returns the split of each keyset, or `None` where plain rows cost less. The largest keysets are split first, so that
/// small ones follow them.
fn split_keysets(content: &Content) -> Vec<Option<Split>> {
    let entities = find_entities(content);
    let sampling = Sampling::new(content, &entities);
    let mut samples: Vec<Sample<'_>> = content.keysets.iter().map(|keyset| Sample::new(keyset, &sampling)).collect();
    let mut known = expect_entities(&mut samples, &entities);
    let mut affinity = Affinity::new(&content.origins);

    let mut by_size: Vec<usize> = (0..content.keysets.len()).collect();
    by_size.sort_by_key(|&number| Reverse(content.keysets[number].rows.len()));
    let mut order = by_size.clone();
    let mut splits: Vec<Option<Split>> = vec![None; content.keysets.len()];
    for _ in 0..MAX_PASSES {
        let (mut bits, mut saved) = (0.0, 0.0);
        let mut changed = Vec::new();
        for number in order {
            let sample = &mut samples[number];
            let before = splits[number].take();
            if let Some(split) = &before {
                split.register(sample, &mut known, false);
            }
            let learned =
                Learned { known: &known, affinity: &affinity, entities: &entities, origins: &content.origins };
            let bits_before = match &before {
                Some(split) => split.bits(sample, &known),
                None => plain_bits(sample),
            };
            let choice = choose(sample, &learned, before.as_ref());
            bits += choice.bits;
            saved += bits_before - choice.bits;
            if let Some(split) = &choice.split {
                split.register(sample, &mut known, true);
                if !known.is_complete {
                    for columns in split.tables() {
                        affinity.note(&sample.keys_of(columns), sample.keyset.len());
                    }
                }
            }
            if known.is_complete && choice.split != before {
                changed.push(number);
            }
            splits[number] = choice.split;
            sample.forget();
        }
        if known.is_complete && saved <= bits * MIN_SAVING {
            break;
        }
        // The second pass sees the splits of all other keysets; the next ones examine what it changed.
        order = if known.is_complete { changed } else { by_size.clone() };
        known.is_complete = true;
    }
    splits
}

/// Records the tables that keysets would share if all were split by entities: a table with many users is worth more
/// than one keyset shows.
fn expect_entities(samples: &mut [Sample<'_>], entities: &[Vec<u32>]) -> Known {
    let mut known = Known::default();
    for sample in samples {
        if let Some(split) = entity_splits(sample.keyset, entities).first() {
            for columns in split.tables() {
                let number = known.number(&sample.keys_of(columns));
                let group = sample.group(columns);
                known.group_mut(number).expect(&sample.rows_of(&group));
            }
            sample.forget();
        }
    }
    known
}

/// Shared tables of a plan, one for each list of keys.
#[derive(Default)]
struct Tables {
    numbers: BTreeMap<Vec<u32>, usize>,
    plans: Vec<TablePlan>,
}

impl Tables {
    fn plan(&mut self, keyset: &KeysetRows, split: &Split) -> KeysetPlan {
        // Columns are in order of their first keys.
        let mut prefix: Vec<&Vec<usize>> = split.prefix.iter().collect();
        prefix.sort_unstable();
        KeysetPlan {
            prefix: prefix.into_iter().map(|columns| self.part(keyset, columns)).collect(),
            list: (!split.list.is_empty()).then(|| self.part(keyset, &split.list)),
        }
    }

    /// Returns the part for these columns of a keyset: a key, or a table, which is added if it is new.
    fn part(&mut self, keyset: &KeysetRows, columns: &[usize]) -> Part {
        let keys: Vec<u32> = columns.iter().map(|&column| keyset.keys[column]).collect();
        if let [key] = keys[..] {
            return Part::Key(key);
        }
        let plan = || TablePlan { parts: keys.iter().copied().map(Part::Key).collect() };
        let number = *self.numbers.entry(keys.clone()).or_insert_with(|| {
            self.plans.push(plan());
            self.plans.len() - 1
        });
        Part::Table(number)
    }
}
