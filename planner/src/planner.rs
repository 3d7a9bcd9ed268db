//! Plans of content after content: [`Planner`].

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use foldhash::HashMap;

use crate::content::{Content, KeysetRows};
use crate::factor::Factored;
use crate::learn::{Split, improve, learn_rest};
use crate::plan::{Part, Plan};
use crate::planning::Planned;
use crate::threads::{ThreadLimit, Threads};

/// Factor by which content may have more series than that from which its plan was learnt: more series may need another.
const MAX_GROWTH: f64 = 1.5;

/// Factor by which bytes by an adopted plan may exceed those that are expected.
const MAX_ADOPTED_BYTES: f64 = 1.01;

/// Factor by which bytes by an improved plan may exceed those that are expected: series of one source differ by this.
const MAX_IMPROVED_BYTES: f64 = 1.05;

/// Share of the bytes that content with fewer series is expected to take all the same, for tables and records.
const FIXED_SHARE: f64 = 0.2;

/// Maximum share of the rows in keysets without a plan.
const MAX_UNKNOWN: f64 = 0.1;

/// Blocks after which a plan is improved at the latest.
const MAX_ADOPTED: u64 = 16;

/// Number of rows from which plain rows of a keyset count as a keyset without a plan: others may have more in common.
const MIN_PLANNED: usize = 256;

/// Upper bound of the memory of the plan of a keyset in bytes, besides its parts and keys; of each part; and of each
/// key, which has a number among all keys and one in its part.
const PER_KEYSET: usize = 192;
const PER_PART: usize = 56;
const PER_KEY: usize = 8;

/// Plans blocks of one source after each other. Learning takes several times as long as everything else, and the blocks
/// of a source are alike: the next block adopts the plan of the one before it.
///
/// A plan is adopted for content of at most 1.5 times the series, if that takes at most 1% more bytes than expected.
/// Keysets without a plan get one that fits the others. Otherwise, and for block 2 and each 16th, the plan is improved:
/// each keyset may leave it. Where that does not help, a plan is learnt afresh, and taken if it is better. A source may
/// change so that another plan saves more, which the bytes of the adopted one do not show. Until then its blocks may be
/// larger than need be, but never larger than plain rows.
///
/// To improve a plan takes two thirds of the time of learning, and mostly saves as much or more, since it begins where
/// learning ends (blocks of 200,000 series of the workload: 1.3% of the bytes, over ten blocks).
///
/// ```
/// use chronoxide_planner::{Content, KeysetRows, Part, Planner};
///
/// let pods = |first: u32| {
///     let pod = move |number: u32| [first + number, number / 5];
///     let rows = (0..4).flat_map(move |metric| (0..20).map(move |number| (metric, pod(number))));
///     Content {
///         value_counts: vec![4, first + 20, 4],
///         origins: Vec::new(),
///         keysets: vec![KeysetRows {
///             keys: vec![0, 1, 2],
///             rows: rows.flat_map(|(metric, [name, node])| [metric, name, node]).collect(),
///         }],
///     }
/// };
/// let mut planner = Planner::new(1 << 20);
/// let (plan, _) = planner.plan(&pods(0), &[0, 1, 2]);
/// assert_eq!(planner.plan(&pods(7), &[0, 1, 2]).0, plan);
/// ```
#[derive(Debug)]
pub struct Planner {
    learned: Option<Learned>,
    max_bytes: usize,
    threads: ThreadLimit,
    /// Number of blocks so far.
    blocks: u64,
}

/// Plan that was learnt, and what it takes.
#[derive(Debug)]
struct Learned {
    keysets: HashMap<Vec<u32>, KeysetParts>,
    /// Memory for others in bytes.
    room: usize,
    series: u64,
    bytes: u64,
}

/// Parts of a keyset as lists of keys.
#[derive(Debug)]
struct KeysetParts {
    prefix: Vec<Vec<u32>>,
    /// Empty if there are no lists.
    list: Vec<u32>,
}

