//! Finds the series of each input in the outputs, and builds remaps.
//!
//! Rows of the inputs and merged rows have the same order. A walk over both finds the merged rows of each row, whether
//! rows were united, cut, dropped or spread over shards. The merge itself remembers nothing.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use chronoxide_format::SeriesRef;
use chronoxide_format::identity::BlockId;
use chronoxide_format::remap::{KeysetTargets, RemapBuilder, RemapOutput};
use chronoxide_format::view::BlockView;
use chronoxide_publish::Contents;
use rayon::prelude::*;

use crate::CompactError;
use crate::error::InInput;
use crate::merge::{Fate, KeysetSource, MergeContext, MergedPool, PoolReader, Translation, keyset};
use crate::output::{Chunk, OutputRows};
use crate::progress::{Phase, Watch};

/// Number of rows of an input that are read at a time, so that their codes take little beside the targets.
const ROWS_AT_ONCE: usize = 1 << 12;

/// An output in which series are looked up.
pub(crate) struct KnownOutput<'a> {
    pub rows: &'a OutputRows,
    pub shard: u32,
    /// Id of the block; that of no block until it is published.
    pub block_id: BlockId,
    /// Series ref of each row; empty if rows kept their order.
    pub refs: Vec<SeriesRef>,
}

/// Rows of an output, and the counts of rows and series before them.
struct PlacedChunk {
    chunk: Chunk,
    rows_before: usize,
    /// Number of series before these rows, in this and all earlier outputs.
    series_before: u64,
}

/// Rows of all outputs.
pub(crate) struct Placed<'a> {
    merging: &'a MergeContext<'a>,
    contents: Contents<'a>,
    outputs: Vec<PlacedOutput<'a>>,
}

/// Rows of one output, by keyset.
struct PlacedOutput<'a> {
    refs: &'a [SeriesRef],
    /// Number of series of all earlier outputs.
    first: u64,
    keysets: BTreeMap<usize, Vec<PlacedChunk>>,
}

/// The merged keyset of a keyset of an input, by its number, and how it is read; `None` for one without series.
type Source<'a> = Option<(usize, &'a KeysetSource)>;

/// Returns the sources of each keyset of each input.
fn sources_of<'a>(merging: &MergeContext<'a>) -> Vec<Vec<Source<'a>>> {
    let inputs = merging.context.inputs.iter();
    let mut sources: Vec<Vec<Source<'_>>> = inputs.map(|view| vec![None; view.keyset_count() as usize]).collect();
    for (number, keyset) in merging.keysets.iter().enumerate() {
        for source in &keyset.sources {
            sources[source.input][source.keyset as usize] = Some((number, source));
        }
    }
    sources
}

/// Takes the targets of the series of an input's keyset, row by row: numbers over all outputs, `None` if dropped.
pub(crate) trait Targets {
    fn push_row(&mut self, targets: impl Iterator<Item = Option<u64>>);
}

impl Targets for KeysetTargets {
    fn push_row(&mut self, targets: impl Iterator<Item = Option<u64>>) {
        Self::push_row(self, targets);
    }
}

/// Builds the remap of each input, and hands them to `each` in order. Returns the number of series without a target.
pub(crate) fn write_remaps<'a, E: From<CompactError>>(
    merging: &'a MergeContext<'a>,
    outputs: &'a [KnownOutput<'a>],
    job: [u8; 16],
    contents: Contents<'a>,
    watch: &Watch<'_>,
    each: &mut dyn FnMut(usize, Vec<u8>) -> Result<(), E>,
) -> Result<u64, E> {
    let inputs = merging.context.inputs;
    let known = outputs.iter().map(|output| RemapOutput {
        block_id: output.block_id,
        series_count: output.rows.series,
        shard: output.shard,
    });
    let known: Vec<RemapOutput> = known.collect();
    let placed = Placed::new(merging, outputs, contents);
    let sources = sources_of(merging);
    let build = |(view, keysets): (&BlockView<'_>, &Vec<Option<(usize, &KeysetSource)>>)| {
        let mut builder = RemapBuilder::new(view.block_id(), job, &known)?;
        let (mut targets, mut gone) = (KeysetTargets::default(), 0);
        for &(number, source) in keysets.iter().flatten() {
            targets.clear();
            gone += placed.follow(number, source, &mut targets)?;
            builder.push_keyset(&targets)?;
        }
        Ok((builder.finish()?, gone))
    };
    let mut gone = 0;
    // The targets of one keyset take more memory than a remap, so that as many are built as there are threads.
    let at_once = rayon::current_num_threads();
    for (group, (views, keysets)) in inputs.chunks(at_once).zip(sources.chunks(at_once)).enumerate() {
        watch.progress(Phase::Remap, (group * at_once) as u64, inputs.len() as u64)?;
        let built = views.par_iter().zip(keysets).map(build).collect::<Result<Vec<(Vec<u8>, u64)>, CompactError>>()?;
        for (input, (bytes, of_input)) in (group * at_once..).zip(built) {
            gone += of_input;
            each(input, bytes)?;
        }
    }
    Ok(gone)
}

