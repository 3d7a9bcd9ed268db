//! Metadata of metrics: [`Metrics`].

use std::hash::BuildHasher;

use chronoxide_format::metadata::{MetricMetadata, OwnedMetricMetadata};
use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Maximum overhead of the allocator per allocation, in bytes.
const ALLOCATION_OVERHEAD: usize = 32;

/// Set of distinct metadata.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    list: Vec<OwnedMetricMetadata>,
    index: HashTable<u32>,
    hasher: RandomState,
    text_len: usize,
}

impl Metrics {
    /// Returns the number of the metadata, and adds it if it is new.
    pub(super) fn intern(&mut self, metadata: &MetricMetadata<'_>) -> usize {
        let hash = self.hasher.hash_one(metadata);
        let same = |&number: &u32| self.list.get(number as usize).is_some_and(|known| known.borrowed() == *metadata);
        if let Some(&number) = self.index.find(hash, same) {
            return number as usize;
        }
        let number = self.list.len();
        self.text_len += metadata.name.len() + metadata.unit.len() + metadata.description.len();
        self.list.push(OwnedMetricMetadata::from(*metadata));
        let Self { list, index, hasher, .. } = self;
        index.insert_unique(hash, number as u32, |&other| {
            hasher.hash_one(list.get(other as usize).map(OwnedMetricMetadata::borrowed).unwrap_or_default())
        });
        number
    }

    pub(super) fn get(&self, number: usize) -> Option<MetricMetadata<'_>> {
        self.list.get(number).map(OwnedMetricMetadata::borrowed)
    }

    pub(super) fn estimated_bytes(&self) -> usize {
        // Each text is allocated separately.
        let per_metric = size_of::<OwnedMetricMetadata>() + 3 * ALLOCATION_OVERHEAD;
        self.text_len + self.list.capacity() * per_metric + self.index.allocation_size()
    }
}
