//! Meta of the outputs, merged from the inputs.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_format::PLAN_KEY;
use chronoxide_format::identity::{BlockId, job_id};
use chronoxide_format::metadata::MetricSet;
use chronoxide_format::shard::SHARD_KEY;
use chronoxide_format::view::{BlockView, Job, Meta, OwnedMeta, TimeRange};
use chronoxide_format::write::BlockMeta;
use chronoxide_reader::lineage::{Lineage, REWRITTEN_KEY, ancestors};

use crate::error::InInput;
use crate::external::{self, Lifted};
use crate::{AnnotationPolicy, CompactError, CompactOptions, Origin};

/// Maximum bytes of the text that describes dropped and rewritten labels and series. A longer text is cut.
const MAX_REWRITTEN_LEN: usize = 1024;

/// Copies meta of the verified inputs, and unites their metric metadata.
pub(crate) fn copy(inputs: &[BlockView<'_>]) -> Result<(Vec<OwnedMeta>, MetricSet), CompactError> {
    let mut metrics = MetricSet::new();
    let mut copies = Vec::with_capacity(inputs.len());
    for (input, view) in inputs.iter().enumerate() {
        let mut copy = view.to_owned_meta().in_input(input)?;
        for row in copy.metric_metadata().in_input(input)?.iter() {
            metrics.insert(row.in_input(input)?);
        }
        copy.forget_metric_metadata();
        copies.push(copy);
    }
    Ok((copies, metrics))
}

/// Merges the meta of the inputs, without metric metadata.
///
/// Reads copies that were checked against the block ids, since the content fingerprint does not cover meta.
pub(crate) fn merge(inputs: &[OwnedMeta], options: &CompactOptions) -> Result<(BlockMeta, Lifted), CompactError> {
    let metas = (inputs.iter().enumerate())
        .map(|(input, owned)| owned.meta().in_input(input))
        .collect::<Result<Vec<Meta<'_>>, _>>()?;
    let mut merged = BlockMeta {
        time: union(metas.iter().map(Meta::time)),
        window: union(metas.iter().map(Meta::window)),
        archive: options.archive,
        ..BlockMeta::default()
    };
    let mut external_labels = Vec::with_capacity(inputs.len());
    let mut pairs = BTreeMap::new();
    let mut lineages = Vec::with_capacity(inputs.len());
    for (input, meta) in metas.iter().enumerate() {
        let external = external::labels_of(meta, options).in_input(input)?;
        if external.iter().any(|(name, _)| options.rewrite.hash_labels.names().contains(name)) {
            let what = "an input has an external label with the name of a label that is to be hashed";
            return Err(CompactError::Options { what });
        }
        if !options.lift_external_labels && external_labels.first().is_some_and(|first| *first != external) {
            return Err(CompactError::Differs { input, what: "external labels" });
        }
        external_labels.push(external);
        if input == 0 {
            merged.policy = meta.policy();
        } else if merged.policy != meta.policy() {
            return Err(CompactError::Differs { input, what: "label policy" });
        }
        lineages.push(Lineage::from_meta(inputs[input].block_id(), meta).in_input(input)?);
    }
    let mut order: Vec<(usize, &Meta<'_>)> = metas.iter().enumerate().collect();
    if options.annotations == AnnotationPolicy::First {
        // Ids are in the order of the data's time, whatever the order of the arguments.
        order.sort_by_key(|&(input, _)| inputs[input].block_id());
    }
    let mut rewritings = BTreeSet::new();
    for (input, meta) in order {
        for pair in meta.annotations().in_input(input)? {
            let (key, value) = pair.in_input(input)?;
            if key == REWRITTEN_KEY {
                let hash_labels = &options.rewrite.hash_labels;
                if hash_labels.is_in(value) {
                    return Err(CompactError::Options { what: "an input has hashes of a label that is to be hashed" });
                }
                // Selectors of an earlier run may name values that are hashed now.
                if hash_labels.is_empty() {
                    rewritings.insert(value.to_owned());
                }
                continue;
            }
            if [PLAN_KEY, SHARD_KEY].contains(&key) {
                // The output has another plan, and may have series of other shards.
                continue;
            }
            let known = *pairs.entry(key).or_insert(value);
            if known != value && options.annotations == AnnotationPolicy::MustAgree {
                return Err(CompactError::Differs { input, what: "annotations" });
            }
        }
    }
    if options.annotations == AnnotationPolicy::Drop {
        pairs.clear();
    }
    if options.leaves_out() {
        rewritings.insert(options.describe_rewriting(true));
    }
    let rewritten = Vec::from_iter(rewritings).join("; ");
    let rewritten = &rewritten[..rewritten.floor_char_boundary(MAX_REWRITTEN_LEN)];
    if !rewritten.is_empty() {
        pairs.insert(REWRITTEN_KEY, rewritten);
    }
    merged.annotations = pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let parents: BTreeSet<BlockId> = inputs.iter().map(OwnedMeta::block_id).collect();
    let parents: Vec<BlockId> = parents.into_iter().collect();
    merged.job = Some(Job { id: job_id(&parents, &options.describe()), output: 0, output_count: 1 });
    if let Some(Origin { job, parents, ancestors }) = &options.origin {
        merged.job = Some(*job);
        merged.parents.clone_from(parents);
        merged.ancestors.clone_from(ancestors);
    } else if !(options.keeps_inputs && options.leaves_out()) {
        merged.parents = parents;
        merged.ancestors = ancestors(&lineages).into_iter().collect();
    }
    if !options.lift_external_labels {
        merged.external_labels = external_labels.first().cloned().unwrap_or_default();
    }
    let lifted = Lifted::new(external_labels, merged.policy, options)?;
    Ok((merged, lifted))
}

/// Returns the range that spans all ranges; unknown if one of them is unknown.
fn union(ranges: impl Iterator<Item = Option<TimeRange>>) -> Option<TimeRange> {
    ranges
        .reduce(|a, b| {
            let (a, b) = (a?, b?);
            Some(TimeRange { start: a.start.min(b.start), end: a.end.max(b.end) })
        })
        .flatten()
}
