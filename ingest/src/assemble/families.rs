//! Metadata of the metric families of an input: [`Families`].

use std::collections::HashMap;

use chronoxide_format::metadata::{MetricMetadata, OwnedMetricMetadata};

/// Suffixes that Prometheus adds to a metric name (`_bucket`, `_sum`, `_count`).
const SUFFIXES: [&str; 9] = ["", "_total", "_bucket", "_sum", "_count", "_created", "_info", "_gsum", "_gcount"];

/// Memory of the metadata of one family besides its texts, in bytes.
const OVERHEAD: usize = 256;

/// Metadata of the families of the current input, for labels of the series that follow.
#[derive(Debug, Default)]
pub(super) struct Families {
    /// Families so far, if series get labels of them.
    by_name: HashMap<Box<str>, OwnedMetricMetadata>,
    /// Upper bound of their memory in bytes.
    bytes: usize,
    /// The last one, which is repeated in the next block if a cut divides a family.
    last: OwnedMetricMetadata,
}

impl Families {
    /// Notes a family. It is kept until the end of the input if `is_kept`.
    pub(super) fn add(&mut self, metadata: &MetricMetadata<'_>, is_kept: bool) {
        self.last = OwnedMetricMetadata::from(*metadata);
        if is_kept {
            self.bytes += memory(metadata);
            if let Some(before) = self.by_name.insert(metadata.name.into(), self.last.clone()) {
                self.bytes -= memory(&before.borrowed());
            }
        }
    }

    /// Returns the family of a series by its name.
    pub(super) fn find(&self, name: &str) -> Option<MetricMetadata<'_>> {
        let family = SUFFIXES.iter().find_map(|suffix| self.by_name.get(name.strip_suffix(suffix)?));
        family.map(OwnedMetricMetadata::borrowed)
    }

    /// Returns the last family.
    pub(super) fn last(&self) -> MetricMetadata<'_> {
        self.last.borrowed()
    }

    /// Removes all but the last: families of exposition text are contiguous.
    pub(super) fn forget(&mut self) {
        let last = std::mem::take(self).last;
        let is_kept = !last.borrowed().name.is_empty();
        self.add(&last.borrowed(), is_kept);
    }

    /// Returns an upper bound of the memory in bytes.
    pub(super) fn estimated_bytes(&self) -> usize {
        self.bytes
    }
}

/// Returns the memory of the metadata of a family in bytes.
fn memory(metadata: &MetricMetadata<'_>) -> usize {
    OVERHEAD + 2 * metadata.name.len() + metadata.unit.len() + metadata.description.len()
}