impl Planner {
    /// Creates a planner that keeps plans in at most this much memory. Keysets beyond it have none.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self { learned: None, max_bytes, threads: ThreadLimit::default(), blocks: 0 }
    }

    /// Limits the threads of planning; `None` is one per core. The plans do not depend on their number.
    #[must_use]
    pub fn with_threads(self, threads: Option<NonZeroUsize>) -> Self {
        Self { threads: ThreadLimit(threads), ..self }
    }

    /// Returns the limit of the threads.
    #[must_use]
    pub fn threads(&self) -> ThreadLimit {
        self.threads
    }

    /// Plans content as [`plan`](crate::plan()) does, or adopts or improves the plan of content before it. `names` has
    /// a number for the name of each key, which is the same in all content.
    ///
    /// The result depends only on the content so far and [`VERSION`](crate::VERSION).
    pub fn plan(&mut self, content: &Content, names: &[u32]) -> (Plan, Factored) {
        self.blocks += 1;
        let threads = &self.threads.start(content.code_count());
        let is_due = self.blocks == 2 || self.blocks.is_multiple_of(MAX_ADOPTED);
        if !is_due
            && let Some(adopted) = self.learned.as_mut().and_then(|learned| learned.adopt(content, names, threads))
        {
            return (adopted.plan, adopted.factored);
        }
        let improved = self.learned.as_ref().and_then(|learned| learned.improve(content, names, threads));
        let planned = improved.unwrap_or_else(|| Planned::new(content, threads));
        let new = self.learned.insert(Learned::new(content, planned.bytes, self.max_bytes));
        new.add(content, names, &planned.plan, 0..content.keysets.len());
        (planned.plan, planned.factored)
    }
}

impl Learned {
    /// Creates a plan without keysets, for content that takes this many bytes, with memory for keysets.
    fn new(content: &Content, bytes: u64, room: usize) -> Self {
        Self { keysets: HashMap::default(), room, series: content.series_count(), bytes }
    }

    /// Plans content by this plan, and adds the plans of its other keysets, if it fits.
    fn adopt(&mut self, content: &Content, names: &[u32], threads: &Threads) -> Option<Planned> {
        let KnownSplits { splits, rest } = self.known(content, names)?;
        let adopted = Planned::from_plan(content, learn_rest(content, splits, &rest, threads), threads);
        if !self.fits(&adopted, content, MAX_ADOPTED_BYTES) {
            return None;
        }
        self.add(content, names, &adopted.plan, rest);
        Some(adopted)
    }

    /// Plans content by what this plan becomes for it, or afresh if that is better and this does not fit.
    fn improve(&self, content: &Content, names: &[u32], threads: &Threads) -> Option<Planned> {
        let plan = improve(content, self.known(content, names)?.splits, threads);
        let improved = Planned::from_plan(content, plan, threads);
        if self.fits(&improved, content, MAX_IMPROVED_BYTES) {
            return Some(improved);
        }
        // One at a time is in memory.
        let Planned { plan, factored, bytes } = improved;
        drop(factored);
        Some(Planned::new(content, threads))
            .filter(|afresh| afresh.bytes < bytes)
            .or_else(|| Some(Planned::from_plan(content, plan, threads)))
    }

    /// Returns what this plan says of content, or `None` if it lacks many of its series.
    fn known(&self, content: &Content, names: &[u32]) -> Option<KnownSplits> {
        let count = content.series_count();
        if count as f64 > self.series as f64 * MAX_GROWTH {
            return None;
        }
        let (mut rest, mut unknown) = (Vec::new(), 0);
        let mut splits = Vec::with_capacity(content.keysets.len());
        for (number, keyset) in content.keysets.iter().enumerate() {
            let parts = self.keysets.get(&names_of(&keyset.keys, names));
            if parts.is_none() {
                rest.push(number);
            }
            if parts.is_none_or(|parts| parts.are_plain() && keyset.len() >= MIN_PLANNED) {
                unknown += keyset.len() as u64;
            }
            splits.push(parts.and_then(|parts| parts.split(keyset, names)));
        }
        (unknown as f64 <= count as f64 * MAX_UNKNOWN).then_some(KnownSplits { splits, rest })
    }

