//! [`Labels`]: merged symbols, keys and values.

use chronoxide_format::policy::LabelPolicy;
use chronoxide_select::Selector;

use super::pipeline::Pipeline;
use super::verified::Verified;
use crate::merge::{Filter, KeyChanges, MergedLabels, Vocabulary, merge_symbols};
use crate::progress::Phase;
use crate::{CompactError, CompactOptions};

/// The second stage: merged labels.
pub(super) struct Labels<'a> {
    pub vocabulary: Vocabulary<'a>,
    pub changes: KeyChanges,
    /// Labels that are added to all series of each input: keys and value codes.
    pub lifted: Vec<Vec<(u32, u32)>>,
}

impl<'a> Labels<'a> {
    /// Merges symbols, keys and values of the inputs.
    ///
    /// # Errors
    /// An input is damaged, or the compaction was cancelled.
    pub(super) fn merge(pipeline: &Pipeline<'a>, verified: &'a Verified<'a>) -> Result<Self, CompactError> {
        let (inputs, options, lifted) = (pipeline.inputs(), pipeline.options(), &verified.lifted);
        pipeline.time(Phase::Tables, || {
            let new_names = options.rewrite.renamed().map(|(_, new)| new);
            let lifted_symbols = lifted.labels().flat_map(|(name, value)| [name, value]);
            let new_symbols: Vec<&str> = new_names.chain(lifted_symbols).chain(verified.hashes.all()).collect();
            let symbols = merge_symbols(inputs, &new_symbols)?;
            pipeline.watch.progress(Phase::Tables, 1, 4)?;
            let vocabulary = Vocabulary::merge(inputs, symbols, &options.rewrite, (lifted, &verified.hashes))?;
            pipeline.watch.progress(Phase::Tables, 2, 4)?;
            Ok(Self {
                changes: KeyChanges::new(&options.rewrite, &vocabulary),
                lifted: vocabulary.lifted(lifted),
                vocabulary,
            })
        })
    }

    /// Returns the labels, from which keysets and their plans follow.
    pub(super) fn merged<'b>(&'b self, pipeline: &Pipeline<'b>, verified: &'b Verified<'b>) -> MergedLabels<'b> {
        let Self { vocabulary, changes, lifted } = self;
        MergedLabels { inputs: pipeline.inputs(), metas: &verified.metas, vocabulary, changes, lifted }
    }
}

/// Returns the filter of the options. Selectors see values as the label policy has cut them.
pub(super) fn filter(policy: LabelPolicy, options: &CompactOptions, vocabulary: &Vocabulary<'_>) -> Filter {
    let under = |selectors: &[Selector]| -> Vec<Selector> {
        selectors.iter().map(|selector| selector.under(&policy)).collect()
    };
    let shard = options.shards.as_ref().and_then(|shards| Some((shards.by.as_str(), shards.only?)));
    Filter::new(&under(&options.keep), &under(&options.drop), shard, vocabulary)
}
