//! Inputs to outputs, with the balance of series.

use std::io::Cursor;
use std::path::Path;
use std::time::Instant;

use chronoxide_format::build::{BlockMeta, BuildError};
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::verify::ContentFingerprint;
use chronoxide_format::view::{BlockView, Job};
use chronoxide_planner::{InternedRows, KeysetPlan, Layout};
use chronoxide_publish::{Disk, Spool};
use rayon::prelude::*;

use crate::merge::{
    Adopted, AllLabelRows, Context, Filter, MOST_SELECTORS, MergedKeyset, MergedLists, MergedRows, MergedTables,
    Merging, MoreRows, OpenKeyset, Piece, Tally, Translation, Vocabulary, add_rows_below, adopt, has_plan, keys_of,
    merge_symbols,
};
use crate::output::{Columns, Draft, OutputRows, PackedChunk, Uses, pack};
use crate::progress::{Observer, Phase, Timings, Unwatched};
use crate::{CompactError, CompactOptions, meta};

/// Rows of sources that are open at once, about: series where they are translated.
const BATCH_ROWS: u64 = 1 << 18;

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
    /// Series of all outputs.
    pub series_out: u64,
    /// How many outputs there are.
    pub outputs: u32,
    /// Sections of the inputs that this version does not know, and left out.
    pub optional_sections_left_out: usize,
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
        Ok(())
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
pub fn compact_into(
    inputs: &[BlockView<'_>],
    options: &CompactOptions,
    spool: &mut Spool<'_>,
    observer: &dyn Observer,
    mut publish: impl FnMut(u32, Draft<'_>) -> Result<(), CompactError>,
) -> Result<Summary, CompactError> {
    let mut summary = Summary::default();
    let watch = Watch { observer };
    if options.keep.len() + options.drop.len() > MOST_SELECTORS {
        return Err(CompactError::TooManySelectors { most: MOST_SELECTORS });
    }
    let started = Instant::now();
    let verified = verify(inputs, &watch)?;
    summary.timings.add(Phase::Verify, started.elapsed());

    let started = Instant::now();
    let replan = options.layout == Layout::Factored && (options.replan || !has_plan(inputs)?);
    let new_names: Vec<&str> = options.rewrite.renamed().map(|(_, new)| new).collect();
    let symbols = merge_symbols(inputs, &new_names)?;
    watch.goes_on(Phase::Tables, 1, 4)?;
    let vocabulary = Vocabulary::merge(inputs, symbols, &options.rewrite)?;
    watch.goes_on(Phase::Tables, 2, 4)?;
    let adopted = adopt(inputs, &vocabulary, &options.rewrite, options.layout == Layout::Factored && !replan)?;
    let labels = AllLabelRows::new(inputs, &vocabulary);
    let changes = options.rewrite.key_changes(&vocabulary);
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
    let filter = Filter::new(&options.keep, &options.drop, &vocabulary);
    let of_tables = filter.of_tables(&adopted.plan, &tables);
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
    let is_all_used = filter.keeps_all() && options.rewrite.is_empty() && options.max_series_per_block.is_none();
    let with_codes = options.layout == Layout::Factored && !replan || !is_all_used;
    let mut merger = Merger {
        merging: &merging,
        max_series: options.max_series_per_block.map_or(u32::MAX, std::num::NonZeroU32::get).into(),
        with_codes,
        outputs: vec![OutputRows::default()],
        tally: Tally::NONE,
        watch: &watch,
    };
    merger.merge_all(&adopted, spool)?;
    let Merger { outputs, tally, .. } = merger;
    summary.timings.add(Phase::Rows, started.elapsed());

    summary.series_in = verified.iter().map(|content| content.series_count).sum();
    summary.duplicates = tally.duplicates.series;
    summary.dropped = tally.dropped.series;
    summary.series_out = outputs.iter().map(|output| output.series).sum();
    summary.outputs = outputs.len() as u32;
    let unknown_sections = inputs.iter().flat_map(BlockView::sections).filter(|section| section.known().is_none());
    summary.optional_sections_left_out = unknown_sections.count();
    balance(&verified, &outputs, &tally, &summary)?;

    let planner_version = if replan { Layout::Factored.planner_version() } else { adopted.planner_version };
    let meta = BlockMeta { planner_version, ..meta::merge(inputs, options)? };
    let contents = spool.contents();
    for (number, rows) in (0..).zip(&outputs) {
        let started = Instant::now();
        watch.goes_on(Phase::Plan, number.into(), summary.outputs.into())?;
        let job = meta.job.map(|job| Job { output: number, output_count: summary.outputs, ..job });
        let meta = BlockMeta { job, ..meta.clone() };
        let draft = if replan {
            Draft::planned(&merging, rows, contents, is_all_used, &meta)?
        } else {
            let is_all_used = is_all_used && options.layout != Layout::Factored;
            Draft::new(&merging, rows, contents, is_all_used, options.layout, &meta)?
        };
        summary.timings.add(Phase::Plan, started.elapsed());
        let started = Instant::now();
        watch.goes_on(Phase::Write, number.into(), summary.outputs.into())?;
        publish(number, draft)?;
        summary.timings.add(Phase::Write, started.elapsed());
    }
    Ok(summary)
}

/// Asks the observer whether to go on.
struct Watch<'a> {
    observer: &'a dyn Observer,
}

impl Watch<'_> {
    fn goes_on(&self, phase: Phase, done: u64, of: u64) -> Result<(), CompactError> {
        if self.observer.goes_on(phase, done, of) { Ok(()) } else { Err(CompactError::Cancelled) }
    }
}

