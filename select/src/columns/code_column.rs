//! [`CodeColumn`]: value codes of one label of consecutive series.

use std::iter;

use crate::Ranges;

/// The value codes of one label of some series, and the places of series without the label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeColumn {
    codes: Vec<u32>,
    absent: Ranges,
}

impl CodeColumn {
    /// Returns one code per series: a position in the dictionary of the key. It is 0 for a series without the label.
    #[must_use]
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// Returns the positions of the series without the label.
    #[must_use]
    pub fn absent(&self) -> &Ranges {
        &self.absent
    }

    /// Returns the codes and the positions of the series without the label.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u32>, Ranges) {
        (self.codes, self.absent)
    }

    /// Appends series without the label.
    pub(super) fn push_absent(&mut self, count: u32) {
        let start = self.codes.len() as u32;
        self.absent.push(start..start.saturating_add(count));
        self.codes.extend(iter::repeat_n(0, count as usize));
    }

    /// Appends one code per series.
    pub(super) fn push_codes(&mut self, codes: &[u32]) {
        self.codes.extend_from_slice(codes);
    }

    /// Appends a code `count` times.
    #[inline]
    pub(super) fn push_run(&mut self, code: u32, count: u32) {
        self.codes.extend(iter::repeat_n(code, count as usize));
    }
}
