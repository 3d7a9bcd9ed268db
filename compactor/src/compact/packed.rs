//! [`Packed`]: merged rows, which become outputs and remaps.

use std::time::Instant;

use chronoxide_format::identity::BlockId;
use chronoxide_format::view::{BlockView, Job};
use chronoxide_format::write::BlockMeta;
use chronoxide_format::{Forecast, PLAN_KEY};
use chronoxide_planner::Layout;
use chronoxide_publish::{Contents, Spool};

use super::Summary;
use super::merged::Merged;
use super::planning::Planning;
use super::summary::unmatched;
use crate::columns::MergedColumns;
use crate::merge::{AllLabelRows, MergeContext, Sharding, Tally};
use crate::output::{Draft, OutputRows};
use crate::progress::{Phase, Watch};
use crate::remap::{KnownOutput, write_remaps};
use crate::row_merger::RowMerger;
use crate::{CompactError, CompactOptions};

/// Receives the bytes of each input's remap, with the input's number.
pub(super) type PublishRemap<'a, E> = &'a mut dyn FnMut(usize, Vec<u8>) -> Result<(), E>;

/// Merged rows of all outputs. Their bytes wait in the spool.
pub(super) struct MergedOutputs {
    /// Rows of each output.
    pub outputs: Vec<OutputRows>,
    /// Shard of each output; 0 without shards.
    pub shards: Vec<u32>,
    /// Series that reach no output.
    pub tally: Tally,
}

impl MergedOutputs {
    /// Merges the rows of all keysets into the spool. `with_codes` also collects the codes that each output uses.
    pub(super) fn merge(
        merging: &MergeContext<'_>,
        options: &CompactOptions,
        with_codes: bool,
        spool: &mut Spool<'_>,
        watch: &Watch<'_>,
    ) -> Result<Self, CompactError> {
        let all_shards = options.shards.as_ref().filter(|shards| shards.only.is_none());
        let context = &merging.context;
        let sharding = all_shards
            .map(|shards| Sharding::new(&shards.by, shards.count, context.vocabulary, context.plan, merging.tables));
        let mut merger = RowMerger {
            merging,
            sharding,
            max_series: options.max_series_per_block,
            with_codes,
            outputs: (0..all_shards.map_or(1, |shards| shards.count.get()))
                .map(|_| vec![OutputRows::default()])
                .collect(),
            tally: Tally::NONE,
            watch,
        };
        merger.merge_all(spool)?;
        let shards =
            (0..).zip(&merger.outputs).flat_map(|(shard, outputs)| outputs.iter().map(move |_| shard)).collect();
        Ok(Self { outputs: merger.outputs.into_iter().flatten().collect(), shards, tally: merger.tally })
    }
}

/// The last stage before the outputs are published: merged rows, which balance with the inputs. Their bytes wait in the
/// spool.
pub(super) struct Packed<'a> {
    merged: &'a Merged<'a>,
    rows: MergedOutputs,
    contents: Contents<'a>,
    /// True if the one output uses all symbols, values and shared rows that were merged.
    is_all_used: bool,
    summary: Summary,
}

impl<'a> Packed<'a> {
    /// Merges the rows of all keysets. Before the first output is written, series and fingerprints must balance, so
    /// that damage never gets a fresh checksum.
    ///
    /// # Errors
    /// An input is damaged, series do not balance, scratch data cannot be written, or the compaction was cancelled.
    pub(super) fn merge_rows(
        merged: &'a Merged<'a>,
        rows: &AllLabelRows<'_>,
        spool: &'a mut Spool<'_>,
    ) -> Result<Self, CompactError> {
        let planned = merged.planned;
        let (pipeline, verified) = (planned.pipeline, planned.verified);
        let options = pipeline.options();
        let is_all_used = merged.filter.keeps_all()
            && options.rewrite.is_empty()
            && verified.lifted.is_empty()
            && pipeline.is_one_output();
        let with_codes = matches!(verified.planning, Planning::Adopted | Planning::Sampled) || !is_all_used;
        let rows = pipeline.time(Phase::Rows, || {
            let rows = MergedOutputs::merge(&merged.context(rows), options, with_codes, spool, &pipeline.watch)?;
            // Only remaps and columns unite lists again.
            if pipeline.has_remaps || !verified.columns.is_empty() {
                merged.lists.forget_unions()
            } else {
                merged.lists.keep_members_only()
            }
            Ok::<_, CompactError>(rows)
        })?;
        let mut summary = Summary::default();
        summary.count(&rows, verified.totals.series_count);
        summary.optional_sections_left_out = pipeline.inputs().iter().flat_map(BlockView::unknown_sections).count();
        summary.unmatched = unmatched(options, &merged.filter, &planned.labels.vocabulary);
        summary.unmatched.extend_from_slice(&verified.columns.unmatched);
        summary.hashed.clone_from(&verified.hashes.labels);
        verified.totals.balance(&rows.outputs, &rows.tally, &summary)?;
        Ok(Self { merged, rows, contents: spool.contents(), is_all_used, summary })
    }

