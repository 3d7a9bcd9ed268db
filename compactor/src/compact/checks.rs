//! Checks that need no merging: contradictory options, names that the label policy does not allow, and the estimate of
//! memory.

use chronoxide_format::policy::{LabelPolicy, is_reserved_name};
use chronoxide_format::view::BlockView;
use chronoxide_planner::Layout;

use super::planning::Planning;
use crate::memory::{InputMemory, Need, Steps};
use crate::merge::{MAX_SELECTORS, has_plan};
use crate::{CompactError, CompactOptions, Observer, Rewrite};

/// Inputs and options of a compaction.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub inputs: &'a [BlockView<'a>],
    pub options: &'a CompactOptions,
    pub planned_series: u32,
    pub observer: &'a dyn Observer,
}

impl Request<'_> {
    /// Returns the source of the plan of the outputs, and the memory of the merge until something is translated. Reads
    /// the catalogues of the inputs, which need not be verified.
    ///
    /// # Errors
    /// An input is damaged.
    pub(super) fn foresee(self, has_outputs: bool, has_remaps: bool) -> Result<(Planning, Need), CompactError> {
        let Request { inputs, options, planned_series, .. } = self;
        let memory = InputMemory::of_views(inputs, options.archive)?;
        let planning = match options.layout {
            Layout::Factored if !has_outputs || (!options.replan && has_plan(inputs)?) => Planning::Adopted,
            Layout::Factored if memory.series() > planned_series.into() => Planning::Sampled,
            Layout::Factored => Planning::Whole,
            _ => Planning::Plain,
        };
        let is_changing = !options.rewrite.is_empty();
        Ok((planning, memory.merge(&Steps { planning, planned_series, has_outputs, has_remaps, is_changing })))
    }
}

/// Refuses a compaction whose first steps could exceed the memory limit. Reads no symbols: the arenas of archives need
/// not be decoded.
pub(crate) fn check_memory(request: Request<'_>, has_outputs: bool, has_remaps: bool) -> Result<(), CompactError> {
    let need = match request.foresee(has_outputs, has_remaps) {
        Ok((_, need)) => need,
        // An input is damaged. Its verification names the rule that it breaks, and needs its arena.
        Err(_) => {
            let packed = request.inputs.iter().filter_map(|view| view.packed().ok().flatten());
            let bytes = packed.map(|packed| packed.content_len()).fold(0, u64::saturating_add);
            Need { least: bytes, most: bytes }
        }
    };
    need.check(request.options)
}

/// Refuses options that contradict each other.
pub(super) fn check_options(options: &CompactOptions) -> Result<(), CompactError> {
    let refused = |what| Err(CompactError::Options { what });
    if options.keep.len() + options.drop.len() > MAX_SELECTORS {
        return Err(CompactError::TooManySelectors { most: MAX_SELECTORS });
    }
    if options.origin.is_some() && (options.shards.is_some() || options.max_series_per_block.is_some()) {
        return refused("a lineage can be set for one output only");
    }
    if options.external_labels.iter().any(|(_, value)| value.is_empty()) {
        return refused("an external label has an empty value; leave the label out instead");
    }
    if options.rewrite.renamed().any(|(_, new)| is_reserved_name(new)) {
        return refused("names of labels that begin with U+0000 are reserved");
    }
    let Rewrite { drop_labels, rename_labels, hash_labels } = &options.rewrite;
    for name in hash_labels.names() {
        if name == "__name__" {
            return refused("the name of a metric cannot be hashed: its metadata would still have it");
        }
        if drop_labels.contains(name) || rename_labels.iter().any(|(old, new)| old == name || new == name) {
            return refused("a label that is hashed cannot be dropped or renamed, nor replaced by another");
        }
    }
    let Some(shards) = &options.shards else { return Ok(()) };
    let is_by = |name: &String| *name == shards.by;
    if shards.only.is_some() && options.max_series_per_block.is_some() {
        return refused(
            "one shard of a job cannot be cut into several blocks: the job's other runs could not know its number of outputs",
        );
    }
    if hash_labels.names().iter().any(is_by) {
        return refused("the label that series are sharded by cannot be hashed");
    }
    if drop_labels.iter().any(is_by) || rename_labels.iter().any(|(old, new)| is_by(old) || is_by(new)) {
        return refused("the label that series are sharded by cannot be dropped or renamed");
    }
    Ok(())
}

/// Refuses new names of labels that the policy of the blocks does not allow.
pub(super) fn check_names(policy: LabelPolicy, options: &CompactOptions) -> Result<(), CompactError> {
    let max_len = policy.max_name_len() as usize;
    match options.rewrite.renamed().find(|(_, new)| new.len() > max_len || new.is_empty()) {
        Some(_) => Err(CompactError::Options {
            what: "the new name of a label is empty, or longer than the label policy of the blocks allows",
        }),
        None => Ok(()),
    }
}
