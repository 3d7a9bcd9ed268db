//! Plan from samples of the keysets.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::affinity::Affinity;
use super::choose::{Learned, choose, entity_splits};
use super::cost::Split;
use super::entity::find_entities;
use super::known::Known;
use super::sample::Sample;
use crate::content::{Content, KeysetRows};
use crate::plan::{KeysetPlan, Part, Plan, TablePlan};

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
    let sample = |keyset| Some(Sample::new(keyset, &content.value_counts));
    let mut samples: Vec<Option<Sample<'_>>> = content.keysets.iter().map(sample).collect();
    let entities = find_entities(content);
    let mut known = expect_entities(&mut samples, &entities);
    let mut affinity = Affinity::new(&content.origins);

    let mut order: Vec<usize> = (0..content.keysets.len()).collect();
    order.sort_by_key(|&number| Reverse(content.keysets[number].rows.len()));
    let mut splits = vec![None; content.keysets.len()];
    for number in order {
        // A sample caches the groups that were examined.
        let Some(mut sample) = samples[number].take() else { continue };
        let learned = Learned { known: &known, affinity: &affinity, entities: &entities };
        if let Some(split) = choose(&mut sample, &learned).split {
            split.register(&mut sample, &mut known);
            for columns in split.tables() {
                affinity.note(&sample.keys_of(columns), sample.keyset.len());
            }
            splits[number] = Some(split);
        }
    }
    splits
}

/// Records the tables that keysets would share if all were split by entities: a table with many users is worth more
/// than one keyset shows.
fn expect_entities(samples: &mut [Option<Sample<'_>>], entities: &[Vec<u32>]) -> Known {
    let mut known = Known::default();
    for sample in samples.iter_mut().flatten() {
        if let Some(split) = entity_splits(sample.keyset, entities).first() {
            for columns in split.tables() {
                let number = known.number(&sample.keys_of(columns));
                known.group_mut(number).expect(&sample.group(columns).names);
            }
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