impl<'a> Placed<'a> {
    pub(crate) fn new(merging: &'a MergeContext<'a>, known: &'a [KnownOutput<'a>], contents: Contents<'a>) -> Self {
        let mut outputs = Vec::with_capacity(known.len());
        let mut series_before = 0;
        for output in known {
            let first = series_before;
            let mut rows_before = 0;
            let mut keysets: BTreeMap<usize, Vec<PlacedChunk>> = BTreeMap::new();
            for &chunk in &output.rows.chunks {
                keysets.entry(chunk.keyset).or_default().push(PlacedChunk { chunk, rows_before, series_before });
                rows_before += chunk.rows as usize;
                series_before += chunk.series;
            }
            outputs.push(PlacedOutput { refs: &output.refs, first, keysets });
        }
        Self { merging, contents, outputs }
    }

    /// Writes the target of each series of an input keyset that was merged into keyset `number`. Returns the number of
    /// dropped series.
    pub(crate) fn follow(
        &self,
        number: usize,
        source: &KeysetSource,
        targets: &mut impl Targets,
    ) -> Result<u64, CompactError> {
        let choice = &self.merging.context.plan.keysets[number];
        let pool = self.merging.pool(choice).map(MergedPool::read);
        let widths = self.merging.widths(choice);
        let cursors = self.outputs.iter().filter_map(|&PlacedOutput { refs, first, ref keysets }| {
            let chunks = keysets.get(&number)?;
            Some(Cursor { chunks: chunks.iter(), refs, first, codes: Vec::new(), row: 0, rows_before: 0, series: 0 })
        });
        let mut walk = Walk {
            contents: &self.contents,
            compared: choice.prefix.len(),
            widths: &widths,
            pool: pool.as_ref(),
            cursors: cursors.collect(),
            prefix: None,
            found: Vec::new(),
        };
        if source.agrees {
            self.follow_stored(number, source, &mut walk, targets)
        } else {
            self.follow_translated(number, source, &mut walk, targets)
        }
    }

    fn follow_stored(
        &self,
        number: usize,
        source: &KeysetSource,
        walk: &mut Walk<'_, '_>,
        targets: &mut impl Targets,
    ) -> Result<u64, CompactError> {
        let MergeContext { filter, context, .. } = *self.merging;
        let choice = &context.plan.keysets[number];
        let stored = self.merging.open_stored(source).in_input(source.input)?;
        let possible = filter.keys_mask(self.merging.keys(number));
        let is_lost = |mask| filter.fate(mask) != Fate::Kept;
        let mut gone = 0;
        let mut members: Vec<Option<u64>> = Vec::new();
        for start in (0..stored.len()).step_by(ROWS_AT_ONCE) {
            let run = stored.read(start..stored.len().min(start + ROWS_AT_ONCE))?;
            for row in run.rows() {
                let (prefix, list) = row.split_at(choice.prefix.len());
                walk.find(prefix)?;
                members.clear();
                walk.members(list.first().copied(), &mut members);
                if !filter.keeps_all() {
                    let mask = possible & filter.parts_mask(&choice.prefix, prefix);
                    match (choice.list, walk.pool, list) {
                        (Some(part), Some(pool), &[list]) => {
                            for (target, member) in members.iter_mut().zip(pool.list(list).iter()) {
                                *target = target.filter(|_| !is_lost(mask & filter.part_mask(part, member)));
                            }
                        }
                        _ if is_lost(mask) => members.fill(None),
                        _ => {}
                    }
                }
                gone += members.iter().filter(|target| target.is_none()).count() as u64;
                targets.push_row(members.iter().copied());
            }
        }
        Ok(gone)
    }

    /// Like `follow_stored`, for series that are factored differently, or rewritten: sorts them as in the outputs, and
    /// puts the targets back into the order of the input.
    fn follow_translated(
        &self,
        number: usize,
        source: &KeysetSource,
        walk: &mut Walk<'_, '_>,
        targets: &mut impl Targets,
    ) -> Result<u64, CompactError> {
        let MergeContext { filter, context, tables, .. } = *self.merging;
        let choice = &context.plan.keysets[number];
        let translation = Translation::new(context, source, choice, Some(tables)).in_input(source.input)?;
        let width = translation.width();
        let (mut rows, mut kept, mut series_count) = (Vec::new(), Vec::new(), 0);
        let read = translation.each(tables, filter, |fate, _, row| {
            if fate == Fate::Kept {
                kept.push(series_count);
                rows.extend_from_slice(row);
            }
            series_count += 1;
        });
        read.in_input(source.input)?;
        let row = |place: u32| &rows[place as usize * width..(place as usize + 1) * width];
        // The walk goes forward only, so that rows are looked up in the order of the outputs.
        let mut order: Vec<u32> = (0..kept.len() as u32).collect();
        order.par_sort_unstable_by(|&a, &b| row(a).cmp(row(b)));
        let mut numbers: Vec<Option<u64>> = vec![None; series_count];
        let mut found_count = 0;
        for place in order {
            let row = row(place);
            walk.find(&row[..choice.prefix.len()])?;
            let found = walk.series(row.get(choice.prefix.len()).copied());
            found_count += u64::from(found.is_some());
            numbers[kept[place as usize]] = found;
        }
        let keyset = keyset(&context.inputs[source.input], source.keyset).in_input(source.input)?;
        let mut left = &numbers[..];
        for row in 0..keyset.table().row_count() {
            let len = keyset.list(row).in_input(source.input)?.map_or(1, |list| list.len() as usize);
            let (of_row, rest) = left.split_at(len.min(left.len()));
            left = rest;
            targets.push_row(of_row.iter().copied());
        }
        Ok(series_count as u64 - found_count)
    }
}

