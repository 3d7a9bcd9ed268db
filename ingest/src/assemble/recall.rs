//! Attributes that came before, recalled by their encoded bytes.
//!
//! Streams repeat the same attributes with every scrape, byte by byte. One look at the bytes is then all that an
//! attribute costs: they need not be decoded, nor checked, nor looked up as a name and again as a value.

use chronoxide_labels::{LabelId, StoreKeyId};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Attributes with more bytes are not kept: they mostly come once.
const MAX_LEN: usize = 256;

/// Bytes that are kept, at most; then everything is forgotten. Labels that each series has for itself would fill any
/// memory.
const MAX_BYTES: usize = 4 << 20;

/// Attributes by their bytes.
#[derive(Debug, Default)]
pub(super) struct Recall {
    index: HashTable<Known>,
    bytes: Vec<u8>,
    hasher: RandomState,
    /// Where the bytes of the attribute start that is not known yet.
    pending: Option<usize>,
}

/// An attribute: its bytes, and what it is.
#[derive(Debug, Clone, Copy)]
struct Known {
    start: u32,
    len: u16,
    label: LabelId,
}

impl Recall {
    /// The attribute with these bytes, if it is known. If not, they are those of the attribute that is
    /// [kept](Self::keep) next.
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

    /// Keeps what the bytes mean that were not known.
    pub(super) fn keep(&mut self, label: LabelId) {
        let Some(start) = self.pending.take() else {
            return;
        };
        let known = Known { start: start as u32, len: (self.bytes.len() - start) as u16, label };
        let Self { index, bytes, hasher, .. } = self;
        let hash = |known: &Known| hasher.hash_one(known.bytes(bytes));
        index.insert_unique(hash(&known), known, hash);
    }

    /// The bytes that were not known mean nothing that is worth keeping.
    pub(super) fn drop_pending(&mut self) {
        if let Some(start) = self.pending.take() {
            self.bytes.truncate(start);
        }
    }

    /// Bytes of memory in use.
    pub(super) fn memory_used(&self) -> usize {
        self.bytes.capacity() + self.index.allocation_size()
    }

    /// Forgets everything, for a new store has other numbers.
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
    use super::*;
    use chronoxide_labels::ValueCode;

    fn label(number: u32) -> LabelId {
        LabelId { key: StoreKeyId(number % 7), code: ValueCode(number) }
    }

    #[test]
    fn what_was_kept_is_recalled_until_it_is_forgotten() {
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
