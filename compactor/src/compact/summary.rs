//! Counts of a compaction: [`Summary`].

use chronoxide_format::identity::Fingerprint;

use super::packed::MergedOutputs;
use crate::merge::{Filter, Vocabulary};
use crate::progress::Timings;
use crate::{CompactOptions, HashedLabel, Rewrite};

/// Counts of a compaction.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// Series of all inputs.
    pub series_in: u64,
    /// Series that equal another one: in another input, in the same input given twice, or after labels were dropped or
    /// renamed.
    pub duplicates: u64,
    /// Sum of the fingerprints of these duplicates.
    pub duplicates_sum: Fingerprint,
    /// Series that selectors dropped, or that have no label left.
    pub dropped: u64,
    /// Series of shards that this run does not write.
    pub other_shards: u64,
    /// Series of all outputs.
    pub series_out: u64,
    /// Number of outputs.
    pub outputs: u32,
    /// Number of optional sections of an input that this version does not know and that the output has, since its
    /// series and their refs are the same.
    pub optional_sections_copied: usize,
    /// Number of other optional sections of the inputs that this version does not know; outputs do not have them.
    pub optional_sections_left_out: usize,
    /// Selectors that matched no series, and labels to drop or rename that no series had, as text.
    pub unmatched: Vec<String>,
    /// Labels whose values were hashed.
    pub hashed: Vec<HashedLabel>,
    /// Duration of each phase.
    pub timings: Timings,
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            series_in: 0,
            duplicates: 0,
            duplicates_sum: Fingerprint::ZERO,
            dropped: 0,
            other_shards: 0,
            series_out: 0,
            outputs: 0,
            optional_sections_copied: 0,
            optional_sections_left_out: 0,
            unmatched: Vec::new(),
            hashed: Vec::new(),
            timings: Timings::default(),
        }
    }
}

impl Summary {
    /// Sets the counts of series and outputs.
    pub(super) fn count(&mut self, merged: &MergedOutputs, series_in: u64) {
        self.series_in = series_in;
        self.duplicates = merged.tally.duplicates.series;
        self.duplicates_sum = merged.tally.duplicates.sum;
        self.dropped = merged.tally.dropped.series;
        self.other_shards = merged.tally.other_shards.series;
        self.series_out = merged.outputs.iter().map(|output| output.series).sum();
        self.outputs = merged.outputs.len() as u32;
    }
}

/// A merged block in memory.
#[derive(Clone, Debug)]
pub struct Compacted {
    /// The block.
    pub block: Vec<u8>,
    /// Counts.
    pub summary: Summary,
}

/// Returns the selectors that matched nothing, and the rewritten labels that no input has.
pub(super) fn unmatched(options: &CompactOptions, filter: &Filter, vocabulary: &Vocabulary<'_>) -> Vec<String> {
    let keep = options.keep.iter().map(|selector| format!("keep {selector}"));
    let selectors = keep.chain(options.drop.iter().map(|selector| format!("drop {selector}"))).enumerate();
    let mut unmatched: Vec<String> =
        selectors.filter(|(number, _)| !filter.has_matched(*number)).map(|(_, selector)| selector).collect();
    // The vocabulary has new names of labels even if no input has the old name.
    let is_absent = |name: &str| vocabulary.key(name).is_none_or(|key| !vocabulary.is_in_an_input(key));
    let Rewrite { drop_labels, rename_labels, hash_labels: _ } = &options.rewrite;
    unmatched.extend(drop_labels.iter().filter(|name| is_absent(name)).map(|name| format!("drop label {name:?}")));
    let renamed = rename_labels.iter().filter(|(old, _)| is_absent(old));
    unmatched.extend(renamed.map(|(old, new)| format!("rename label {old:?} to {new:?}")));
    unmatched
}
