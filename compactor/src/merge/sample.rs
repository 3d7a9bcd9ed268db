//! Samples rows of the inputs, to learn a plan from: [`RowSample`].

use std::cmp::Reverse;

use bitvec::vec::BitVec;
use chronoxide_planner::{Content, InternedRows, KeysetPlan, KeysetRows};
use rayon::prelude::*;

use super::filter::Filter;
use super::label_rows::InputContext;
use super::plans::{Adopted, KeysetSource, MergedKeyset};
use super::translate::{MAX_LEVEL, Translation};
use super::vocabulary::Vocabulary;
use crate::CompactError;
use crate::error::InInput;
use crate::progress::{Phase, Watch};
use crate::ranks::Ranks;

/// Number of sampled rows of a keyset that has more, unless there are very many keysets.
const MIN_ROWS: usize = 256;
/// Number of keysets of inputs per thread that are read before their rows are added to the sample.
const SOURCES_PER_THREAD: usize = 2;
/// Number of levels of a label or a series.
const LEVELS: usize = MAX_LEVEL as usize + 1;
/// Maximum factor between the limit of a sample and the rows that a key chooses. Beyond it, each row is chosen by
/// itself.
const MAX_SKEW: f64 = 4.0;
/// Maximum number of samples that are taken because series are in several inputs.
const MAX_TRIES: usize = 3;
/// Minimum number of values of a key that chooses rows, and of series per value.
const MIN_VALUES: u64 = 64;
const MIN_SERIES_PER_VALUE: u64 = 4;

/// Number of series of each level.
type Levels = [u64; LEVELS];

/// Distinct rows of the merged keysets: all rows with some values of a key, so that what the series of a pod have in
/// common stays. Values have levels by their content: half of them 0, a quarter 1, and so on.
#[derive(Debug)]
pub(crate) struct RowSample {
    keysets: Vec<KeysetSample>,
    /// The sample has all rows of this level or more.
    pub level: u32,
}

/// Rows of a keyset.
#[derive(Debug)]
struct KeysetSample {
    /// Keys, as numbers of the vocabulary.
    keys: Vec<u32>,
    /// Column of the key that chooses rows, if there is one. Else each row is chosen by itself.
    by: Option<usize>,
    /// Number of series of each level in all inputs. Those that are in several inputs count several times.
    counts: Levels,
    /// Minimum level of the sampled rows: that of the whole sample or less.
    level: u32,
    /// Minimum level of the series of rows below the level of the whole sample: without a limit, a value with very many
    /// series could have most rows of the sample.
    thinned: u32,
    rows: InternedRows,
    /// Level of each row.
    levels: Vec<u8>,
}

/// Sampled rows as content whose values are numbered afresh.
#[derive(Debug)]
pub(crate) struct SampledContent {
    pub content: Content,
    /// Number of the merged keyset of each keyset.
    pub keysets: Vec<usize>,
}

/// Keysets of inputs that rows are read from. The plan is plain.
struct Sources<'a> {
    context: InputContext<'a>,
    /// Number of the merged keyset, the keyset of an input, and the plan.
    all: Vec<(usize, &'a KeysetSource, &'a KeysetPlan)>,
    watch: &'a Watch<'a>,
}

impl<'a> Sources<'a> {
    fn new(context: InputContext<'a>, adopted: &'a Adopted, watch: &'a Watch<'a>) -> Self {
        let keysets = adopted.keysets.iter().zip(&adopted.plan.keysets).enumerate();
        // Series whose labels are all dropped have no keys.
        let all = keysets
            .filter(|(_, (keyset, _))| !keyset.keys.is_empty())
            .flat_map(|(number, (keyset, choice))| keyset.sources.iter().map(move |source| (number, source, choice)));
        Self { context, all: all.collect(), watch }
    }

    /// Counts the series of each keyset by their levels.
    fn count(&self, keysets: &mut [KeysetSample], filter: &Filter) -> Result<(), CompactError> {
        let count = |keyset: &KeysetSample, translation: &Translation<'_>| keyset.count(translation, filter);
        self.read(keysets, count, |keyset, counts| {
            keyset.counts.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
        })
    }

