//! The steps of a compaction in their order: [`run`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use chronoxide_format::PLAN_KEY;
use chronoxide_format::identity::BlockId;
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_planner::{InternedRows, KeysetPlan, Layout};
use chronoxide_publish::Spool;
use chronoxide_select::Selector;
use rayon::prelude::*;

use super::Summary;
use super::balance::Verified;
use super::checks::{Estimate, Request, check_names, check_options};
use super::outputs::{MergedOutputs, Publication, PublishRemap};
use super::planning::Planning;
use super::summary::unmatched;
use crate::columns::MergedColumns;
use crate::error::InInput;
use crate::external::Lifted;
use crate::merge::{
    Adopted, AllLabelRows, Filter, InputContext, KeyChanges, MergeContext, MergedKeyset, MergedLabels, MergedLists,
    MergedTables, MoreRows, Translation, Vocabulary, add_rows_below, keys_of, merge_symbols,
};
use crate::output::Draft;
use crate::progress::{Phase, Watch};
use crate::{CompactError, CompactOptions, memory, meta};

/// Merges blocks, hands the outputs to `publish`, if it is given, and then the remaps to `publish_remap`.
///
/// The observer is asked before each step and may cancel the run.
pub(crate) fn run<E: From<CompactError>>(
    request: Request<'_>,
    spool: &mut Spool<'_>,
    publish: Option<impl FnMut(u32, Draft<'_>) -> Result<BlockId, E>>,
    publish_remap: Option<PublishRemap<'_, E>>,
) -> Result<Summary, E> {
    let Request { inputs, options, .. } = request;
    let mut summary = Summary::default();
    let watch = &Watch::new(request.observer);
    // From the cheapest check to the dearest: options, catalogues, then every byte of the inputs.
    check_options(options)?;
    let started = Instant::now();
    let (Estimate { planning, fixed, .. }, verified) =
        verified(request, publish.is_some(), publish_remap.is_some(), watch)?;
    summary.timings.add(Phase::Verify, started.elapsed());

    let started = Instant::now();
    let (metas, metrics) = meta::copy(inputs)?;
    // Nothing is written without outputs: the series are counted.
    let columns = &match publish {
        Some(_) => MergedColumns::new(inputs, &metas, options)?,
        None => MergedColumns::default(),
    };
    let (mut merged_meta, lifted) = meta::merge(&metas, options)?;
    let is_one_output = options.max_series_per_block.is_none() && options.shards.is_none();
    if publish.is_some() && is_one_output {
        // Only a copy has the series and refs that sections of unknown kinds are about.
        let only = if let [only] = inputs { only.carried_sections().in_input(0)? } else { None };
        merged_meta.carried = only.map(Arc::new);
    }
    check_names(merged_meta.policy, options)?;
    let vocabulary = merge_labels(inputs, options, &lifted, watch)?;
    let mut filter = filter(merged_meta.policy, options, &vocabulary);
    let merged = MergedLabels {
        inputs,
        metas: &metas,
        vocabulary: &vocabulary,
        changes: &KeyChanges::new(&options.rewrite, &vocabulary),
        lifted: &vocabulary.lifted(&lifted),
    };
    let labels = AllLabelRows::new(inputs, &vocabulary);
    let (adopted, forecast) = merged.plan(planning, &labels, &filter, request.planned_series, watch)?;
    if let Some(forecast) = forecast {
        let annotations = &mut merged_meta.annotations;
        let place = annotations.partition_point(|(key, _)| key.as_str() < PLAN_KEY);
        annotations.insert(place, (PLAN_KEY.to_owned(), forecast.to_string()));
    }
    // Memory of all later steps, and of those until the rows are merged.
    let fixed = fixed.saturating_add(memory::vocabulary(&vocabulary));
    let label_rows = memory::label_rows(inputs, &vocabulary, &adopted)?;
    let until_rows = fixed.saturating_add(label_rows).saturating_add(memory::translation(&adopted));
    memory::check(until_rows, options)?;
    // Remaps read labels again, in a part of the run in which the rows' copy would only take memory.
    let labels_for_remaps = AllLabelRows::new(inputs, &vocabulary);
    let context = merged.context(&adopted, &labels_for_remaps);
    let rows_context = merged.context(&adopted, &labels);
    let tables = {
        let more = more_rows(rows_context, &adopted)?;
        memory::check(until_rows.saturating_add(memory::merging_tables(inputs, &adopted, &more)?), options)?;
        MergedTables::merge(context, &more)?
    };
    let of_tables = memory::tables(&tables);
    watch.progress(Phase::Tables, 3, 4)?;
    let lists = MergedLists::merge(context, &tables)?;
    memory::check(until_rows.saturating_add(of_tables + memory::merging_lists(&lists)), options)?;
    filter.add_tables(&adopted.plan, &tables);
    let publishing =
        MergeContext { context, keysets: &adopted.keysets, tables: &tables, lists: &lists, filter: &filter };
    let merging = MergeContext { context: rows_context, ..publishing };
    watch.progress(Phase::Tables, 4, 4)?;
    summary.timings.add(Phase::Tables, started.elapsed());

    let started = Instant::now();
    let is_all_used = filter.keeps_all() && options.rewrite.is_empty() && lifted.is_empty() && is_one_output;
    let with_codes = matches!(planning, Planning::Adopted | Planning::Sampled) || !is_all_used;
    let merged = MergedOutputs::merge(&merging, options, with_codes, spool, watch)?;
    // Only remaps read labels and unite lists again.
    drop(labels);
    if publish_remap.is_some() || !columns.is_empty() {
        lists.forget_unions()
    } else {
        lists.keep_members_only()
    }
    summary.timings.add(Phase::Rows, started.elapsed());

    summary.count(&merged, verified.series_count);
    summary.optional_sections_left_out = inputs.iter().flat_map(BlockView::unknown_sections).count();
    summary.unmatched = unmatched(options, &filter, &vocabulary);
    summary.unmatched.extend_from_slice(&columns.unmatched);
    // Before the first output is written, so that damage never gets a fresh checksum.
    verified.balance(&merged.outputs, &merged.tally, &summary)?;
    let Some(publish) = publish else { return Ok(summary) };
    memory::check(fixed.saturating_add(of_tables + memory::lists(&lists)), options)?;

    let replan = planning == Planning::Whole;
    let planner_version = if replan { Layout::Factored.planner_version() } else { adopted.planner_version };
    let meta = &BlockMeta { planner_version, metrics, ..merged_meta };
    let contents = spool.contents();
    let publication =
        Publication { merging: &publishing, options, meta, contents, columns, watch, replan, is_all_used };
    publication.publish(&merged, &mut summary, publish, publish_remap)?;
    Ok(summary)
}

/// Verifies the inputs, unless the first steps could exceed the memory limit.
fn verified(
    request: Request<'_>,
    has_outputs: bool,
    has_remaps: bool,
    watch: &Watch<'_>,
) -> Result<(Estimate, Verified), CompactError> {
    let estimate = Estimate::from_catalogues(request, has_outputs, has_remaps);
    if let Ok(estimate) = &estimate {
        memory::check(estimate.of_labels(), request.options)?;
    }
    // Without an estimate an input is damaged: verification names the rule that it breaks.
    let verified = Verified::from_inputs(request.inputs, watch)?;
    Ok((estimate?, verified))
}

/// Merges symbols, keys and values of the inputs.
fn merge_labels<'a>(
    inputs: &'a [BlockView<'a>],
    options: &'a CompactOptions,
    lifted: &'a Lifted,
    watch: &Watch<'_>,
) -> Result<Vocabulary<'a>, CompactError> {
    let new_names = options.rewrite.renamed().map(|(_, new)| new);
    let new_symbols: Vec<&str> = new_names.chain(lifted.labels().flat_map(|(name, value)| [name, value])).collect();
    let symbols = merge_symbols(inputs, &new_symbols)?;
    watch.progress(Phase::Tables, 1, 4)?;
    let vocabulary = Vocabulary::merge(inputs, symbols, &options.rewrite, lifted)?;
    watch.progress(Phase::Tables, 2, 4)?;
    Ok(vocabulary)
}

