//! Cache of attributes by their encoded bytes: [`Recall`].
//!
//! Streams repeat the same attributes with every scrape, byte by byte. A known attribute costs one lookup of its bytes:
//! it is not decoded, validated or looked up by name and value.

use std::hash::BuildHasher;

use chronoxide_labels::{LabelId, StoreKeyId};
use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Maximum length of a cached attribute. Longer ones rarely recur.
const MAX_LEN: usize = 256;

/// Maximum bytes of the cache, which is cleared when it is full. Labels that are unique per series would fill any
/// memory.
const MAX_BYTES: usize = 4 << 20;

/// Cache of attributes by their bytes.
#[derive(Debug, Default)]
pub(super) struct Recall {
    index: HashTable<Known>,
    bytes: Vec<u8>,
    hasher: RandomState,
    /// Start of the bytes of the last unknown attribute.
    pending: Option<usize>,
}

/// Cached attribute: its bytes and its label.
#[derive(Debug, Clone, Copy)]
struct Known {
    start: u32,
    len: u16,
    label: LabelId,
}

impl Recall {
    /// Returns the key and label of the attribute with these bytes. If it is unknown, [`keep`](Self::keep) adds it
    /// next.
    #[inline]
    pub(super) fn get(&mut self, bytes: &[u8]) -> Option<(StoreKeyId, LabelId)> {
        let hash = self.hasher.hash_one(bytes);
        let same = |known: &Known| known.bytes(&self.bytes) == bytes;
        if let Some(known) = self.index.find(hash, same) {
            return Some((known.label.key, known.label));
        }
        self.pending = None;
        if bytes.len() <= MAX_LEN {
            if self.bytes.len() > MAX_BYTES {
                self.forget();
            }
            self.pending = Some(self.bytes.len());
            self.bytes.extend_from_slice(bytes);
        }
        None
    }

    /// Adds the last unknown attribute with its label.
    #[inline]
    pub(super) fn keep(&mut self, label: LabelId) {
        let Some(start) = self.pending.take() else {
            return;
        };
        let known = Known { start: start as u32, len: (self.bytes.len() - start) as u16, label };
        let Self { index, bytes, hasher, .. } = self;
        let hash = |known: &Known| hasher.hash_one(known.bytes(bytes));
        index.insert_unique(hash(&known), known, hash);
    }

    /// Discards the last unknown attribute.
    pub(super) fn drop_pending(&mut self) {
        if let Some(start) = self.pending.take() {
            self.bytes.truncate(start);
        }
    }

    /// Returns the memory in bytes.
    pub(super) fn estimated_bytes(&self) -> usize {
        self.bytes.capacity() + self.index.allocation_size()
    }

    /// Clears the cache, because a new store has other ids.
    pub(super) fn forget(&mut self) {
        self.index.clear();
        self.bytes.clear();
        self.pending = None;
    }
}

impl Known {
    #[inline]
    fn bytes(self, all: &[u8]) -> &[u8] {
        let start = self.start as usize;
        all.get(start..start + usize::from(self.len)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use chronoxide_labels::ValueCode;

    use super::*;

    fn label(number: u32) -> LabelId {
        LabelId { key: StoreKeyId(number % 7), code: ValueCode(number) }
    }

    #[test]
    fn known_attributes_are_found_until_the_cache_is_cleared() {
        let mut recall = Recall::default();
        for round in 0..3 {
            for number in 0..1_000u32 {
                let known = recall.get(&number.to_le_bytes());
                assert_eq!(known, (round > 0).then(|| (label(number).key, label(number))), "{round} {number}");
                if known.is_none() {
                    recall.keep(label(number));
                }
            }
        }
        recall.forget();
        assert_eq!(recall.get(&7u32.to_le_bytes()), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut recall = Recall::default();
        for number in 0..100_000u32 {
            let mut bytes = [0; 200];
            bytes[..4].copy_from_slice(&number.to_le_bytes());
            assert_eq!(recall.get(&bytes), None);
            recall.keep(label(number));
            assert!(recall.bytes.len() <= MAX_BYTES + MAX_LEN);
        }
        assert_eq!(recall.get(&[1; 1_000]), None);
        recall.keep(label(1));
        assert_eq!(recall.get(&[1; 1_000]), None, "long ones are not kept");
        recall.get(b"dropped");
        recall.drop_pending();
        assert_eq!(recall.get(b"dropped"), None);
    }
}
