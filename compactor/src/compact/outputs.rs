//! Merges rows, and turns them into outputs and remaps.

use std::time::Instant;

use chronoxide_format::identity::BlockId;
use chronoxide_format::view::Job;
use chronoxide_format::write::BlockMeta;
use chronoxide_planner::Layout;
use chronoxide_publish::{Contents, Spool};

use super::Summary;
use crate::columns::MergedColumns;
use crate::merge::{MergeContext, Sharding, Tally};
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

/// Turns merged rows into outputs, and outputs into remaps.
pub(super) struct Publication<'a> {
    pub merging: &'a MergeContext<'a>,
    pub options: &'a CompactOptions,
    /// Meta of all outputs, apart from their numbers in the job.
    pub meta: &'a BlockMeta,
    /// Merged rows.
    pub contents: Contents<'a>,
    pub columns: &'a MergedColumns<'a>,
    pub watch: &'a Watch<'a>,
    /// True if rows are planned afresh.
    pub replan: bool,
    /// True if the one output uses all symbols, values and shared rows that were merged.
    pub is_all_used: bool,
}

impl Publication<'_> {
    /// Hands each output to `publish`, in order, and then each remap to `publish_remap`, in the order of the inputs.
    ///
    /// # Errors
    /// Series are missing from the outputs that were not dropped; and the errors of `publish` and `publish_remap`.
    pub(super) fn publish<E: From<CompactError>>(
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
            let mut draft = self.draft(rows, &BlockMeta { job, ..self.meta.clone() })?;
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

    fn draft<'a>(&'a self, rows: &'a OutputRows, meta: &BlockMeta) -> Result<Draft<'a>, CompactError> {
        let Self { merging, options, contents, is_all_used, .. } = *self;
        if self.replan {
            return Draft::planned(merging, rows, contents, is_all_used, meta);
        }
        let is_all_used = is_all_used && options.layout != Layout::Factored;
        Draft::new(merging, rows, contents, is_all_used, options.layout, meta)
    }
}