fn verify(inputs: &[BlockView<'_>], watch: &Watch<'_>) -> Result<Vec<ContentFingerprint>, CompactError> {
    for (input, view) in inputs.iter().enumerate() {
        if !view.may_be_compacted() {
            let [_, bits, _] = view.features();
            return Err(CompactError::UnknownFeatures { input, bits });
        }
    }
    let mut verified = Vec::with_capacity(inputs.len());
    for group in inputs.chunks(rayon::current_num_threads() * 4) {
        let first = verified.len();
        watch.goes_on(Phase::Verify, first as u64, inputs.len() as u64)?;
        let results: Vec<_> = group.par_iter().map(BlockView::verify).collect();
        for (input, result) in (first..).zip(results) {
            verified.push(result.map_err(|source| CompactError::Input { input, source })?);
        }
    }
    Ok(verified)
}

/// The rows that shared tables must have for series that are factored otherwise in their inputs.
fn more_rows(context: Context<'_>, adopted: &Adopted) -> Result<MoreRows, CompactError> {
    let empty = || -> MoreRows {
        let width = |table| keys_of(&adopted.plan, table).len();
        (0..adopted.plan.tables.len()).map(|table| InternedRows::new(width(table))).collect()
    };
    if adopted.plan.tables.is_empty() {
        return Ok(empty());
    }
    let of_keyset = |(keyset, choice): (&MergedKeyset, &KeysetPlan)| {
        let mut more = None;
        for source in keyset.sources.iter().filter(|source| !source.agrees) {
            let at = |error| CompactError::Input { input: source.input, source: error };
            let translation = Translation::new(context, source, choice, None).map_err(at)?;
            translation.add_rows(more.get_or_insert_with(empty)).map_err(at)?;
        }
        Ok(more)
    };
    let found = (adopted.keysets.par_iter().zip(&adopted.plan.keysets))
        .map(of_keyset)
        .collect::<Result<Vec<Option<MoreRows>>, CompactError>>()?;
    let mut more = empty();
    for of_keyset in found.into_iter().flatten() {
        for (all, found) in more.iter_mut().zip(&of_keyset) {
            for row in found.rows() {
                all.intern(row);
            }
        }
    }
    add_rows_below(&adopted.plan, &mut more);
    Ok(more)
}

/// Merges the rows of all keysets into outputs.
struct Merger<'a> {
    merging: &'a Merging<'a>,
    max_series: u64,
    with_codes: bool,
    outputs: Vec<OutputRows>,
    tally: Tally,
    watch: &'a Watch<'a>,
}

impl<'a> Merger<'a> {
    fn merge_all(&mut self, adopted: &'a Adopted, spool: &mut Spool<'_>) -> Result<(), CompactError> {
        let rows: Vec<u64> = adopted.keysets.iter().map(|keyset| keyset.rows).collect();
        let all: u64 = rows.iter().sum();
        let (mut from, mut done) = (0, 0);
        while from < rows.len() {
            self.watch.goes_on(Phase::Rows, done, all)?;
            let mut batch_rows = 0;
            let mut to = from;
            while to < rows.len() && (to == from || batch_rows + rows[to] <= BATCH_ROWS) {
                batch_rows += rows[to];
                to += 1;
            }
            self.merge_batch(adopted, from..to, spool)?;
            done += batch_rows;
            from = to;
        }
        self.watch.goes_on(Phase::Rows, done, all)
    }

