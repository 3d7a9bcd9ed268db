//! Labels dropped and renamed: what becomes of keys.

use std::collections::BTreeMap;

use crate::merge::Vocabulary;

/// How labels are rewritten before series are merged. Series that become equal become one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// Labels that no series keeps.
    pub drop_labels: Vec<String>,
    /// Labels that get another name, old and new: the value that is renamed takes the place of one that the series has under the new name already,
    /// as in Prometheus's relabelling. Of several that are renamed to the same name, the last given wins.
    pub rename_labels: Vec<(String, String)>,
}

impl Rewrite {
    /// Whether nothing is rewritten.
    pub fn is_empty(&self) -> bool {
        self.drop_labels.is_empty() && self.rename_labels.is_empty()
    }

    /// Old and new names.
    pub(crate) fn renamed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rename_labels.iter().map(|(old, new)| (old.as_str(), new.as_str()))
    }

    /// What becomes of each key.
    pub(crate) fn key_changes(&self, vocabulary: &Vocabulary<'_>) -> KeyChanges {
        let mut after: Vec<Option<u32>> = (0..vocabulary.keys.len() as u32).map(Some).collect();
        let mut sources: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (old, new) in self.renamed() {
            if let (Some(old), Some(new)) = (vocabulary.key(old), vocabulary.key(new)) {
                after[old as usize] = Some(new);
                sources.entry(new).or_default().insert(0, old);
            }
        }
        for key in self.drop_labels.iter().filter_map(|name| vocabulary.key(name)) {
            after[key as usize] = None;
        }
        KeyChanges { after, sources }
    }
}

/// What becomes of keys.
#[derive(Debug)]
pub(crate) struct KeyChanges {
    /// For each key, which it becomes; none if it is dropped.
    after: Vec<Option<u32>>,
    /// For each key that others are renamed to, these, the one that wins first.
    sources: BTreeMap<u32, Vec<u32>>,
}

impl KeyChanges {
    /// What becomes of a key; none if it is dropped.
    pub(crate) fn key_after(&self, key: u32) -> Option<u32> {
        self.after[key as usize]
    }

    /// The keys of series that had these, increasing, and whether they are others.
    pub(crate) fn keys_after(&self, keys: Vec<u32>) -> (Vec<u32>, bool) {
        if keys.iter().all(|&key| self.key_after(key) == Some(key)) {
            return (keys, false);
        }
        let mut after: Vec<u32> = keys.iter().filter_map(|&key| self.after[key as usize]).collect();
        after.sort_unstable();
        after.dedup();
        (after, true)
    }

    /// Which of its keys gives a series the value of a key that it has afterwards.
    pub(crate) fn source(&self, key: u32, keys: &[u32]) -> u32 {
        let renamed = self.sources.get(&key).into_iter().flatten();
        renamed.copied().find(|old| self.after[*old as usize] == Some(key) && keys.contains(old)).unwrap_or(key)
    }
}
