//! Metadata of a block: [`TsdbMeta`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use chronoxide_format::view::TimeRange;
use serde::Deserialize;

use super::error::TsdbBlockError;
use crate::prometheus::MILLISECOND;

/// Maximum length of the metadata in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Contents of `meta.json`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TsdbMeta {
    /// Block id as written.
    pub ulid: String,
    /// Start of the time range, in milliseconds since 1970.
    pub min_time: i64,
    /// Exclusive end of the time range, in milliseconds since 1970.
    pub max_time: i64,
    /// Counts of samples, series and chunks, 0 if they are missing.
    #[serde(default)]
    pub stats: TsdbStats,
    version: u64,
    #[serde(default)]
    thanos: Option<ThanosMeta>,
}

/// Part of `meta.json` that Thanos, Mimir and Cortex add.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
struct ThanosMeta {
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
}

/// Counts in `meta.json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct TsdbStats {
    /// Samples, including native histograms.
    pub num_samples: u64,
    /// Series.
    pub num_series: u64,
    /// Chunks.
    pub num_chunks: u64,
}

impl TsdbMeta {
    /// Returns the time range in nanoseconds, or `None` if it is empty or does not fit.
    #[must_use]
    pub fn window(&self) -> Option<TimeRange> {
        let (start, end) = (self.min_time.checked_mul(MILLISECOND)?, self.max_time.checked_mul(MILLISECOND)?);
        (start < end).then_some(TimeRange { start, end })
    }

    /// Returns the external labels, which all series of the block have besides their own, sorted by name.
    pub fn external_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.thanos.iter().flat_map(|thanos| &thanos.labels).flatten();
        labels.map(|(name, value)| (name.as_str(), value.as_str()))
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
