//! Plan from samples of the keysets.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::affinity::Affinity;
use super::choose::{Learned, choose, entity_splits};
use super::cost::{Split, plain_bits};
use super::entity::find_entities;
use super::known::{Known, is_subset};
use super::sample::{Sample, Sampling};
use crate::content::{Content, KeysetRows};
use crate::plan::{KeysetPlan, Part, Plan, TablePlan};

/// Maximum number of passes over all keysets.
const MAX_PASSES: usize = 4;

/// Minimum share of the bits that a pass saves, so that another one follows.
const MIN_SAVING: f64 = 0.005;

/// Plans all keysets. The caller checks on all rows if the plan pays.
pub(crate) fn learn(content: &Content) -> Plan {
    let entities = find_entities(content);
    let sampling = Sampling::new(content, &entities);
    let splits = match sampling.subset(content) {
        Some(subset) => split_keysets(&subset, &entities, &sampling.whole()),
        None => split_keysets(content, &entities, &sampling),
    };
    to_plan(content, &splits)
}

/// Plans the keysets with these numbers, given the splits of all others; see [`learn`].
pub(crate) fn learn_rest(content: &Content, splits: Vec<Option<Split>>, rest: &[usize]) -> Plan {
    if rest.is_empty() {
        return to_plan(content, &splits);
    }
    let entities = find_entities(content);
    let sampling = Sampling::new(content, &entities);
    let split = |content: &Content, sampling: &Sampling| {
        let mut learning = Learning::new(content, &entities, sampling);
        learning.take_over(splits, rest);
        learning.pass(rest);
        learning.splits
    };
    let splits = match sampling.subset(content) {
        Some(subset) => split(&subset, &sampling.whole()),
        None => split(content, &sampling),
    };
    to_plan(content, &splits)
}

/// Returns the plan with these splits, and plain rows for keysets without one.
fn to_plan(content: &Content, splits: &[Option<Split>]) -> Plan {
    let mut tables = Tables::default();
    let keysets = (content.keysets.iter().zip(splits))
        .map(|(keyset, split)| {
            split.as_ref().map_or_else(|| KeysetPlan::plain(keyset), |split| tables.plan(keyset, split))
        })
        .collect();
    Plan { tables: tables.plans, keysets }
}

/// Returns the split of each keyset, or `None` where plain rows cost less. The largest keysets are split first, so that
/// small ones follow them.
fn split_keysets(content: &Content, entities: &[Vec<u32>], sampling: &Sampling) -> Vec<Option<Split>> {
    let mut learning = Learning::new(content, entities, sampling);
    learning.known = expect_entities(&mut learning.samples, entities);

    let mut by_size: Vec<usize> = (0..content.keysets.len()).collect();
    by_size.sort_by_key(|&number| Reverse(content.keysets[number].rows.len()));
    learning.pass(&by_size);
    // The second pass sees the splits of all other keysets; the next ones examine what it changed.
    learning.known.is_complete = true;
    let mut order = by_size;
    for _ in 1..MAX_PASSES {
        let pass = learning.pass(&order);
        if pass.saved <= pass.bits * MIN_SAVING {
            break;
        }
        order = pass.changed;
    }
    learning.splits
}

/// State of splitting keysets.
struct Learning<'c> {
    content: &'c Content,
    entities: &'c [Vec<u32>],
    samples: Vec<Sample<'c>>,
    known: Known,
    affinity: Affinity<'c>,
    splits: Vec<Option<Split>>,
}

/// What a pass over keysets did.
#[derive(Default)]
struct Pass {
    bits: f64,
    saved: f64,
    /// Keysets that got another split.
    changed: Vec<usize>,
}

impl<'c> Learning<'c> {
    fn new(content: &'c Content, entities: &'c [Vec<u32>], sampling: &Sampling) -> Self {
        Self {
            content,
            entities,
            samples: content.keysets.iter().map(|keyset| Sample::new(keyset, sampling)).collect(),
            known: Known::default(),
            affinity: Affinity::new(&content.origins),
            splits: vec![None; content.keysets.len()],
        }
    }

