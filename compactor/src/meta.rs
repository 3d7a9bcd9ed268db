//! What the output says of itself.

use std::collections::{BTreeMap, BTreeSet};

use chronoxide_format::build::BlockMeta;
use chronoxide_format::identity::{BlockId, job_id};
use chronoxide_format::view::{BlockView, Job, Meta, TimeRange};

use chronoxide_reader::lineage::{Lineage, ancestors};

use crate::{CompactError, CompactOptions, UserPairs};

/// Merges what the inputs say of themselves.
pub(crate) fn merge(inputs: &[BlockView<'_>], options: &CompactOptions) -> Result<BlockMeta, CompactError> {
    let at = |input| move |source| CompactError::Input { input, source };
    let metas = (inputs.iter().enumerate())
        .map(|(input, view)| view.meta().map_err(at(input)))
        .collect::<Result<Vec<Meta<'_>>, _>>()?;
    let mut merged = BlockMeta {
        time: union(metas.iter().map(Meta::time)),
        window: union(metas.iter().map(Meta::window)),
        ..BlockMeta::default()
    };
    let mut pairs = BTreeMap::new();
    let mut lineages = Vec::with_capacity(inputs.len());
    for (input, meta) in metas.iter().enumerate() {
        let mut external = Vec::new();
        for pair in meta.external_labels().map_err(at(input))? {
            let (key, value) = pair.map_err(at(input))?;
            external.push((key.to_owned(), value.to_owned()));
        }
        if input == 0 {
            merged.external_labels = external;
            merged.policy = meta.policy();
        } else if merged.external_labels != external {
            return Err(CompactError::Differs { input, what: "external labels" });
        } else if merged.policy != meta.policy() {
            return Err(CompactError::Differs { input, what: "label policy" });
        }
        for row in inputs[input].metric_metadata().map_err(at(input))?.iter() {
            merged.metrics.insert(row.map_err(at(input))?);
        }
        lineages.push(Lineage::of(&inputs[input]).map_err(at(input))?);
    }
    let mut order: Vec<(usize, &Meta<'_>)> = metas.iter().enumerate().collect();
    if options.user_pairs == UserPairs::First {
        // Ids are in the order of the time of data, whatever that of the arguments is.
        order.sort_by_key(|&(input, _)| inputs[input].block_id());
    }
    for (input, meta) in order {
        for pair in meta.user_pairs().map_err(at(input))? {
            let (key, value) = pair.map_err(at(input))?;
            let known = *pairs.entry(key).or_insert(value);
            if known != value && options.user_pairs == UserPairs::MustAgree {
                return Err(CompactError::Differs { input, what: "user pairs" });
            }
        }
    }
    if options.user_pairs == UserPairs::Drop {
        pairs.clear();
    }
    merged.user_pairs = pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let parents: BTreeSet<BlockId> = inputs.iter().map(BlockView::block_id).collect();
    let parents: Vec<BlockId> = parents.into_iter().collect();
    merged.job = Some(Job { id: job_id(&parents, &options.describe()), output: 0, output_count: 1 });
    if !(options.keeps_inputs && options.leaves_out()) {
        merged.parents = parents;
        merged.ancestors = ancestors(&lineages).into_iter().collect();
    }
    Ok(merged)
}

/// The range that spans all ranges; unknown if one of them is.
fn union(ranges: impl Iterator<Item = Option<TimeRange>>) -> Option<TimeRange> {
    ranges
        .reduce(|a, b| {
            let (a, b) = (a?, b?);
            Some(TimeRange { start: a.start.min(b.start), end: a.end.max(b.end) })
        })
        .flatten()
}
