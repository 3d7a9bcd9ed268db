//! Inputs to outputs, with the balance of series.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;
use std::time::Instant;

use chronoxide_format::identity::Fingerprint;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::verify::ContentFingerprint;
use chronoxide_format::view::{BlockView, Job};
use chronoxide_format::write::BlockMeta;
use chronoxide_planner::{InternedRows, KeysetPlan, Layout};
use chronoxide_publish::{Disk, Spool};
use rayon::prelude::*;

use crate::merge::{
    Adopted, AllLabelRows, Context, Filter, MOST_SELECTORS, MergedKeyset, MergedLists, MergedTables, Merging, MoreRows,
    Sharding, Tally, Translation, Vocabulary, add_rows_below, adopt, has_plan, keys_of, merge_symbols,
};
use crate::merger::Merger;
use crate::output::{Draft, OutputRows};
use crate::progress::{Observer, Phase, Timings, Unwatched};
use crate::remap::{KnownOutput, remap};
use crate::select::Selector;
use crate::{CompactError, CompactOptions, Rewrite, memory, meta, verification};

/// What became of the series of a compaction.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Series of all inputs.
    pub series_in: u64,
    /// Series that others were equal to, in another input or the same one given twice, or once labels were dropped or renamed.
    pub duplicates: u64,
    /// Series that selectors left out, or that had no label left.
    pub dropped: u64,
    /// Series of other shards than the one that is made.
    pub elsewhere: u64,
    /// Series of all outputs.
    pub series_out: u64,
    /// How many outputs there are.
    pub outputs: u32,
    /// Sections of the inputs that this version does not know, and left out.
    pub optional_sections_left_out: usize,
    /// Selectors that matched no series, and labels to drop or rename that no series had, as text.
    pub unmatched: Vec<String>,
    /// How long each phase took.
    pub timings: Timings,
}

/// A merged block, and what became of its series.
#[derive(Clone, Debug)]
pub struct Compacted {
    /// The block.
    pub block: Vec<u8>,
    /// What became of the series.
    pub summary: Summary,
}