    /// Merges some keysets: their sources are opened in parallel, then their pieces merged in parallel, some at a time, and kept in order.
    fn merge_batch(
        &mut self,
        adopted: &'a Adopted,
        keysets: std::ops::Range<usize>,
        spool: &mut Spool<'_>,
    ) -> Result<(), CompactError> {
        let merging = self.merging;
        let open = keysets
            .into_par_iter()
            .map(|number| {
                let keyset = merging.open(number, &adopted.keysets[number])?;
                let pieces = keyset.pieces()?;
                Ok((keyset, pieces))
            })
            .collect::<Result<Vec<(OpenKeyset<'a>, Vec<Piece>)>, CompactError>>()?;
        let mut pieces: Vec<(&OpenKeyset<'a>, &Piece)> = Vec::new();
        for (keyset, of_keyset) in &open {
            self.tally = self.tally.and(keyset.translated);
            pieces.extend(of_keyset.iter().map(|piece| (keyset, piece)));
        }
        let group_rows = BATCH_ROWS as usize;
        let mut left = &pieces[..];
        while !left.is_empty() {
            let mut rows = 0;
            let group = left.iter().take_while(|(_, piece)| {
                rows += piece.len();
                rows <= group_rows
            });
            let (group, rest) = left.split_at(group.count().max(1));
            left = rest;
            let with_codes = self.with_codes;
            let merged = (group.par_iter())
                .map(|(keyset, piece)| merge_piece(merging, keyset, piece, with_codes))
                .collect::<Result<Vec<(Vec<PackedChunk>, Tally)>, CompactError>>()?;
            for ((keyset, _), (chunks, tally)) in group.iter().zip(merged) {
                self.tally = self.tally.and(tally);
                for chunk in chunks {
                    self.keep(keyset.number, chunk, spool)?;
                }
            }
        }
        Ok(())
    }

    /// Puts rows to the output that is being filled, or to the next if they are too many for it.
    fn keep(&mut self, keyset: usize, chunk: PackedChunk, spool: &mut Spool<'_>) -> Result<(), CompactError> {
        let full = |output: &OutputRows| output.series + chunk.uses.series > self.max_series;
        if self.outputs.last().is_some_and(|output| !output.chunks.is_empty() && full(output)) {
            if self.max_series == u64::from(u32::MAX) {
                return Err(BuildError::TooMany { what: "series" }.into());
            }
            self.outputs.push(OutputRows::default());
        }
        let kept = chunk.keep(keyset, spool)?;
        if let Some(output) = self.outputs.last_mut() {
            output.chunks.push(kept);
            output.series += chunk.uses.series;
            let columns = chunk.uses.ranges.len();
            output.keysets.entry(keyset).or_insert_with(|| Uses::none(columns)).add(chunk.uses);
        }
        Ok(())
    }
}

fn merge_piece(
    merging: &Merging<'_>,
    keyset: &OpenKeyset<'_>,
    piece: &Piece,
    with_codes: bool,
) -> Result<(Vec<PackedChunk>, Tally), CompactError> {
    let MergedRows { run, mut tally } = merging.merge(keyset, piece)?;
    if run.len() == 0 {
        return Ok((Vec::new(), tally));
    }
    let fingerprints = merging.part_fingerprints(keyset.choice);
    let counts = merging.counts(keyset.choice);
    let reader = merging.pool(keyset.choice).map(|(_, pool)| pool.read());
    let list = reader.as_ref().map(|reader| |list: u32| reader.whole(list));
    let columns = Columns {
        fingerprints: &fingerprints,
        counts: &counts,
        list: list.as_ref().map(|list| list as &dyn Fn(u32) -> crate::merge::Overlap),
        with_codes,
    };
    let (chunk, duplicates) = pack(&run, &columns);
    tally.duplicates = tally.duplicates.and(duplicates);
    Ok((vec![chunk], tally))
}

/// What went in must have come out, been met twice or been dropped.
fn balance(
    verified: &[ContentFingerprint],
    outputs: &[OutputRows],
    tally: &Tally,
    summary: &Summary,
) -> Result<(), CompactError> {
    let went_in: Fingerprint = verified.iter().map(|content| content.fingerprint).sum();
    let came_out: Fingerprint = outputs.iter().map(OutputRows::fingerprint).sum();
    let (before, after) = tally.rewritten;
    let is_balanced = went_in + after == came_out + tally.duplicates.sum + tally.dropped.sum + before;
    if !is_balanced || summary.series_in != summary.series_out + summary.duplicates + summary.dropped {
        return Err(CompactError::Unbalanced {
            series_in: summary.series_in,
            duplicates: summary.duplicates,
            dropped: summary.dropped,
            series_out: summary.series_out,
            fingerprints: if is_balanced { "equal" } else { "different" },
        });
    }
    Ok(())
}