    /// Returns true if content takes no more bytes than this factor of those that are expected.
    fn fits(&self, planned: &Planned, content: &Content, max_factor: f64) -> bool {
        let share = content.series_count() as f64 / self.series.max(1) as f64;
        let expected = self.bytes as f64 * (FIXED_SHARE + (1.0 - FIXED_SHARE) * share);
        planned.bytes as f64 <= expected * max_factor
    }

    /// Adds the plans of these keysets, as far as there is room for them.
    fn add(&mut self, content: &Content, names: &[u32], plan: &Plan, numbers: impl IntoIterator<Item = usize>) {
        for number in numbers {
            let (keyset, choice) = (&content.keysets[number], &plan.keysets[number]);
            let bytes = PER_KEYSET + choice.width() * PER_PART + keyset.keys.len() * PER_KEY;
            let room = self.room.checked_sub(bytes);
            self.room = room.unwrap_or(0);
            if room.is_none() {
                return;
            }
            let keys = |&part: &Part| names_of(&plan.keys_of(part), names);
            let parts = KeysetParts {
                prefix: choice.prefix.iter().map(keys).collect(),
                list: choice.list.as_ref().map(keys).unwrap_or_default(),
            };
            self.keysets.insert(names_of(&keyset.keys, names), parts);
        }
    }
}

/// Splits of the keysets of content, where a plan has one.
struct KnownSplits {
    splits: Vec<Option<Split>>,
    /// Keysets that the plan lacks.
    rest: Vec<usize>,
}

impl KeysetParts {
    fn are_plain(&self) -> bool {
        self.list.is_empty() && self.prefix.iter().all(|keys| keys.len() == 1)
    }

    /// Returns the split of a keyset with these keys, or `None` if its rows are plain.
    fn split(&self, keyset: &KeysetRows, names: &[u32]) -> Option<Split> {
        let columns: BTreeMap<u32, usize> =
            keyset.keys.iter().enumerate().map(|(column, &key)| (names[key as usize], column)).collect();
        let columns = |names: &Vec<u32>| {
            let mut columns: Vec<usize> = names.iter().map(|name| columns[name]).collect();
            columns.sort_unstable();
            columns
        };
        (!self.are_plain())
            .then(|| Split { prefix: self.prefix.iter().map(columns).collect(), list: columns(&self.list) })
    }
}

