//! What a block says about itself: [`TsdbMeta`].

use super::error::TsdbBlockError;
use crate::prometheus::MILLISECOND;
use chronoxide_format::view::TimeRange;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// More than this no description of a block has.
const MAX_BYTES: u64 = 64 << 20;

/// What `meta.json` of a block says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TsdbMeta {
    /// The block's id, as it is written.
    pub ulid: String,
    /// The start of the block's time range, in milliseconds since 1970.
    pub min_time: i64,
    /// The end of the block's time range, which is not included.
    pub max_time: i64,
    /// Samples, series and chunks that the block says it has; zeros if it does not say so.
    #[serde(default)]
    pub stats: TsdbStats,
    version: u64,
}

/// The counts in `meta.json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct TsdbStats {
    /// Samples, native histograms included.
    pub num_samples: u64,
    /// Series.
    pub num_series: u64,
    /// Chunks.
    pub num_chunks: u64,
}

impl TsdbMeta {
    /// The time range of the block in nanoseconds; none if it is empty or does not fit.
    pub fn window(&self) -> Option<TimeRange> {
        let (start, end) = (self.min_time.checked_mul(MILLISECOND)?, self.max_time.checked_mul(MILLISECOND)?);
        (start < end).then_some(TimeRange { start, end })
    }

    /// Reads the file at this path.
    pub(super) fn read(path: &Path) -> Result<Self, TsdbBlockError> {
        let file = File::open(path).map_err(|source| TsdbBlockError::Open { path: path.to_owned(), source })?;
        let meta: Self = serde_json::from_reader(BufReader::new(file.take(MAX_BYTES)))
            .map_err(|source| TsdbBlockError::Meta { path: path.to_owned(), source })?;
        if meta.version == 1 {
            Ok(meta)
        } else {
            Err(TsdbBlockError::MetaVersion { path: path.to_owned(), version: meta.version })
        }
    }
}
