//! [`Fingerprints`]: the fingerprints of the series of a scan.

use std::ops::Range;

use arrow_array::FixedSizeBinaryArray;
use arrow_buffer::Buffer;
use chronoxide_format::SeriesRef;
use chronoxide_format::identity::Fingerprint;
use chronoxide_select::{Labels, Limits, Selection};

use crate::{BlockTable, TableError};

/// The fingerprints of the series of a scan. All of them are computed at once: the strings of a dictionary are hashed,
/// and the rows of a table multiplied, once for all batches.
#[derive(Debug, Default)]
pub(crate) struct Fingerprints {
    /// First ref of each run, and the number of series before the run.
    runs: Vec<(SeriesRef, usize)>,
    fingerprints: Vec<Fingerprint>,
}

impl Fingerprints {
    pub(crate) fn new(table: &BlockTable, selection: &Selection) -> Result<Self, TableError> {
        let fingerprints =
            table.indexed().search(Limits::default(), |searcher| searcher.fingerprints(selection, Labels::All))?;
        let mut before = 0;
        let runs = selection.ranges().map(|run| {
            let place = (run.start, before);
            before += (run.end.0 - run.start.0) as usize;
            place
        });
        Ok(Self { runs: runs.collect(), fingerprints })
    }

    /// Returns the fingerprints of runs, which must be of the selection.
    pub(crate) fn array(&self, runs: &[Range<SeriesRef>], len: usize) -> Result<FixedSizeBinaryArray, TableError> {
        let mut bytes = Vec::with_capacity(len * size_of::<[u8; 16]>());
        for run in runs {
            let after = self.runs.partition_point(|(start, _)| *start <= run.start);
            let Some(&(start, before)) = after.checked_sub(1).and_then(|place| self.runs.get(place)) else { continue };
            let first = before + (run.start.0 - start.0) as usize;
            let found = self.fingerprints.get(first..first + (run.end.0 - run.start.0) as usize).unwrap_or_default();
            found.iter().for_each(|fingerprint| bytes.extend(fingerprint.to_bytes()));
        }
        Ok(FixedSizeBinaryArray::try_new(16, Buffer::from_vec(bytes), None)?)
    }
}
