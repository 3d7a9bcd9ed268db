//! Postings of a key, made from its column of all series.

use chronoxide_format::{KeyId, SeriesRef};

use super::{CodeSink, ColumnReader};
use crate::rows::postings::{Postings, PostingsWriter};
use crate::rows::runs::SERIES_PER_READ;
use crate::{Searcher, SelectError};

/// Series that both passes read in the time in which a query looks at a keyset: 15 to 30 ns per series, and some 500 ns
/// per keyset.
const SERIES_PER_KEYSET: u64 = 32;
/// Postings are made when queries did this part of their cost without: soon, since a key that was asked for a dozen
/// values will be asked for more.
const PART_OF_COST: u64 = 8;
/// Maximum number of series per byte of the block, against blocks of billions of series, whose postings would take as
/// long as they are large.
const MAX_SERIES_PER_BYTE: u64 = 64;

impl CodeSink for PostingsWriter {
    fn push_absent(&mut self, count: u32) {
        self.skip(count);
    }

    fn push_codes(&mut self, codes: &[u32]) {
        codes.iter().for_each(|&code| self.add(code, 1));
    }

    fn push_runs(&mut self, runs: &[u32], codes: &[u32]) {
        runs.iter().zip(codes).for_each(|(&run, &code)| self.add(code, run));
    }
}

impl Searcher<'_, '_> {
    /// Counts the keysets that a query looked at for few values of a key. Makes the postings of the key if that was
    /// enough. Damage is not reported: the query may not meet it.
    pub(crate) fn post(&self, key: KeyId, keysets: usize) {
        let postings = self.index.postings();
        let series = self.index.series_count();
        if u64::from(series) > MAX_SERIES_PER_BYTE * self.view.bytes().len() as u64 {
            return;
        }
        let enough = (u64::from(series) / SERIES_PER_KEYSET / PART_OF_COST).max(1);
        if postings.add_work(key, keysets as u64, enough) {
            match self.make_postings(key, series) {
                Ok(Some(made)) => postings.keep(key, made),
                Ok(None) | Err(SelectError::Block(_)) => {}
                // The next query may have more time.
                Err(_) => postings.forget_work(key),
            }
        }
    }

    /// Makes the postings of a key; `None` if they take too many bytes, or the block is damaged.
    fn make_postings(&self, key: KeyId, series: u32) -> Result<Option<Postings>, SelectError> {
        let Some(cardinality) = self.view.cardinality(key)? else { return Ok(None) };
        let mut writer = [PostingsWriter::new(cardinality)];
        let mut reader = ColumnReader::default();
        let mut pass = |writer: &mut [PostingsWriter; 1]| -> Result<bool, SelectError> {
            for start in (0..series).step_by(SERIES_PER_READ as usize) {
                let end = series.min(start.saturating_add(SERIES_PER_READ));
                reader.read_into(self, SeriesRef(start)..SeriesRef(end), &[key], writer)?;
                let [writer] = &*writer;
                if writer.allocated() > self.index.postings().room() {
                    return Ok(false);
                }
            }
            let [writer] = writer;
            Ok(writer.finish_pass() == Some(series))
        };
        if !pass(&mut writer)? {
            return Ok(None);
        }
        writer = writer.map(PostingsWriter::begin_second_pass);
        let is_whole = pass(&mut writer)?;
        let [writer] = writer;
        Ok(is_whole.then(|| writer.into_postings()))
    }
}