/// Returns the filter of the options. Selectors see values as the label policy has cut them.
fn filter(policy: LabelPolicy, options: &CompactOptions, vocabulary: &Vocabulary<'_>) -> Filter {
    let under = |selectors: &[Selector]| -> Vec<Selector> {
        selectors.iter().map(|selector| selector.under(&policy)).collect()
    };
    let shard = options.shards.as_ref().and_then(|shards| Some((shards.by.as_str(), shards.only?)));
    Filter::new(&under(&options.keep), &under(&options.drop), shard, vocabulary)
}

/// Returns the rows that shared tables need for series that their inputs factor differently.
fn more_rows(context: InputContext<'_>, adopted: &Adopted) -> Result<MoreRows, CompactError> {
    let plan = &adopted.plan;
    let mut more: MoreRows =
        (0..plan.tables.len()).map(|table| InternedRows::new(keys_of(plan, table).len())).collect();
    if plan.tables.is_empty() {
        return Ok(more);
    }
    let of_keyset = |(keyset, choice): (&MergedKeyset, &KeysetPlan)| {
        let mut more = BTreeMap::new();
        for source in keyset.sources.iter().filter(|source| !source.agrees) {
            let translation = Translation::new(context, source, choice, None);
            translation.and_then(|translation| translation.add_rows(&mut more)).in_input(source.input)?;
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
