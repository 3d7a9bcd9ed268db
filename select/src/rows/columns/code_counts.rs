//! [`CodeCounts`]: the number of series of each value of one label.

use super::CodeSink;

/// The number of series that have each value code of one label, and of those without the label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeCounts {
    counts: Vec<u64>,
    absent: u64,
    /// Series whose code is beyond the dictionary, which only damaged blocks have.
    beyond: u64,
}

impl CodeCounts {
    /// Creates counts for a label with this many distinct values.
    #[must_use]
    pub fn new(cardinality: u32) -> Self {
        Self { counts: vec![0; cardinality as usize], absent: 0, beyond: 0 }
    }

    /// Returns the number of series of each value, by its code: a position in the dictionary of the key.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    pub(crate) fn into_counts(self) -> Vec<u64> {
        self.counts
    }

    /// Returns the number of series without the label.
    #[must_use]
    pub fn absent(&self) -> u64 {
        self.absent
    }

    /// Returns true if a code was beyond the dictionary.
    pub(super) fn has_unknown_codes(&self) -> bool {
        self.beyond > 0
    }

    #[inline]
    fn add(&mut self, code: u32, count: u32) {
        let place = self.counts.get_mut(code as usize).unwrap_or(&mut self.beyond);
        *place += u64::from(count);
    }
}

impl CodeSink for CodeCounts {
    fn push_absent(&mut self, count: u32) {
        self.absent += u64::from(count);
    }

    fn push_codes(&mut self, codes: &[u32]) {
        codes.iter().for_each(|&code| self.add(code, 1));
    }

    fn push_runs(&mut self, runs: &[u32], codes: &[u32]) {
        runs.iter().zip(codes).for_each(|(&run, &code)| self.add(code, run));
    }
}