/// Returns the numbers of the names of keys in increasing order.
fn names_of(keys: &[u32], names: &[u32]) -> Vec<u32> {
    let mut numbers: Vec<u32> = keys.iter().map(|&key| names[key as usize]).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `pods` pods that have the points of some metrics, where key 0 is a label of some pods that sorts first.
    /// With `shift`, content has that key.
    fn fleet(pods: u32, metrics: u32, shift: u32) -> Content {
        let keys = |own: &[u32]| own.iter().map(|key| key + shift).collect::<Vec<u32>>();
        let rows = |metrics: std::ops::Range<u32>| {
            metrics.flat_map(move |metric| (0..pods).flat_map(move |pod| [metric, pod, pods - 1 - pod, pod / 9]))
        };
        let keyset = KeysetRows { keys: keys(&[0, 1, 2, 3]), rows: rows(0..metrics).collect() };
        let mut content = Content { value_counts: vec![metrics + 1, pods, pods, pods], ..Content::default() };
        if shift > 0 {
            content.value_counts.insert(0, 1);
            let rows = rows(metrics..metrics + 1).collect::<Vec<u32>>();
            let rows = rows.chunks(4).flat_map(|row| [&[0][..], row].concat()).collect();
            content.keysets.push(KeysetRows { keys: [vec![0], keys(&[0, 1, 2, 3])].concat(), rows });
        }
        content.keysets.push(keyset);
        content
    }

    /// Returns the keys of the tables and the lists of a plan.
    fn tables(plan: &Plan) -> Vec<Vec<u32>> {
        (0..plan.tables.len()).map(|table| plan.keys_of(Part::Table(table))).collect()
    }

    fn learned(planner: &Planner) -> (u64, u64) {
        let learned = planner.learned.as_ref().unwrap();
        (learned.series, learned.bytes)
    }

    #[test]
    fn the_plan_of_alike_content_is_adopted_though_keys_have_other_numbers() {
        let mut planner = Planner::new(1 << 20);
        let (first, _) = planner.plan(&fleet(600, 20, 0), &[7, 8, 9, 10]);
        assert_eq!(tables(&first), [[1, 2, 3]]);
        assert_eq!(planner.plan(&fleet(600, 20, 0), &[7, 8, 9, 10]).0, first);
        let before = learned(&planner);
        // One more key, whose name sorts first, and a keyset with it, which gets the table of the others.
        let content = fleet(600, 20, 1);
        let (third, factored) = planner.plan(&content, &[11, 7, 8, 9, 10]);
        assert_eq!(learned(&planner), before, "nothing was learnt afresh");
        assert_eq!(factored, crate::factor(&content, &third));
        let pods = tables(&third).iter().position(|keys| *keys == [2, 3, 4]).map(Part::Table);
        for keyset in &third.keysets {
            assert!(keyset.prefix.iter().chain(&keyset.list).any(|&part| Some(part) == pods), "{third:?}");
        }
        // The keyset is known now. Blocks adopt until the sixteenth, which improves the plan, and then again.
        assert_eq!(planner.learned.as_ref().unwrap().keysets.len(), 2);
        let content = fleet(590, 20, 1);
        for _ in 4..16 {
            planner.plan(&content, &[11, 7, 8, 9, 10]);
            assert_eq!(learned(&planner), before);
        }
        for _ in 16..32 {
            planner.plan(&content, &[11, 7, 8, 9, 10]);
            assert_eq!(learned(&planner).0, 590 * 21, "the 16th block and those after it");
        }
        planner.plan(&fleet(580, 20, 1), &[11, 7, 8, 9, 10]);
        assert_eq!(learned(&planner).0, 580 * 21, "the 32nd block");
    }

    /// Returns a planner that has seen two blocks, so that a third one may adopt their plan.
    fn after_two(content: &Content) -> Planner {
        let mut planner = Planner::new(1 << 20);
        for _ in 0..2 {
            planner.plan(content, &[0, 1, 2, 3]);
        }
        planner
    }

    #[test]
    fn content_that_the_plan_does_not_fit_is_planned_afresh() {
        let usual = fleet(600, 20, 0);
        // Pods that have nothing in common, with as many series: the adopted plan takes more bytes.
        let mut mixed = usual.clone();
        let rows: std::collections::BTreeSet<Vec<u32>> = (0..12_000_u32)
            .map(|number| vec![number % 20, number / 20, number * 7_919 % 600, number * 104_729 % 599])
            .collect();
        mixed.keysets[0].rows = rows.into_iter().flatten().collect();
        // Twice as many series, and few.
        for other in [mixed, fleet(1_200, 20, 0)] {
            let mut planner = after_two(&usual);
            let before = learned(&planner);
            assert_eq!(planner.plan(&other, &[0, 1, 2, 3]), crate::plan(&other));
            assert_ne!(learned(&planner), before);
        }
        // Other pods describe themselves by other keys.
        let mut planner = after_two(&usual);
        assert_eq!(planner.plan(&usual, &[4, 5, 6, 7]), crate::plan(&usual));
        assert!(planner.learned.as_ref().unwrap().keysets.contains_key(&[4, 5, 6, 7][..]));
    }

    #[test]
    fn a_plan_is_improved_where_a_label_has_another_cause() {
        // Key 4 is a version, of the pod or of the metric: there are as many bytes, but in another table.
        let fleet = |version: fn(u32, u32) -> u32| {
            let row = |metric, pod| [metric, pod, 599 - pod, pod / 9, version(metric, pod)];
            let rows = (0..20).flat_map(|metric| (0..600).flat_map(move |pod| row(metric, pod))).collect();
            let keysets = vec![KeysetRows { keys: vec![0, 1, 2, 3, 4], rows }];
            Content { value_counts: vec![20, 600, 600, 67, 20], keysets, ..Content::default() }
        };
        let (of_pods, of_metrics) = (fleet(|_, pod| pod * 7 % 20), fleet(|metric, _| metric * 7 % 20));
        let names = [0, 1, 2, 3, 4];
        let mut planner = Planner::new(1 << 20);
        let (plan, _) = planner.plan(&of_pods, &names);
        assert_eq!(tables(&plan), [[1, 2, 3, 4]]);
        let (plan, factored) = planner.plan(&of_metrics, &names);
        assert_eq!(tables(&plan), [vec![0, 4], vec![1, 2, 3]]);
        assert_eq!(factored, crate::factor(&of_metrics, &plan));
        assert_eq!(learned(&planner).1, crate::bytes(&of_metrics, &factored), "the next block adopts it");
    }

    #[test]
    fn the_second_block_shows_what_the_first_one_lacks() {
        // One of two pairs of labels that follow from each other does not do so in the first block.
        let points = |follows: bool| {
            let row = |number: u32| {
                let (first, second) =
                    (number.wrapping_mul(2_654_435_761) >> 8, number.wrapping_mul(2_246_822_519) >> 8);
                let x = first % 400;
                [number % 77, number % 77 * 3, x, if follows { x * 7 % 499 } else { second % 499 }, number]
            };
            let rows: std::collections::BTreeSet<[u32; 5]> = (0..6_000).map(row).collect();
            let keysets = vec![KeysetRows { keys: vec![0, 1, 2, 3, 4], rows: rows.into_iter().flatten().collect() }];
            Content { value_counts: vec![77, 231, 400, 499, 6_000], keysets, ..Content::default() }
        };
        let (names, usual) = ([0, 1, 2, 3, 4], points(true));
        let mut planner = Planner::new(1 << 20);
        planner.plan(&points(false), &names);
        let (_, factored) = planner.plan(&usual, &names);
        let (_, afresh) = crate::plan(&usual);
        let [found, best] = [factored, afresh].map(|factored| crate::bytes(&usual, &factored));
        assert!(found <= best + best / 100, "{found} bytes instead of {best}");
    }

    #[test]
    fn fewer_series_of_the_source_adopt_the_plan_and_more_bytes_each() {
        let mut planner = after_two(&fleet(600, 20, 0));
        let before = learned(&planner);
        let (plan, _) = planner.plan(&fleet(500, 20, 0), &[0, 1, 2, 3]);
        assert_eq!((learned(&planner), tables(&plan)), (before, vec![vec![1, 2, 3]]));
    }

    #[test]
    fn plain_rows_are_not_adopted() {
        // One metric of each pod has nothing in common with another; then all pods have many metrics.
        let one = fleet(6_000, 1, 0);
        assert!(crate::plan(&one).0.tables.is_empty());
        let mut planner = after_two(&one);
        let many = fleet(300, 20, 0);
        assert_eq!(planner.plan(&many, &[0, 1, 2, 3]), crate::plan(&many));
    }

    #[test]
    fn a_planner_without_memory_learns_each_plan() {
        let mut planner = Planner::new(0);
        for _ in 0..3 {
            assert_eq!(planner.plan(&fleet(600, 20, 0), &[0, 1, 2, 3]), crate::plan(&fleet(600, 20, 0)));
        }
        assert!(planner.learned.unwrap().keysets.is_empty());
    }
}