/// Merges blocks into one that has each of their series once, in memory.
///
/// # Errors
/// As [`compact_into`].
///
/// # Panics
/// If the options ask for more than one output.
pub fn compact(inputs: &[BlockView<'_>], options: &CompactOptions) -> Result<Compacted, CompactError> {
    let mut spool = Spool::new(&Disk, Path::new("."), usize::MAX);
    let mut blocks = Vec::new();
    let summary = compact_into(inputs, options, &mut spool, &Unwatched, |_, draft| {
        let mut out = Cursor::new(Vec::new());
        draft.write_to(&mut out)?;
        blocks.push(out.into_inner());
        Ok::<(), CompactError>(())
    })?;
    assert!(blocks.len() == 1, "the options ask for several blocks");
    Ok(Compacted { block: blocks.remove(0), summary })
}

/// Merges blocks into one or more that have each of their series once; `publish` gets these one by one, with their numbers. Merged rows wait in the
/// spool; beside them, symbols, dictionaries, shared tables and lists are held in memory.
///
/// Every input is verified before anything of it is used, and the series of inputs, outputs, duplicates and of what was dropped must balance, in number and in
/// fingerprint, before anything is published: damage is never given a fresh checksum.
///
/// # Errors
/// A damaged input, inputs that say different things of themselves, more series than a block holds, and those of `publish`.
pub fn compact_into<E: From<CompactError>>(
    inputs: &[BlockView<'_>],
    options: &CompactOptions,
    spool: &mut Spool<'_>,
    observer: &dyn Observer,
    publish: impl FnMut(u32, Draft<'_>) -> Result<(), E>,
) -> Result<Summary, E> {
    merge(inputs, options, spool, observer, Some(publish), None)
}

/// Merges blocks as [`compact_into`] does, without making outputs, and says what became of the series: how many distinct ones there are.
///
/// # Errors
/// As [`compact_into`].
pub fn count_merged(
    inputs: &[BlockView<'_>],
    options: &CompactOptions,
    spool: &mut Spool<'_>,
    observer: &dyn Observer,
) -> Result<Summary, CompactError> {
    type Publish = fn(u32, Draft<'_>) -> Result<(), CompactError>;
    merge(inputs, options, spool, observer, None::<Publish>, None)
}

/// The same, and says where the series of each input are now: `publish_remap` gets the bytes of a [remap](chronoxide_format::remap) for each input, one by one, with
/// the input's number, once all outputs are published. With [only one shard](crate::Shards::only), the remaps have nothing for series of the others.
///
/// Costs one more pass over the inputs, and the memory of a number for each series of a few inputs' largest keysets.
///
/// # Errors
/// As [`compact_into`], and those of `publish_remap`.
pub fn compact_with_remaps<E: From<CompactError>>(
    inputs: &[BlockView<'_>],
    options: &CompactOptions,
    spool: &mut Spool<'_>,
    observer: &dyn Observer,
    publish: impl FnMut(u32, Draft<'_>) -> Result<(), E>,
    mut publish_remap: impl FnMut(usize, Vec<u8>) -> Result<(), E>,
) -> Result<Summary, E> {
    merge(inputs, options, spool, observer, Some(publish), Some(&mut publish_remap))
}

/// What gets remaps.
type PublishRemap<'a, E> = &'a mut dyn FnMut(usize, Vec<u8>) -> Result<(), E>;

fn merge<E: From<CompactError>>(
    inputs: &[BlockView<'_>],
    options: &CompactOptions,
    spool: &mut Spool<'_>,
    observer: &dyn Observer,
    publish: Option<impl FnMut(u32, Draft<'_>) -> Result<(), E>>,
    publish_remap: Option<PublishRemap<'_, E>>,
) -> Result<Summary, E> {
    let mut summary = Summary::default();
    let watch = Watch { observer };
    check(options)?;
    let of_remaps = if publish_remap.is_some() { memory::remaps(inputs) } else { Ok(0) };
    let planned = || -> Result<(bool, u64), CompactError> {
        // Without outputs there is nothing to plan.
        let replan = publish.is_some() && options.layout == Layout::Factored && (options.replan || !has_plan(inputs)?);
        Ok((replan, memory::needed(inputs, options, replan)?.saturating_add(of_remaps?)))
    };
    let (replan, needed) = match planned() {
        Ok(planned) => planned,
        Err(error) => {
            // What cannot be told is damaged: verification names the rule that it breaks.
            verify(inputs, &watch)?;
            return Err(error.into());
        }
    };
    memory::check(needed, options)?;
    let started = Instant::now();
    let verified = verify(inputs, &watch)?;
    summary.timings.add(Phase::Verify, started.elapsed());

    let started = Instant::now();
    let (metas, metrics) = meta::copy(inputs)?;
    let (merged_meta, lifted) = meta::merge(&metas, options)?;
    let merged_meta = BlockMeta { metrics, ..merged_meta };
    check_names(merged_meta.policy, options)?;
    let new_names = options.rewrite.renamed().map(|(_, new)| new);
    let new_symbols: Vec<&str> = new_names.chain(lifted.labels().flat_map(|(name, value)| [name, value])).collect();
    let symbols = merge_symbols(inputs, &new_symbols)?;
    watch.goes_on(Phase::Tables, 1, 4)?;
    let vocabulary = Vocabulary::merge(inputs, symbols, &options.rewrite, &lifted)?;
    watch.goes_on(Phase::Tables, 2, 4)?;
    let changes = options.rewrite.key_changes(&vocabulary);
    let lifted_codes = lifted.codes(&vocabulary);
    let adopts = options.layout == Layout::Factored && !replan;
    let adopted = adopt(inputs, &metas, &vocabulary, &changes, &lifted_codes, adopts)?;
    memory::check(needed.saturating_add(memory::translation(&adopted)), options)?;
    let labels = AllLabelRows::new(inputs, &vocabulary);
    let context = Context {
        inputs,
        vocabulary: &vocabulary,
        plan: &adopted.plan,
        parts: &adopted.parts,
        changes: &changes,
        labels: &labels,
    };
    let more = more_rows(context, &adopted)?;
    let tables = MergedTables::merge(inputs, &vocabulary, &adopted, &more)?;
    drop(more);
    watch.goes_on(Phase::Tables, 3, 4)?;
    let lists = MergedLists::merge(inputs, &vocabulary, &adopted, &tables)?;
    let filter = filter(merged_meta.policy, options, &vocabulary);
    let of_tables = if filter.keeps_all() { Vec::new() } else { filter.of_tables(&adopted.plan, &tables) };
    let merging = Merging {
        context,
        keysets: &adopted.keysets,
        tables: &tables,
        lists: &lists,
        filter: &filter,
        of_tables: &of_tables,
    };
    watch.goes_on(Phase::Tables, 4, 4)?;
    summary.timings.add(Phase::Tables, started.elapsed());

    let started = Instant::now();
    let is_one_output = options.max_series_per_block.is_none() && options.shards.is_none();
    let is_all_used = filter.keeps_all() && options.rewrite.is_empty() && lifted.is_empty() && is_one_output;
    let with_codes = options.layout == Layout::Factored && !replan || !is_all_used;
    let of_shards = options.shards.as_ref().filter(|shards| shards.only.is_none());
    let sharding = of_shards.map(|shards| Sharding::new(&shards.by, shards.count, &vocabulary, &adopted.plan, &tables));
    let mut merger = Merger {
        merging: &merging,
        sharding,
        max_series: options.max_series_per_block,
        with_codes,
        outputs: (0..of_shards.map_or(1, |shards| shards.count.get())).map(|_| vec![OutputRows::default()]).collect(),
        tally: Tally::NONE,
        watch: &watch,
    };
    merger.merge_all(&adopted, spool)?;
    let tally = merger.tally;
    let shard_of_output: Vec<u32> =
        (0..).zip(&merger.outputs).flat_map(|(shard, outputs)| outputs.iter().map(move |_| shard)).collect();
    let outputs: Vec<OutputRows> = merger.outputs.into_iter().flatten().collect();
    summary.timings.add(Phase::Rows, started.elapsed());

    summary.series_in = verified.series_count;
    summary.duplicates = tally.duplicates.series;
    summary.dropped = tally.dropped.series;
    summary.elsewhere = tally.elsewhere.series;
    summary.series_out = outputs.iter().map(|output| output.series).sum();
    summary.outputs = outputs.len() as u32;
    let unknown_sections = inputs.iter().flat_map(BlockView::sections).filter(|section| section.known().is_none());
    summary.optional_sections_left_out = unknown_sections.count();
    summary.unmatched = unmatched(options, &filter, &vocabulary);
    balance(&verified, &outputs, &tally, &summary)?;
    let Some(mut publish) = publish else { return Ok(summary) };

    let planner_version = if replan { Layout::Factored.planner_version() } else { adopted.planner_version };
    let meta = BlockMeta { planner_version, ..merged_meta };
    let contents = spool.contents();
    let only = options.shards.as_ref().and_then(|shards| shards.only);
    let (first, output_count) = only.map_or((0, summary.outputs), |shard| (shard.number(), shard.count().get()));
    let mut known = Vec::new();
    for (number, rows) in (0..).zip(&outputs) {
        let started = Instant::now();
        watch.goes_on(Phase::Plan, number.into(), summary.outputs.into())?;
        let job = meta.job.map(|job| Job { output: first + number, output_count, ..job });
        let meta = BlockMeta { job, ..meta.clone() };
        let mut draft = if replan {
            Draft::planned(&merging, rows, contents, is_all_used, &meta)?
        } else {
            let is_all_used = is_all_used && options.layout != Layout::Factored;
            Draft::new(&merging, rows, contents, is_all_used, options.layout, &meta)?
        };
        summary.timings.add(Phase::Plan, started.elapsed());
        let started = Instant::now();
        watch.goes_on(Phase::Write, number.into(), summary.outputs.into())?;
        if publish_remap.is_some() {
            let shard = shard_of_output[known.len()];
            known.push(KnownOutput { rows, shard, block_id: draft.block_id(), refs: draft.take_refs() });
        }
        publish(number, draft)?;
        summary.timings.add(Phase::Write, started.elapsed());
    }
    if let Some(publish_remap) = publish_remap {
        let started = Instant::now();
        let job = meta.job.map_or([0; 16], |job| job.id);
        let gone = remap(inputs, &merging, &known, job, contents, &watch, publish_remap)?;
        let left_out = summary.dropped + summary.elsewhere;
        if gone != left_out {
            return Err(CompactError::Unmapped { gone, left_out }.into());
        }
        summary.timings.add(Phase::Remap, started.elapsed());
    }
    Ok(summary)
}

/// Refuses what cannot be done before anything is done.
fn check(options: &CompactOptions) -> Result<(), CompactError> {
    if options.keep.len() + options.drop.len() > MOST_SELECTORS {
        return Err(CompactError::TooManySelectors { most: MOST_SELECTORS });
    }
    let Some(shards) = &options.shards else { return Ok(()) };
    let is_by = |name: &String| *name == shards.by;
    let refused = |what| Err(CompactError::Options { what });
    if shards.only.is_some() && options.max_series_per_block.is_some() {
        return refused(
            "one shard of a job cannot be cut into several blocks: nobody would know how many outputs the job has",
        );
    }
    let Rewrite { drop_labels, rename_labels } = &options.rewrite;
    if drop_labels.iter().any(is_by) || rename_labels.iter().any(|(old, new)| is_by(old) || is_by(new)) {
        return refused("the label by which series are spread over shards can be neither dropped nor renamed");
    }
    Ok(())
}

/// Refuses names that are longer than those that the inputs' policy leaves whole.
fn check_names(policy: LabelPolicy, options: &CompactOptions) -> Result<(), CompactError> {
    let most = policy.max_name_len() as usize;
    match options.rewrite.renamed().find(|(_, new)| new.len() > most || new.is_empty()) {
        Some(_) => Err(CompactError::Options {
            what: "a label would get a name that is empty, or longer than the label policy of the blocks allows",
        }),
        None => Ok(()),
    }
}

/// The options' selectors as they see values that the inputs' policy has cut.
fn filter(policy: LabelPolicy, options: &CompactOptions, vocabulary: &Vocabulary<'_>) -> Filter {
    let under = |selectors: &[Selector]| -> Vec<Selector> {
        selectors.iter().map(|selector| selector.under(&policy)).collect()
    };
    let shard = options.shards.as_ref().and_then(|shards| Some((shards.by.as_str(), shards.only?)));
    Filter::new(&under(&options.keep), &under(&options.drop), shard, vocabulary)
}

/// Selectors that matched nothing, and rewritten labels that are not there.
fn unmatched(options: &CompactOptions, filter: &Filter, vocabulary: &Vocabulary<'_>) -> Vec<String> {
    let keep = options.keep.iter().map(|selector| format!("keep {selector}"));
    let selectors = keep.chain(options.drop.iter().map(|selector| format!("drop {selector}"))).enumerate();
    let mut unmatched: Vec<String> =
        selectors.filter(|(number, _)| !filter.has_matched(*number)).map(|(_, selector)| selector).collect();
    // Names that labels get are in the vocabulary whether series had them or not: those have no input.
    let is_absent = |name: &str| vocabulary.key(name).is_none_or(|key| !vocabulary.is_in_an_input(key));
    let Rewrite { drop_labels, rename_labels } = &options.rewrite;
    unmatched.extend(drop_labels.iter().filter(|name| is_absent(name)).map(|name| format!("drop label {name:?}")));
    let renamed = rename_labels.iter().filter(|(old, _)| is_absent(old));
    unmatched.extend(renamed.map(|(old, new)| format!("rename label {old:?} to {new:?}")));
    unmatched
}

/// Asks the observer whether to go on.
pub(crate) struct Watch<'a> {
    observer: &'a dyn Observer,
}

impl Watch<'_> {
    pub(crate) fn goes_on(&self, phase: Phase, done: u64, of: u64) -> Result<(), CompactError> {
        if self.observer.goes_on(phase, done, of) { Ok(()) } else { Err(CompactError::Cancelled) }
    }
}

fn verify(inputs: &[BlockView<'_>], watch: &Watch<'_>) -> Result<Verified, CompactError> {
    for (input, view) in inputs.iter().enumerate() {
        if !view.may_be_compacted() {
            let [_, bits, _] = view.features();
            return Err(CompactError::UnknownFeatures { input, bits });
        }
    }
    let mut verified = Verified { series_count: 0, fingerprint: Fingerprint::ZERO };
    let mut first = 0;
    for group in inputs.chunks(rayon::current_num_threads() * 4) {
        watch.goes_on(Phase::Verify, first as u64, inputs.len() as u64)?;
        // What a block adds up to is all that is kept of it.
        let sums = |content: ContentFingerprint| (content.series_count, content.fingerprint);
        let results: Vec<_> = group.par_iter().map(|view| verification::verify(view).map(sums)).collect();
        for (input, result) in (first..).zip(results) {
            let (series_count, fingerprint) = result.map_err(|source| CompactError::Input { input, source })?;
            verified.series_count += series_count;
            verified.fingerprint = verified.fingerprint + fingerprint;
        }
        first += group.len();
    }
    Ok(verified)
}

/// The rows that shared tables must have for series that are factored otherwise in their inputs.
fn more_rows(context: Context<'_>, adopted: &Adopted) -> Result<MoreRows, CompactError> {
    let plan = &adopted.plan;
    let mut more: MoreRows =
        (0..plan.tables.len()).map(|table| InternedRows::new(keys_of(plan, table).len())).collect();
    if plan.tables.is_empty() {
        return Ok(more);
    }
    let of_keyset = |(keyset, choice): (&MergedKeyset, &KeysetPlan)| {
        let mut more = BTreeMap::new();
        for source in keyset.sources.iter().filter(|source| !source.agrees) {
            let at = |error| CompactError::Input { input: source.input, source: error };
            let translation = Translation::new(context, source, choice, None).map_err(at)?;
            translation.add_rows(&mut more).map_err(at)?;
        }
        Ok(more)
    };
    let found = (adopted.keysets.par_iter().zip(&plan.keysets))
        .map(of_keyset)
        .collect::<Result<Vec<BTreeMap<usize, InternedRows>>, CompactError>>()?;
    for (table, found) in found.into_iter().flatten() {
        for row in found.rows() {
            more[table].intern(row);
        }
    }
    add_rows_below(plan, &mut more);
    Ok(more)
}

/// What all inputs add up to.
struct Verified {
    series_count: u64,
    fingerprint: Fingerprint,
}

/// What went in must have come out, been met twice or been dropped.
fn balance(verified: &Verified, outputs: &[OutputRows], tally: &Tally, summary: &Summary) -> Result<(), CompactError> {
    let went_in = verified.fingerprint;
    let came_out: Fingerprint = outputs.iter().map(OutputRows::fingerprint).sum();
    let left_out = summary.dropped + summary.elsewhere;
    let (before, after) = tally.rewritten;
    let is_balanced =
        went_in + after == came_out + tally.duplicates.sum + tally.dropped.sum + tally.elsewhere.sum + before;
    if !is_balanced || summary.series_in != summary.series_out + summary.duplicates + left_out {
        return Err(CompactError::Unbalanced {
            series_in: summary.series_in,
            duplicates: summary.duplicates,
            dropped: left_out,
            series_out: summary.series_out,
            fingerprints: if is_balanced { "equal" } else { "different" },
        });
    }
    Ok(())
}
