//! Metadata of a block: [`TsdbMeta`].

use std::collections::BTreeMap;

use chronoxide_format::view::TimeRange;
use serde::Deserialize;

use super::error::TsdbBlockError;
use super::files::META;
use crate::prometheus::MILLISECOND;

/// Maximum length of all external labels in bytes. They are stored in each block.
const MAX_EXTERNAL_LABELS_LEN: usize = 1 << 20;

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
    #[serde(default)]
    downsample: Option<Downsample>,
}

/// Work of Thanos's compactor on a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Downsample {
    /// Milliseconds between two samples, or 0 for samples as they were.
    resolution: i64,
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

    /// Returns true if the samples were aggregated: no reader of Prometheus reads such chunks.
    #[must_use]
    pub fn is_downsampled(&self) -> bool {
        self.thanos.iter().flat_map(|thanos| thanos.downsample).any(|downsample| downsample.resolution > 0)
    }

    /// Parses the content of `meta.json`.
    ///
    /// # Errors
    ///
    /// There is none, it is malformed, or it has an unsupported version or external labels that cannot be stored.
    pub fn parse(content: Option<&[u8]>) -> Result<Self, TsdbBlockError> {
        let content = content.ok_or(TsdbBlockError::Missing { name: META })?;
        let meta: Self = serde_json::from_slice(content).map_err(TsdbBlockError::Meta)?;
        if meta.version != 1 {
            return Err(TsdbBlockError::MetaVersion { version: meta.version });
        }
        let labels = || meta.external_labels();
        let len: usize = labels().map(|(name, value)| name.len() + value.len()).sum();
        match () {
            () if labels().any(|(name, _)| name.is_empty()) => {
                Err(TsdbBlockError::ExternalLabels { reason: "a name is empty" })
            }
            () if len > MAX_EXTERNAL_LABELS_LEN => {
                Err(TsdbBlockError::ExternalLabels { reason: "they have more than 1 MiB" })
            }
            () => Ok(meta),
        }
    }
}
