//! What is planned: the rows of all keysets.

/// The series of a block as rows of value codes, keyset by keyset. Whoever makes it sees to the order of rows and keysets and to the limits of the format: at most
/// 2^32 - 1 series in all, 512 keys a keyset, and codes below the counts of values. There may be no keysets at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// How many values the dictionary of each key has.
    pub value_counts: Vec<u32>,
    /// Where the labels of each key come from, as far as the input said so.
    pub origins: Vec<Origin>,
    /// The keysets, in the order of their lists of keys, each list once.
    pub keysets: Vec<KeysetRows>,
}

/// The series of one keyset: at least one, of at least one key. Nothing in a block is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeysetRows {
    /// Its keys, increasing.
    pub keys: Vec<u32>,
    /// A value code for each key, row after row; rows are distinct and in increasing order.
    pub rows: Vec<u32>,
}

impl KeysetRows {
    /// How many series there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len() / self.keys.len().max(1)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The series, one after the other.
    pub(crate) fn series(&self) -> std::slice::ChunksExact<'_, u32> {
        self.rows.chunks_exact(self.keys.len().max(1))
    }
}

/// What a label says something about. It is where planning starts, and no more: what pays is decided by the rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// Nobody said.
    #[default]
    Unknown,
    /// What reports: a pod, a host, a process.
    Resource,
    /// The measurement: its name, the library that measures, and a point's own attributes.
    Point,
}
