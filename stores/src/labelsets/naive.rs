//! [`NaiveLabelSetStore`]: a separate allocation for every string of every series.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};

use chronoxide_labels::{Counted, LabelError, LabelSetStore, LabelSets, StoreRef, labelset};
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::symbols::INDEX_ENTRY;

type Labels = Box<[(String, String)]>;

/// Labelset store without any sharing: a series is a list of pairs of strings.
///
/// Typical first version in a program, and the baseline of the comparison. A series of 5 labels costs 11 allocations.
#[derive(Clone, Default)]
pub struct NaiveLabelSetStore<H = RandomState> {
    series: Vec<Labels>,
    index: HashTable<u32>,
    hasher: H,
    /// Bytes requested for the labels of all series.
    label_bytes: usize,
}

impl NaiveLabelSetStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<H> fmt::Debug for NaiveLabelSetStore<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NaiveLabelSetStore").field("len", &self.series.len()).finish_non_exhaustive()
    }
}

fn hash_labels<'a>(hasher: &impl BuildHasher, labels: impl Iterator<Item = (&'a str, &'a str)>) -> u64 {
    let mut state = hasher.build_hasher();
    labels.for_each(|label| label.hash(&mut state));
    state.finish()
}

fn borrowed(labels: &Labels) -> impl ExactSizeIterator<Item = (&str, &str)> {
    labels.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

impl<H: BuildHasher> NaiveLabelSetStore<H> {
    /// Returns the hash of each series, in order of refs.
    pub fn hashes(&self) -> impl Iterator<Item = u64> {
        self.series.iter().map(|labels| hash_labels(&self.hasher, borrowed(labels)))
    }

    fn get_hashed(&self, hash: u64, labels: &[(&str, &str)]) -> Option<u32> {
        self.index.find(hash, |&series| borrowed(&self.series[series as usize]).eq(labels.iter().copied())).copied()
    }
}

impl<H: BuildHasher> LabelSets for NaiveLabelSetStore<H> {
    fn find(&self, labels: &[(&str, &str)]) -> Result<Option<StoreRef>, LabelError> {
        labelset::check(labels)?;
        Ok(self.get_hashed(hash_labels(&self.hasher, labels.iter().copied()), labels).map(StoreRef))
    }

    fn visit(&self, series: StoreRef, mut each: impl FnMut(&str, &str)) -> Result<(), LabelError> {
        let unknown = LabelError::Unknown { what: Counted::Series, number: series.0 };
        borrowed(self.series.get(series.index()).ok_or(unknown)?).for_each(|(name, value)| each(name, value));
        Ok(())
    }

    fn len(&self) -> usize {
        self.series.len()
    }

    fn estimated_bytes(&self) -> usize {
        self.label_bytes + self.series.capacity() * size_of::<Labels>() + self.index.allocation_size()
    }

    fn used_bytes(&self) -> usize {
        self.label_bytes + self.series.len() * (size_of::<Labels>() + INDEX_ENTRY)
    }
}

impl<H: BuildHasher> LabelSetStore for NaiveLabelSetStore<H> {
    fn insert(&mut self, labels: &[(&str, &str)]) -> Result<(StoreRef, bool), LabelError> {
        labelset::check(labels)?;
        let hash = hash_labels(&self.hasher, labels.iter().copied());
        if let Some(series) = self.get_hashed(hash, labels) {
            return Ok((StoreRef(series), false));
        }
        let number = Counted::Series.next(self.series.len())?;
        let text_bytes: usize = labels.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.label_bytes += text_bytes + labels.len() * size_of::<(String, String)>();
        self.series.push(labels.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect());
        let Self { series, index, hasher, .. } = self;
        index.insert_unique(hash, number, |&other| hash_labels(hasher, borrowed(&series[other as usize])));
        Ok((StoreRef(number), true))
    }
}
