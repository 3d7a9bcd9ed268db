//! The metadata of metrics.

use chronoxide_format::metadata::{MetricMetadata, MetricType, Temporality};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Metadata that are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct OwnedMetadata {
    name: Box<str>,
    metric_type: MetricType,
    temporality: Temporality,
    is_monotonic: bool,
    unit: Box<str>,
    description: Box<str>,
}

impl OwnedMetadata {
    pub(super) fn new(metadata: &MetricMetadata<'_>) -> Self {
        let &MetricMetadata { name, metric_type, temporality, is_monotonic, unit, description } = metadata;
        let [name, unit, description] = [name, unit, description].map(Box::from);
        Self { name, metric_type, temporality, is_monotonic, unit, description }
    }

    pub(super) fn borrowed(&self) -> MetricMetadata<'_> {
        let &Self { metric_type, temporality, is_monotonic, .. } = self;
        let [name, unit, description] = [&*self.name, &*self.unit, &*self.description];
        MetricMetadata { name, metric_type, temporality, is_monotonic, unit, description }
    }
}

/// Metadata, each once.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    list: Vec<OwnedMetadata>,
    index: HashTable<u32>,
    hasher: RandomState,
    text_len: usize,
}

impl Metrics {
    /// The number of these metadata, which are added if they are new.
    pub(super) fn intern(&mut self, metadata: &MetricMetadata<'_>) -> usize {
        let hash = self.hasher.hash_one(metadata);
        let same = |&number: &u32| self.list.get(number as usize).is_some_and(|known| known.borrowed() == *metadata);
        if let Some(&number) = self.index.find(hash, same) {
            return number as usize;
        }
        let number = self.list.len();
        self.text_len += metadata.name.len() + metadata.unit.len() + metadata.description.len();
        self.list.push(OwnedMetadata::new(metadata));
        let Self { list, index, hasher, .. } = self;
        index.insert_unique(hash, number as u32, |&other| {
            hasher.hash_one(list.get(other as usize).map(OwnedMetadata::borrowed).unwrap_or_default())
        });
        number
    }

    pub(super) fn get(&self, number: usize) -> Option<MetricMetadata<'_>> {
        self.list.get(number).map(OwnedMetadata::borrowed)
    }

    pub(super) fn memory_used(&self) -> usize {
        self.text_len + self.list.capacity() * size_of::<OwnedMetadata>() + self.index.allocation_size()
    }
}
