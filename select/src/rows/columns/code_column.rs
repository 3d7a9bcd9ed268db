//! [`CodeColumn`]: value codes of one label of consecutive series.

use super::CodeSink;
use crate::Ranges;

/// The value codes of one label of some series, and the places of series without the label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeColumn {
    /// One per series, or none as long as no series has the label.
    codes: Vec<u32>,
    absent: Ranges,
    /// Number of series.
    len: u32,
    /// Number of series to make room for.
    capacity: u32,
}

impl CodeColumn {
    /// Creates a column that makes room for this many series when the first has the label.
    #[must_use]
    pub fn with_capacity(capacity: u32) -> Self {
        Self { capacity, ..Self::default() }
    }

    /// Returns the number of series.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns true if the column has no series.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns one code per series: a position in the dictionary of the key. It is 0 for a series without the label. If
    /// no series has the label, there are no codes.
    #[must_use]
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// Returns the positions of the series without the label.
    #[must_use]
    pub fn absent(&self) -> &Ranges {
        &self.absent
    }

    /// Returns the [codes](Self::codes) and the positions of the series without the label.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u32>, Ranges) {
        (self.codes, self.absent)
    }

    /// Makes codes for the series so far, which do not have the label.
    #[inline]
    fn begin(&mut self) {
        if self.codes.is_empty() {
            self.codes.reserve(self.capacity as usize);
            self.codes.resize(self.len as usize, 0);
        }
    }
}

impl CodeSink for CodeColumn {
    fn push_absent(&mut self, count: u32) {
        let end = self.len.saturating_add(count);
        self.absent.push(self.len..end);
        self.len = end;
        if !self.codes.is_empty() {
            self.codes.resize(end as usize, 0);
        }
    }

    fn push_codes(&mut self, codes: &[u32]) {
        self.begin();
        self.codes.extend_from_slice(codes);
        self.len = self.codes.len() as u32;
    }

    fn push_runs(&mut self, runs: &[u32], codes: &[u32]) {
        /// Most runs are short. Writing this many codes needs no loop; the next run replaces those that are too many.
        const SHORT: usize = 8;
        self.begin();
        let start = self.codes.len();
        let added: usize = runs.iter().map(|&run| run as usize).sum();
        self.codes.resize(start + added, 0);
        let mut rest = self.codes.get_mut(start..).unwrap_or_default();
        for (&run, &code) in runs.iter().zip(codes) {
            let run = run as usize;
            match rest.first_chunk_mut::<SHORT>() {
                Some(chunk) if run <= SHORT => *chunk = [code; SHORT],
                _ => rest.get_mut(..run).unwrap_or_default().fill(code),
            }
            rest = rest.get_mut(run..).unwrap_or_default();
        }
        self.len = self.codes.len() as u32;
    }
}