    /// Takes over the splits of keysets that had one before, and what those with these numbers may share with them.
    fn take_over(&mut self, splits: Vec<Option<Split>>, rest: &[usize]) {
        let content = self.content;
        let may_be_shared = |keys: &[u32]| rest.iter().any(|&number| is_subset(keys, &content.keysets[number].keys));
        for (split, sample) in splits.iter().zip(&mut self.samples) {
            if let Some(split) = split
                && split.tables().any(|columns| may_be_shared(&sample.keys_of(columns)))
            {
                split.contents(sample).register(&mut self.known, true);
                sample.forget();
            }
        }
        self.splits = splits;
        self.known.is_complete = true;
    }

    /// Splits keysets in this order.
    fn pass(&mut self, order: &[usize]) -> Pass {
        let mut pass = Pass::default();
        for &number in order {
            self.split(number, &mut pass);
        }
        pass
    }

    fn split(&mut self, number: usize, pass: &mut Pass) {
        let Self { content, entities, known, affinity, .. } = self;
        let sample = &mut self.samples[number];
        let before = self.splits[number].take();
        let contents_before = before.as_ref().map(|split| split.contents(sample));
        if let Some(contents) = &contents_before {
            contents.register(known, false);
        }
        let learned = Learned { known, affinity, entities, origins: &content.origins };
        let bits_before = match &before {
            Some(split) => split.bits(sample, known, f64::INFINITY),
            None => plain_bits(sample),
        };
        let choice = choose(sample, &learned, before.as_ref());
        pass.bits += choice.bits;
        pass.saved += bits_before - choice.bits;
        if let Some(split) = &choice.split {
            let same = contents_before.filter(|_| choice.split == before);
            same.unwrap_or_else(|| split.contents(sample)).register(known, true);
            if !known.is_complete {
                for columns in split.tables() {
                    affinity.note(&sample.keys_of(columns), sample.keyset.len());
                }
            }
        }
        if choice.split != before {
            pass.changed.push(number);
        }
        self.splits[number] = choice.split;
        sample.forget();
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::content::Origin;

    /// Returns keysets of a fleet: some of its 60 pods have the points of each keyset, and points have attributes that
    /// depend on each other or not.
    fn fleet(seed: u32) -> Content {
        let mut state = seed;
        let mut below = move |limit: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % limit
        };
        // Keys: 0 name, 1 to 5 attributes, 6 pod, 7 node, 8 zone.
        let keysets: BTreeSet<Vec<u32>> =
            (0..12).map(|_| [vec![0], (1..6).filter(|_| below(2) == 0).collect(), vec![6, 7, 8]].concat()).collect();
        let keysets = keysets.into_iter().map(|keys| {
            let points: Vec<[u32; 6]> = (0..1 + below(30))
                .map(|_| {
                    let code = below(8);
                    [below(3), code, code / 2, below(4), below(2), below(50)]
                })
                .collect();
            let mut rows = BTreeSet::new();
            for pod in 0..60 {
                for point in points.iter().filter(|_| below(10) > 0) {
                    let of_pod = [pod, pod / 4, pod / 20];
                    let code =
                        |&key: &u32| point.get(key as usize).copied().unwrap_or_else(|| of_pod[key as usize - 6]);
                    rows.insert(keys.iter().map(code).collect::<Vec<u32>>());
                }
            }
            KeysetRows { keys, rows: rows.into_iter().flatten().collect() }
        });
        let keysets: Vec<KeysetRows> = keysets.filter(|keyset| !keyset.is_empty()).collect();
        let origins = match seed % 2 {
            0 => Vec::new(),
            _ => [[Origin::Point; 6].as_slice(), &[Origin::Resource; 3]].concat(),
        };
        Content { value_counts: vec![3, 8, 4, 4, 2, 50, 60, 15, 3], origins, keysets }
    }

    /// If no keyset has more rows than its sample, nothing is estimated: spreads of items are not needed, and costs
    /// have bounds.
    #[test]
    fn exact_samples_are_split_as_if_they_were_estimated() {
        let (mut plain, mut split) = (0, 0);
        for seed in 0..40 {
            let content = fleet(seed);
            let entities = find_entities(&content);
            let exact = Sampling::new(&content, &entities);
            let splits = split_keysets(&content, &entities, &exact);
            let estimated = exact.estimated();
            assert_eq!(splits, split_keysets(&content, &entities, &estimated), "seed {seed}");
            plain += splits.iter().filter(|split| split.is_none()).count();
            split += splits.iter().flatten().filter(|split| !split.list.is_empty()).count();
        }
        assert!(split > 100, "{split} keysets with lists, {plain} without a split");
    }
}