/// A merged row: the number of its first series, counted over all outputs, and its list, if it has one.
struct Found {
    first: u64,
    list: u32,
    members: OnceCell<Vec<u32>>,
}

/// A walk over the merged rows of a keyset in all outputs, in the order of rows.
struct Walk<'w, 'a> {
    contents: &'w Contents<'a>,
    /// Number of columns that rows are compared by.
    compared: usize,
    widths: &'w [u32],
    pool: Option<&'w PoolReader<'w>>,
    cursors: Vec<Cursor<'w>>,
    /// The last prefix that was looked up. Its rows are in `found`: several if its list was spread or cut.
    prefix: Option<Vec<u32>>,
    found: Vec<Found>,
}

/// Position in the merged rows of one keyset in one output.
struct Cursor<'w> {
    chunks: std::slice::Iter<'w, PlacedChunk>,
    refs: &'w [SeriesRef],
    /// Number of series of all earlier outputs.
    first: u64,
    /// Codes of the current chunk.
    codes: Vec<u32>,
    /// Next row of the chunk.
    row: usize,
    /// Number of rows of the output before the chunk.
    rows_before: usize,
    /// Number of the row's first series.
    series: u64,
}

impl Walk<'_, '_> {
    /// Finds the rows of a prefix, which must not be less than the last one.
    fn find(&mut self, prefix: &[u32]) -> Result<(), CompactError> {
        if self.prefix.as_deref() == Some(prefix) {
            return Ok(());
        }
        self.found.clear();
        for cursor in &mut self.cursors {
            while let Some(row) = cursor.row(self.contents, self.widths)? {
                let order = row[..self.compared].cmp(prefix);
                if order.is_gt() {
                    break;
                }
                let list = row.get(self.compared).copied().unwrap_or_default();
                if order.is_eq() {
                    self.found.push(Found { first: cursor.number(), list, members: OnceCell::new() });
                }
                cursor.row += 1;
                cursor.series += self.pool.map_or(1, |pool| pool.len(list));
            }
        }
        let known = self.prefix.get_or_insert_default();
        known.clear();
        known.extend_from_slice(prefix);
        Ok(())
    }

    /// Returns the number of the series with this member of the found list, or of the found row if it has no list.
    fn series(&self, member: Option<u32>) -> Option<u64> {
        let (Some(member), Some(pool)) = (member, self.pool) else {
            return self.found.first().map(|found| found.first);
        };
        self.found.iter().find_map(|found| {
            let place = found.members(pool).binary_search(&member).ok()?;
            Some(found.first + place as u64)
        })
    }

    /// Adds the number of the series of each member of a list, or of the found row if it has no list.
    fn members(&self, list: Option<u32>, targets: &mut Vec<Option<u64>>) {
        let (Some(list), Some(pool)) = (list, self.pool) else {
            targets.push(self.found.first().map(|found| found.first));
            return;
        };
        if let [found] = &self.found[..]
            && found.list == list
        {
            targets.extend((found.first..found.first + pool.len(list)).map(Some));
            return;
        }
        let mut lists: Vec<(u64, &[u32])> = self.found.iter().map(|found| (found.first, found.members(pool))).collect();
        targets.extend(pool.list(list).iter().map(|member| {
            lists.iter_mut().find_map(|(first, left)| {
                let passed = left.iter().take_while(|&&other| other < member).count();
                (*first, *left) = (*first + passed as u64, &left[passed..]);
                (left.first() == Some(&member)).then_some(*first)
            })
        }));
    }
}

impl Found {
    /// Returns the members of the row's list, which are decoded once.
    fn members(&self, pool: &PoolReader<'_>) -> &[u32] {
        self.members.get_or_init(|| pool.list(self.list).iter().collect())
    }
}

impl Cursor<'_> {
    /// Returns the next row.
    fn row(&mut self, contents: &Contents<'_>, widths: &[u32]) -> Result<Option<&[u32]>, CompactError> {
        while self.row * widths.len() >= self.codes.len() {
            let Some(next) = self.chunks.next() else { return Ok(None) };
            self.codes = next.chunk.read(contents, widths)?;
            (self.row, self.rows_before, self.series) = (0, next.rows_before, next.series_before);
        }
        Ok(self.codes.get(self.row * widths.len()..(self.row + 1) * widths.len()))
    }

    /// Returns the number of the next row's first series.
    fn number(&self) -> u64 {
        // With refs, each row is one series.
        self.refs.get(self.rows_before + self.row).map_or(self.series, |series| self.first + u64::from(series.0))
    }
}
