//! Learning a plan from rows.

mod affinity;
mod agglomerate;
mod choose;
mod cost;
mod entity;
mod found;
mod group;
mod known;
mod sample;

use std::collections::BTreeMap;

use affinity::Affinity;
use choose::{Learned, choose, entity_splits};
use known::Known;
use sample::Sample;

use crate::content::Content;
use crate::plan::{KeysetPlan, Part, Plan, TablePlan};

/// Plans: the largest keysets first, so that small ones follow what is known by then.
pub(crate) fn learn(content: &Content) -> Plan {
    let mut order: Vec<usize> = (0..content.keysets.len()).collect();
    order.sort_by_key(|&number| std::cmp::Reverse(content.keysets[number].rows.len()));
    let mut affinity = Affinity::new(&content.origins);
    let entities = entity::find_entities(content);
    let mut known = Known::default();
    let mut samples: Vec<Option<Sample<'_>>> =
        content.keysets.iter().map(|keyset| Some(Sample::new(keyset, &content.value_counts))).collect();
    // What keysets would share, if all were split by entities.
    for sample in samples.iter_mut().flatten() {
        if let Some(split) = entity_splits(sample.keyset, &entities).first() {
            for columns in split.prefix.iter().chain([&split.list]).filter(|columns| columns.len() > 1) {
                let number = known.number(&sample.keys_of(columns));
                known.group_mut(number).expect(&sample.group(columns).names);
            }
        }
    }
    let mut splits = BTreeMap::new();
    for &number in &order {
        // It keeps the groups that were looked at, and goes with them.
        let Some(mut sample) = samples[number].take() else { continue };
        let learned = Learned { known: &known, affinity: &affinity, entities: &entities };
        if let Some(split) = choose(&mut sample, &learned).split {
            split.register(&mut sample, &mut known);
            for group in split.prefix.iter().chain(Some(&split.list)).filter(|group| group.len() > 1) {
                affinity.note(&sample.keys_of(group), sample.keyset.len());
            }
            splits.insert(number, split);
        }
    }
    let mut tables: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    let mut plan = Plan::default();
    for (number, keyset) in content.keysets.iter().enumerate() {
        let mut part = |columns: &[usize]| {
            let keys: Vec<u32> = columns.iter().map(|&column| keyset.keys[column]).collect();
            match keys[..] {
                [key] => Part::Key(key),
                _ => Part::Table(*tables.entry(keys.clone()).or_insert_with(|| {
                    plan.tables.push(TablePlan { parts: keys.iter().copied().map(Part::Key).collect() });
                    plan.tables.len() - 1
                })),
            }
        };
        plan.keysets.push(match splits.get(&number) {
            None => KeysetPlan { prefix: keyset.keys.iter().copied().map(Part::Key).collect(), list: None },
            Some(split) => {
                // Columns stand in the order of their first keys.
                let mut prefix: Vec<&Vec<usize>> = split.prefix.iter().collect();
                prefix.sort_unstable();
                KeysetPlan {
                    prefix: prefix.into_iter().map(|columns| part(columns)).collect(),
                    list: (!split.list.is_empty()).then(|| part(&split.list)),
                }
            }
        });
    }
    plan
}
