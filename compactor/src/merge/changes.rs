//! Keys that are dropped, renamed or hashed: [`KeyChanges`].

use std::collections::BTreeMap;

use super::vocabulary::Vocabulary;
use crate::rewrite::Rewrite;

/// Changes of keys.
#[derive(Debug)]
pub(crate) struct KeyChanges {
    /// New key of each key; `None` if it is dropped.
    after: Vec<Option<u32>>,
    /// Keys that are renamed to a key, the winning one first.
    sources: BTreeMap<u32, Vec<u32>>,
    /// Value codes of the hashes, by key that is hashed.
    hashed: BTreeMap<u32, Vec<u32>>,
}

impl KeyChanges {
    /// Returns the changes of all keys.
    pub(crate) fn new(rewrite: &Rewrite, vocabulary: &Vocabulary<'_>) -> Self {
        let mut after: Vec<Option<u32>> = (0..vocabulary.keys.len() as u32).map(Some).collect();
        let mut sources: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (old, new) in rewrite.renamed() {
            if let (Some(old), Some(new)) = (vocabulary.key(old), vocabulary.key(new)) {
                after[old as usize] = Some(new);
                sources.entry(new).or_default().insert(0, old);
            }
        }
        for key in rewrite.drop_labels.iter().filter_map(|name| vocabulary.key(name)) {
            after[key as usize] = None;
        }
        let hashed = rewrite.hash_labels.names().iter().filter_map(|name| vocabulary.key(name));
        let hashed = hashed.map(|key| (key, vocabulary.hashed_codes(key, &rewrite.hash_labels))).collect();
        Self { after, sources, hashed }
    }

    /// Returns the new key; `None` if the key is dropped.
    pub(crate) fn key_after(&self, key: u32) -> Option<u32> {
        self.after[key as usize]
    }

    /// Returns the new code of each value code of a key, if the key is hashed.
    pub(crate) fn hashed_codes(&self, key: u32) -> Option<&[u32]> {
        self.hashed.get(&key).map(Vec::as_slice)
    }

    /// Returns the keys after the changes, increasing, and true if they or their values differ from those before.
    pub(crate) fn keys_after(&self, keys: Vec<u32>) -> (Vec<u32>, bool) {
        if keys.iter().all(|&key| self.key_after(key) == Some(key)) {
            let is_hashed = keys.iter().any(|key| self.hashed.contains_key(key));
            return (keys, is_hashed);
        }
        let mut after: Vec<u32> = keys.iter().filter_map(|&key| self.after[key as usize]).collect();
        after.sort_unstable();
        after.dedup();
        (after, true)
    }

    /// Returns the key of `keys` whose value the new key `key` gets.
    pub(crate) fn source(&self, key: u32, keys: &[u32]) -> u32 {
        let renamed = self.sources.get(&key).into_iter().flatten();
        renamed.copied().find(|old| self.after[*old as usize] == Some(key) && keys.contains(old)).unwrap_or(key)
    }
}
