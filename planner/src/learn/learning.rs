//! Plan from samples of the keysets.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::affinity::Affinity;
use super::choose::{Learned, choose, entity_splits};
use super::cost::{Contents, Split};
use super::entity::find_entities;
use super::known::{Known, is_subset};
use super::sample::{Sample, Sampling};
use crate::content::{Content, KeysetRows};
use crate::plan::{KeysetPlan, Part, Plan, TablePlan};
use crate::threads::Threads;

/// Maximum number of keysets of a wave. The first waves, of the largest keysets, are smaller.
const MAX_WAVE: usize = 64;

/// Plans all keysets. The caller checks on all rows if the plan pays.
pub(crate) fn learn(content: &Content, threads: &Threads) -> Plan {
    to_plan(
        content,
        &on_samples(content, |content, entities, sampling| split_keysets(content, entities, sampling, threads)),
    )
}

/// Plans the keysets with these numbers, given the splits of all others; see [`learn`].
pub(crate) fn learn_rest(content: &Content, splits: Vec<Option<Split>>, rest: &[usize], threads: &Threads) -> Plan {
    if rest.is_empty() {
        return to_plan(content, &splits);
    }
    let keysets = &content.keysets;
    let may_be_shared = |keys: &[u32]| rest.iter().any(|&number| is_subset(keys, &keysets[number].keys));
    let is_shared =
        |number: usize, split: &Split| split.tables().any(|columns| may_be_shared(&keysets[number].keys_of(columns)));
    learn_from(content, splits, rest, is_shared, false, threads)
}

/// Plans all keysets again, given the splits of a plan; see [`learn`]. Groups of columns are searched as if there were
/// no plan: it may be that of other content.
pub(crate) fn improve(content: &Content, splits: Vec<Option<Split>>, threads: &Threads) -> Plan {
    learn_from(content, splits, &by_size(content), |_, _| true, true, threads)
}

/// Plans keysets in this order, given the splits of all. The contents of those for which `is_known` returns true are
/// known.
fn learn_from(
    content: &Content,
    splits: Vec<Option<Split>>,
    order: &[usize],
    is_known: impl Fn(usize, &Split) -> bool,
    searches: bool,
    threads: &Threads,
) -> Plan {
    let splits = on_samples(content, |content, entities, sampling| {
        let mut learning = Learning::new(content, entities, sampling, threads);
        learning.searches = searches;
        learning.take_over(splits, is_known);
        learning.pass(order);
        learning.splits
    });
    to_plan(content, &splits)
}

/// Calls `split` with the content, or with the rows of it that are chosen, its entities, and the choice of samples.
fn on_samples<T>(content: &Content, split: impl FnOnce(&Content, &[Vec<u32>], &Sampling) -> T) -> T {
    let entities = find_entities(content);
    let sampling = Sampling::new(content, &entities);
    match sampling.subset(content) {
        Some(subset) => split(&subset, &entities, &sampling.whole()),
        None => split(content, &entities, &sampling),
    }
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
fn split_keysets(
    content: &Content,
    entities: &[Vec<u32>],
    sampling: &Sampling,
    threads: &Threads,
) -> Vec<Option<Split>> {
    let mut learning = Learning::new(content, entities, sampling, threads);
    learning.known = expect_entities(content, entities, sampling);

    let order = by_size(content);
    learning.pass(&order);
    // The second pass sees the splits of all others. A third would save less than a ten-thousandth.
    (learning.known.is_complete, learning.searches) = (true, false);
    learning.pass(&order);
    learning.splits
}

/// Returns the numbers of the keysets, those with most codes first.
fn by_size(content: &Content) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..content.keysets.len()).collect();
    by_size.sort_by_key(|&number| Reverse(content.keysets[number].rows.len()));
    by_size
}

/// State of splitting keysets.
struct Learning<'c> {
    content: &'c Content,
    entities: &'c [Vec<u32>],
    sampling: &'c Sampling,
    known: Known,
    affinity: Affinity<'c>,
    splits: Vec<Option<Split>>,
    /// True if groups of columns are searched in the rows of keysets.
    searches: bool,
    threads: &'c Threads,
}

/// Split of a keyset of a wave.
struct Chosen {
    split: Option<Split>,
    /// Contents of its tables and lists, if its split changed.
    changed: Option<Contents>,
}