    /// Publishes the outputs, if `publish` is given, and then the remaps.
    ///
    /// # Errors
    /// Those of `publish` and `publish_remap`, and outputs that cannot be written.
    pub(super) fn publish<E: From<CompactError>>(
        self,
        publish: Option<impl FnMut(u32, Draft<'_>) -> Result<BlockId, E>>,
        publish_remap: Option<PublishRemap<'_, E>>,
    ) -> Result<Summary, E> {
        let Self { merged, rows, contents, is_all_used, mut summary } = self;
        let planned = merged.planned;
        let (pipeline, verified) = (planned.pipeline, planned.verified);
        summary.timings = pipeline.timings();
        let Some(publish) = publish else { return Ok(summary) };
        let replan = verified.planning == Planning::Whole;
        let publication = Publication {
            merging: &merged.later_context(),
            options: pipeline.options(),
            meta: &verified.meta,
            planner_version: match replan {
                true => Layout::Factored.planner_version(),
                false => planned.adopted.planner_version,
            },
            forecast: planned.forecast,
            contents,
            columns: &verified.columns,
            watch: &pipeline.watch,
            replan,
            is_all_used,
        };
        publication.publish(&rows, &mut summary, publish, publish_remap)?;
        Ok(summary)
    }
}

/// Turns merged rows into outputs, and outputs into remaps.
struct Publication<'a> {
    merging: &'a MergeContext<'a>,
    options: &'a CompactOptions,
    /// Meta of all outputs, apart from what follows from the rows.
    meta: &'a BlockMeta,
    planner_version: u32,
    forecast: Option<Forecast>,
    /// Merged rows.
    contents: Contents<'a>,
    columns: &'a MergedColumns<'a>,
    watch: &'a Watch<'a>,
    /// True if rows are planned afresh.
    replan: bool,
    /// True if the one output uses all symbols, values and shared rows that were merged.
    is_all_used: bool,
}

impl Publication<'_> {
    /// Hands each output to `publish`, in order, and then each remap to `publish_remap`, in the order of the inputs.
    ///
    /// # Errors
    /// Series are missing from the outputs that were not dropped; and the errors of `publish` and `publish_remap`.
    fn publish<E: From<CompactError>>(
        &self,
        merged: &MergedOutputs,
        summary: &mut Summary,
        mut publish: impl FnMut(u32, Draft<'_>) -> Result<BlockId, E>,
        publish_remap: Option<PublishRemap<'_, E>>,
    ) -> Result<(), E> {
        let only = self.options.shards.as_ref().and_then(|shards| shards.only);
        let count = merged.outputs.len() as u32;
        let (first, output_count) = only.map_or((0, count), |shard| (shard.number(), shard.count().get()));
        let mut known = Vec::new();
        for ((number, rows), &shard) in (0..).zip(&merged.outputs).zip(&merged.shards) {
            let started = Instant::now();
            self.watch.progress(Phase::Plan, number.into(), count.into())?;
            let job = match &self.options.origin {
                Some(origin) => Some(origin.job),
                None => self.meta.job.map(|job| Job { output: first + number, output_count, ..job }),
            };
            let mut draft = self.draft(rows, &self.meta_of(job))?;
            summary.timings.add(Phase::Plan, started.elapsed());
            let started = Instant::now();
            self.watch.progress(Phase::Write, number.into(), count.into())?;
            let mut output = KnownOutput { rows, shard, block_id: BlockId::default(), refs: draft.take_refs() };
            if !self.columns.is_empty() {
                let columns = self.columns.pack(self.merging, &output, self.contents)?;
                draft = draft.with_columns(&columns).map_err(CompactError::from)?;
            }
            summary.optional_sections_copied += draft.carried_sections();
            summary.optional_sections_left_out -= draft.carried_sections();
            output.block_id = publish(number, draft)?;
            if publish_remap.is_some() {
                known.push(output);
            }
            summary.timings.add(Phase::Write, started.elapsed());
        }
        let Some(publish_remap) = publish_remap else { return Ok(()) };
        let started = Instant::now();
        let job = self.meta.job.map_or([0; 16], |job| job.id);
        let gone = write_remaps(self.merging, &known, job, self.contents, self.watch, publish_remap)?;
        let left_out = summary.dropped + summary.other_shards;
        if gone != left_out {
            return Err(CompactError::Unmapped { gone, left_out }.into());
        }
        summary.timings.add(Phase::Remap, started.elapsed());
        Ok(())
    }

    /// Returns the meta of one output.
    fn meta_of(&self, job: Option<Job>) -> BlockMeta {
        let mut meta = BlockMeta { job, planner_version: self.planner_version, ..self.meta.clone() };
        if let Some(forecast) = self.forecast {
            let place = meta.annotations.partition_point(|(key, _)| key.as_str() < PLAN_KEY);
            meta.annotations.insert(place, (PLAN_KEY.to_owned(), forecast.to_string()));
        }
        meta
    }

    fn draft<'a>(&'a self, rows: &'a OutputRows, meta: &BlockMeta) -> Result<Draft<'a>, CompactError> {
        let Self { merging, options, contents, is_all_used, .. } = *self;
        if self.replan {
            return Draft::planned(merging, rows, contents, is_all_used, meta);
        }
        let is_all_used = is_all_used && options.layout != Layout::Factored;
        Draft::new(merging, rows, contents, is_all_used, options.layout, meta)
    }
}
