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
use super::checks::{Estimate, check_names, check_options};
use super::outputs::{MergedOutputs, Publication, PublishRemap};
use super::planning::{MergedLabels, Planning};
use super::summary::unmatched;
use crate::merge::{
    Adopted, AllLabelRows, Choice, Filter, MergeContext, MergedKeyset, MergedLists, MergedTables, MoreRows,
    Translation, TranslationContext, Vocabulary, add_rows_below, keys_of, merge_symbols,
};
use crate::output::Draft;
use crate::progress::{Observer, Phase, Watch};
use crate::{CompactError, CompactOptions, memory, meta};

/// Merges blocks, hands the outputs to `publish`, if it is given, and then the remaps to `publish_remap`.
///
/// The observer is asked before each step and may cancel the run.
pub(crate) fn run<E: From<CompactError>>(
    inputs: &[BlockView<'_>],
    options: &CompactOptions,
    spool: &mut Spool<'_>,
    planned_series: u32,
    observer: &dyn Observer,
    publish: Option<impl FnMut(u32, Draft<'_>) -> Result<BlockId, E>>,
    publish_remap: Option<PublishRemap<'_, E>>,
) -> Result<Summary, E> {
    let mut summary = Summary::default();
    let watch = &Watch::new(observer);
    check_options(options)?;
    let estimate =
        Estimate::from_catalogues(inputs, options, planned_series, publish.is_some(), publish_remap.is_some());
    let estimate = match estimate {
        Ok(estimate) => estimate,
        Err(error) => {
            // The input is damaged: verification names the rule that it breaks.
            Verified::from_inputs(inputs, watch)?;
            return Err(error.into());
        }
    };
    memory::check(estimate.of_labels(), options)?;
    let Estimate { planning, fixed, .. } = estimate;
    let started = Instant::now();
    let verified = Verified::from_inputs(inputs, watch)?;
    summary.timings.add(Phase::Verify, started.elapsed());

    let started = Instant::now();
    let (metas, metrics) = meta::copy(inputs)?;
    let (mut merged_meta, lifted) = meta::merge(&metas, options)?;
    let is_one_output = options.max_series_per_block.is_none() && options.shards.is_none();
    if let [only] = inputs
        && is_one_output
        && publish.is_some()
    {
        let carried = only.carried_sections().map_err(|source| CompactError::Input { input: 0, source })?;
        merged_meta.carried = carried.map(Arc::new);
    }
    check_names(merged_meta.policy, options)?;
    let new_names = options.rewrite.renamed().map(|(_, new)| new);
    let new_symbols: Vec<&str> = new_names.chain(lifted.labels().flat_map(|(name, value)| [name, value])).collect();
    let symbols = merge_symbols(inputs, &new_symbols)?;
    watch.progress(Phase::Tables, 1, 4)?;
    let vocabulary = Vocabulary::merge(inputs, symbols, &options.rewrite, &lifted)?;
    watch.progress(Phase::Tables, 2, 4)?;
    let changes = options.rewrite.key_changes(&vocabulary);
    let filter = filter(merged_meta.policy, options, &vocabulary);
    let merged = MergedLabels {
        inputs,
        metas: &metas,
        vocabulary: &vocabulary,
        changes: &changes,
        lifted: &lifted.codes(&vocabulary),
    };
    let labels = AllLabelRows::new(inputs, &vocabulary);
    let adopted = match planning {
        Planning::Plain | Planning::Whole => merged.adopt(Choice::Plain)?,
        Planning::Adopted => merged.adopt(Choice::OfInputs)?,
        Planning::Sampled => {
            let plain = merged.adopt(Choice::Plain)?;
            let (adopted, forecast) = merged.learn(&plain, &labels, &filter, planned_series, watch)?;
            let annotations = &mut merged_meta.annotations;
            let place = annotations.partition_point(|(key, _)| key.as_str() < PLAN_KEY);
            annotations.insert(place, (PLAN_KEY.to_owned(), forecast.to_string()));
            adopted
        }
    };
    // Memory of all later steps, and of those until the rows are merged.
    let fixed = fixed.saturating_add(memory::vocabulary(&vocabulary));
    let label_rows = memory::label_rows(inputs, &vocabulary, &adopted)?;
    let until_rows = fixed.saturating_add(label_rows).saturating_add(memory::translation(&adopted));
    memory::check(until_rows, options)?;
    let context = merged.context(&adopted, &labels);
    let tables = {
        let more = more_rows(context, &adopted)?;
        memory::check(until_rows.saturating_add(memory::merging_tables(inputs, &adopted, &more)?), options)?;
        MergedTables::merge(inputs, &vocabulary, &adopted, &more)?
    };
    let of_tables = memory::tables(&tables);
    watch.progress(Phase::Tables, 3, 4)?;
    let lists = MergedLists::merge(inputs, &vocabulary, &adopted, &tables)?;
    memory::check(until_rows.saturating_add(of_tables + memory::merging_lists(&lists)), options)?;
    let table_masks = if filter.keeps_all() { Vec::new() } else { filter.table_masks(&adopted.plan, &tables) };
    let labels_for_remaps = AllLabelRows::new(inputs, &vocabulary);
    let publishing = MergeContext {
        context: merged.context(&adopted, &labels_for_remaps),
        keysets: &adopted.keysets,
        tables: &tables,
        lists: &lists,
        filter: &filter,
        table_masks: &table_masks,
    };
    let merging = MergeContext { context, ..publishing };
    watch.progress(Phase::Tables, 4, 4)?;
    summary.timings.add(Phase::Tables, started.elapsed());

    let started = Instant::now();
    let is_all_used = filter.keeps_all() && options.rewrite.is_empty() && lifted.is_empty() && is_one_output;
    let with_codes = matches!(planning, Planning::Adopted | Planning::Sampled) || !is_all_used;
    let merged = MergedOutputs::merge(&merging, &adopted, options, with_codes, spool, watch)?;
    // Only remaps read labels and unite lists again.
    drop(labels);
    if publish_remap.is_some() {
        lists.forget_unions()
    } else {
        lists.keep_members_only()
    }
    summary.timings.add(Phase::Rows, started.elapsed());

    summary.count(&merged, verified.series_count);
    let unknown_sections = inputs.iter().flat_map(BlockView::unknown_sections);
    summary.optional_sections_left_out = unknown_sections.count();
    summary.unmatched = unmatched(options, &filter, &vocabulary);
    verified.balance(&merged.outputs, &merged.tally, &summary)?;
    let Some(publish) = publish else { return Ok(summary) };
    memory::check(fixed.saturating_add(of_tables + memory::lists(&lists)), options)?;

    let replan = planning == Planning::Whole;
    let planner_version = if replan { Layout::Factored.planner_version() } else { adopted.planner_version };
    let meta = BlockMeta { planner_version, metrics, ..merged_meta };
    let publication = Publication {
        merging: &publishing,
        options,
        meta: &meta,
        contents: spool.contents(),
        watch,
        replan,
        is_all_used,
        has_remaps: publish_remap.is_some(),
    };
    let known = publication.publish(&merged, &mut summary, publish)?;
    summary.optional_sections_left_out -= summary.optional_sections_copied;
    if let Some(publish_remap) = publish_remap {
        publication.publish_remaps(&known, &mut summary, publish_remap)?;
    }
    Ok(summary)
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
fn more_rows(context: TranslationContext<'_>, adopted: &Adopted) -> Result<MoreRows, CompactError> {
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