impl<'c> Learning<'c> {
    fn new(content: &'c Content, entities: &'c [Vec<u32>], sampling: &'c Sampling, threads: &'c Threads) -> Self {
        let (known, affinity) = (Known::default(), Affinity::new(&content.origins));
        let splits = vec![None; content.keysets.len()];
        Self { content, entities, sampling, known, affinity, splits, searches: true, threads }
    }

    fn sample(&self, number: usize) -> Sample<'c> {
        Sample::new(&self.content.keysets[number], self.sampling)
    }

    /// Takes over the splits of keysets that had one before, and the contents of those for which `is_known` returns
    /// true.
    fn take_over(&mut self, splits: Vec<Option<Split>>, is_known: impl Fn(usize, &Split) -> bool) {
        self.splits = splits;
        let is_known = |number: &usize| self.splits[*number].as_ref().is_some_and(|split| is_known(*number, split));
        let known: Vec<usize> = (0..self.splits.len()).filter(is_known).collect();
        for wave in known.chunks(MAX_WAVE) {
            self.contents(wave).iter().flatten().for_each(|contents| contents.register(&mut self.known, true));
        }
        self.known.is_complete = true;
    }

    /// Returns the contents of the tables and lists of each of these keysets, if it has any.
    fn contents(&self, wave: &[usize]) -> Vec<Option<Contents>> {
        self.threads.map(wave.to_vec(), |number| Some(self.splits[number].as_ref()?.contents(&mut self.sample(number))))
    }

    /// Splits keysets in this order, in waves, each on all threads: keysets of one wave do not know of each other.
    fn pass(&mut self, order: &[usize]) {
        let (mut rest, mut len) = (order, 1);
        while !rest.is_empty() {
            let (wave, others) = rest.split_at(rest.len().min(len));
            self.split(wave);
            (rest, len) = (others, (len * 2).min(MAX_WAVE));
        }
    }

    fn split(&mut self, wave: &[usize]) {
        let before = self.contents(wave);
        before.iter().flatten().for_each(|contents| contents.register(&mut self.known, false));
        let chosen = self.threads.map(wave.to_vec(), |number| self.choose(number));
        for ((&number, before), Chosen { split, changed }) in wave.iter().zip(before).zip(chosen) {
            if let Some(contents) = changed.or(before.filter(|_| split == self.splits[number])) {
                contents.register(&mut self.known, true);
            }
            if let (Some(split), true) = (&split, self.searches) {
                let keyset = &self.content.keysets[number];
                split.tables().for_each(|columns| self.affinity.note(&keyset.keys_of(columns), keyset.len()));
            }
            self.splits[number] = split;
        }
    }

    /// Chooses the split of a keyset whose contents are not among what is known.
    fn choose(&self, number: usize) -> Chosen {
        let &Self { content, entities, ref known, ref affinity, searches, .. } = self;
        let (mut sample, before) = (self.sample(number), self.splits[number].as_ref());
        let learned = Learned { known, affinity, entities, origins: &content.origins, searches };
        let split = choose(&mut sample, &learned, before).split;
        let changed = split.as_ref().filter(|split| Some(*split) != before);
        let changed = changed.map(|split| split.contents(&mut sample));
        Chosen { split, changed }
    }
}

/// Records the tables that keysets would share if all were split by entities: a table with many users is worth more
/// than one keyset shows.
fn expect_entities(content: &Content, entities: &[Vec<u32>], sampling: &Sampling) -> Known {
    let mut known = Known::default();
    for keyset in &content.keysets {
        if let Some(split) = entity_splits(keyset, entities).first() {
            let mut sample = Sample::new(keyset, sampling);
            for columns in split.tables() {
                let number = known.number(&sample.keys_of(columns));
                let group = sample.group(columns);
                known.group_mut(number).expect(&sample.rows_of(&group));
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
        let keys = keyset.keys_of(columns);
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
            let splits = split_keysets(&content, &entities, &exact, &Threads::default());
            let estimated = exact.estimated();
            assert_eq!(splits, split_keysets(&content, &entities, &estimated, &Threads::default()), "seed {seed}");
            plain += splits.iter().filter(|split| split.is_none()).count();
            split += splits.iter().flatten().filter(|split| !split.list.is_empty()).count();
        }
        assert!(split > 100, "{split} keysets with lists, {plain} without a split");
    }
}