    /// Reads the sources in parallel, and hands the results to `take` in their order, each with the number of its
    /// merged keyset.
    fn read<T: Send>(
        &self,
        keysets: &mut [KeysetSample],
        read: impl Fn(&KeysetSample, &Translation<'_>) -> chronoxide_format::Result<T> + Sync,
        mut take: impl FnMut(&mut KeysetSample, T),
    ) -> Result<(), CompactError> {
        for batch in self.all.chunks(SOURCES_PER_THREAD * rayon::current_num_threads()) {
            self.watch.progress(Phase::Tables, 2, 4)?;
            let read = |&(number, source, choice): &(usize, &KeysetSource, &KeysetPlan)| {
                let translation = Translation::new(self.context, source, choice, None);
                translation.and_then(|translation| read(&keysets[number], &translation)).in_input(source.input)
            };
            let results = batch.par_iter().map(read).collect::<Result<Vec<T>, CompactError>>()?;
            batch.iter().zip(results).for_each(|(&(number, ..), result)| take(&mut keysets[number], result));
        }
        Ok(())
    }
}

impl RowSample {
    /// Samples at most some `limit` rows, and 256 rows or more of each keyset that has as many, unless there are very
    /// many keysets. The first key of `choosing` that a keyset has chooses its rows. `adopted` and `context` are those
    /// of a plain plan.
    ///
    /// Costs two passes over the lists of the inputs, and more if many series are in several inputs or have one value.
    /// If no series is in several inputs, the rows do not depend on how the series are cut into inputs.
    pub(crate) fn new(
        context: InputContext<'_>,
        adopted: &Adopted,
        filter: &Filter,
        limit: usize,
        choosing: &[u32],
        watch: &Watch<'_>,
    ) -> Result<Self, CompactError> {
        let sources = Sources::new(context, adopted, watch);
        let mut keysets: Vec<KeysetSample> =
            adopted.keysets.iter().map(|keyset| KeysetSample::new(&keyset.keys, choosing)).collect();
        sources.count(&mut keysets, filter)?;
        let mut sample = Self { keysets, level: 0 };
        if sample.is_skewed(limit) {
            sample.keysets.iter_mut().for_each(|keyset| (keyset.by, keyset.counts) = (None, [0; LEVELS]));
            sources.count(&mut sample.keysets, filter)?;
        }
        // Number of inputs that a series is in, on average.
        let mut copies = 1.0;
        for _ in 0..MAX_TRIES {
            let least = MIN_ROWS.min(limit / sample.keysets.len().max(1)).max(1);
            sample.choose_levels(limit as f64 * copies, least as f64 * copies);
            let level = sample.level;
            let pick = |keyset: &KeysetSample, translation: &Translation<'_>| keyset.pick(level, translation, filter);
            sources.read(&mut sample.keysets, pick, KeysetSample::add)?;
            let rows = sample.keysets.iter().map(|keyset| keyset.rows_from(sample.level)).sum::<usize>().max(1);
            let found = sample.series_from(sample.level) as f64 / rows as f64;
            if sample.level == 0 || found < 2.0 * copies {
                break;
            }
            copies = found;
        }
        Ok(sample)
    }

    /// Returns the lowest level that leaves at most `most` series.
    fn level_for(&self, most: f64) -> u32 {
        (0..MAX_LEVEL).find(|&level| self.series_from(level) as f64 <= most).unwrap_or(MAX_LEVEL)
    }

    /// Returns true if single values have most series: no level leaves nearly `limit` rows.
    fn is_skewed(&self, limit: usize) -> bool {
        let level = self.level_for(limit as f64);
        let rows = self.series_from(level) as f64;
        level > 0 && !(1.0 / MAX_SKEW..=1.0).contains(&(rows / limit as f64))
    }

    /// Returns the number of series of a level or more in all inputs.
    fn series_from(&self, level: u32) -> u64 {
        self.keysets.iter().map(|keyset| keyset.series_from(level)).sum()
    }

    /// Chooses the level that leaves at most `most` series, and levels of keysets that leave at least `least`. Forgets
    /// all rows.
    fn choose_levels(&mut self, most: f64, least: f64) {
        self.level = self.level_for(most);
        for keyset in &mut self.keysets {
            let enough = (0..=self.level).rev().find(|&level| keyset.series_from(level) as f64 >= least);
            keyset.level = enough.unwrap_or(0);
            let rows = (keyset.series_from(keyset.level) - keyset.series_from(self.level)) as f64;
            keyset.thinned = (rows / least / MAX_SKEW).max(1.0).log2() as u32;
            keyset.rows = InternedRows::new(keyset.keys.len());
            keyset.levels.clear();
        }
    }

    /// Returns the rows of each keyset of its level or more.
    pub(crate) fn content(&self, vocabulary: &Vocabulary<'_>) -> SampledContent {
        self.content_from(vocabulary, |keyset| keyset.level)
    }

    /// Returns the rows of all keysets of one level or more, which must be at least that of the sample.
    pub(crate) fn content_of_level(&self, vocabulary: &Vocabulary<'_>, level: u32) -> SampledContent {
        self.content_from(vocabulary, |_| level)
    }

