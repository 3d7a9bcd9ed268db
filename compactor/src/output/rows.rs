//! Merged rows of one output: [`OutputRows`].

use std::collections::BTreeMap;

use chronoxide_format::identity::Fingerprint;

use super::chunk::{Chunk, Uses};

/// Merged rows of one output.
#[derive(Debug, Default)]
pub(crate) struct OutputRows {
    /// Chunks in the order in which they are written: by keyset.
    pub chunks: Vec<Chunk>,
    /// Uses of the rows of each keyset.
    pub keysets: BTreeMap<usize, Uses>,
    /// Number of series of all rows.
    pub series: u64,
}

impl OutputRows {
    /// Returns the fingerprint of all series.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.keysets.values().map(|uses| uses.fingerprint).sum()
    }
}
