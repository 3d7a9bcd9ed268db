//! The balance of a compaction: series and fingerprints of the inputs equal those of the outputs, duplicates and
//! dropped series together.

use chronoxide_format::identity::Fingerprint;
use chronoxide_format::view::BlockView;
use rayon::prelude::*;

use super::Summary;
use crate::error::InInput;
use crate::merge::Tally;
use crate::output::OutputRows;
use crate::progress::{Phase, Watch};
use crate::{CompactError, verification};

/// Sums over all inputs, from their verification.
pub(super) struct Totals {
    pub series_count: u64,
    pub fingerprint: Fingerprint,
}

impl Totals {
    /// Verifies the inputs on all threads.
    ///
    /// # Errors
    /// The first input, in the order of the inputs, that is damaged or has a feature that forbids compaction.
    pub(super) fn from_inputs(inputs: &[BlockView<'_>], watch: &Watch<'_>) -> Result<Self, CompactError> {
        for (input, view) in inputs.iter().enumerate() {
            if let Some(reason) = view.read_only() {
                return Err(CompactError::ReadOnly { input, reason });
            }
        }
        let mut totals = Self { series_count: 0, fingerprint: Fingerprint::ZERO };
        let mut first = 0;
        for group in inputs.chunks(rayon::current_num_threads() * 4) {
            watch.progress(Phase::Verify, first as u64, inputs.len() as u64)?;
            let results: Vec<_> = group.par_iter().map(verification::verify).collect();
            for (input, result) in (first..).zip(results) {
                let content = result.in_input(input)?;
                totals.series_count += content.series_count;
                totals.fingerprint = totals.fingerprint + content.fingerprint;
            }
            first += group.len();
        }
        Ok(totals)
    }

    /// Compares counts and fingerprints of the inputs with those of the outputs and of series that are in none.
    ///
    /// # Errors
    /// [`CompactError::Unbalanced`]: an input changed since its verification, or merging is wrong.
    pub(super) fn balance(&self, outputs: &[OutputRows], tally: &Tally, summary: &Summary) -> Result<(), CompactError> {
        let written: Fingerprint = outputs.iter().map(OutputRows::fingerprint).sum();
        let not_written = summary.dropped + summary.other_shards;
        let (before, after) = tally.rewritten;
        let is_balanced = self.fingerprint + after
            == written + tally.duplicates.sum + tally.dropped.sum + tally.other_shards.sum + before;
        if !is_balanced || summary.series_in != summary.series_out + summary.duplicates + not_written {
            return Err(CompactError::Unbalanced {
                series_in: summary.series_in,
                duplicates: summary.duplicates,
                dropped: not_written,
                series_out: summary.series_out,
                fingerprints: if is_balanced { "equal" } else { "different" },
            });
        }
        Ok(())
    }
}