    fn content_from(&self, vocabulary: &Vocabulary<'_>, level: impl Fn(&KeysetSample) -> u32) -> SampledContent {
        let mut used: Vec<BitVec> = vocabulary.keys.iter().map(|key| BitVec::repeat(false, key.values.len())).collect();
        let (mut numbers, mut keysets) = (Vec::new(), Vec::new());
        for (number, keyset) in self.keysets.iter().enumerate() {
            let least = level(keyset);
            if keyset.keys.is_empty() {
                continue;
            }
            let chosen = keyset.rows.rows().zip(&keyset.levels).filter(|(_, level)| u32::from(**level) >= least);
            let mut rows: Vec<&[u32]> = chosen.map(|(row, _)| row).collect();
            if rows.is_empty() {
                continue;
            }
            rows.sort_unstable();
            let keys = keyset.keys.clone();
            for row in &rows {
                keys.iter().zip(*row).for_each(|(&key, &value)| used[key as usize].set(value as usize, true));
            }
            numbers.push(number);
            keysets.push(KeysetRows { keys, rows: rows.concat() });
        }
        // Numbers of the used values, in the same order.
        let ranks: Vec<Ranks> = used.iter().map(|used| Ranks::new(used)).collect();
        let value_counts = ranks.iter().map(Ranks::count).collect();
        for keyset in &mut keysets {
            for row in keyset.rows.chunks_exact_mut(keyset.keys.len()) {
                row.iter_mut().zip(&keyset.keys).for_each(|(value, &key)| *value = ranks[key as usize].get(*value));
            }
        }
        SampledContent { content: Content { value_counts, origins: Vec::new(), keysets }, keysets: numbers }
    }
}

impl KeysetSample {
    fn new(keys: &[u32], choosing: &[u32]) -> Self {
        Self {
            keys: keys.to_vec(),
            by: choosing.iter().find_map(|key| keys.binary_search(key).ok()),
            counts: [0; LEVELS],
            level: 0,
            thinned: 0,
            rows: InternedRows::new(keys.len()),
            levels: Vec::new(),
        }
    }

    /// Counts the series of an input's keyset by their levels.
    fn count(&self, translation: &Translation<'_>, filter: &Filter) -> chronoxide_format::Result<Levels> {
        let mut counts = [0; LEVELS];
        translation.each_of_level(self.by, 0, filter, |level, _| counts[level as usize] += 1)?;
        Ok(counts)
    }

    /// Returns the chosen rows of an input's keyset, as levels and labels. `whole` is the level of the whole sample.
    fn pick(
        &self,
        whole: u32,
        translation: &Translation<'_>,
        filter: &Filter,
    ) -> chronoxide_format::Result<(Vec<u8>, Vec<u32>)> {
        let (mut levels, mut rows) = (Vec::new(), Vec::new());
        translation.each_of_level(self.by, self.level, filter, |level, codes| {
            if level < whole && translation.level_of_labels(codes) < self.thinned {
                return;
            }
            levels.push(level as u8);
            translation.push_labels(codes, &mut rows);
        })?;
        Ok((levels, rows))
    }

    fn add(&mut self, (levels, rows): (Vec<u8>, Vec<u32>)) {
        for (row, level) in rows.chunks_exact(self.keys.len()).zip(levels) {
            if self.rows.intern(row) as usize == self.levels.len() {
                self.levels.push(level);
            }
        }
    }

    fn rows_from(&self, level: u32) -> usize {
        self.levels.iter().filter(|found| u32::from(**found) >= level).count()
    }

    fn series_from(&self, level: u32) -> u64 {
        self.counts[level as usize..].iter().sum()
    }
}

/// Returns the keys that choose rows, the best first: those of most series, and among them those with most values.
pub(crate) fn choosing_keys(keysets: &[MergedKeyset], vocabulary: &Vocabulary<'_>) -> Vec<u32> {
    let mut series = vec![0_u64; vocabulary.keys.len()];
    for keyset in keysets {
        keyset.keys.iter().for_each(|&key| series[key as usize] += keyset.rows);
    }
    let most = series.iter().copied().max().unwrap_or(0);
    let values = |key: u32| vocabulary.keys[key as usize].values.len() as u64;
    let is_able = |&key: &u32| values(key) >= MIN_VALUES && series[key as usize] >= values(key) * MIN_SERIES_PER_VALUE;
    let mut keys: Vec<u32> = (0..series.len() as u32).filter(is_able).collect();
    keys.sort_by_key(|&key| (series[key as usize] < most / 4 * 3, Reverse(values(key))));
    keys
}
