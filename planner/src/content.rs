//! Input of planning: [`Content`], the rows of all keysets.

/// Series of a block as rows of value codes, per keyset. The caller guarantees the order of rows and keysets, and the
/// limits of the format: at most 2^32 - 1 series, 1,023 keys per keyset, and codes below the counts of values. There
/// may be no keysets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// Number of values in the dictionary of each key.
    pub value_counts: Vec<u32>,
    /// Origin of the labels of each key, as far as it is known.
    pub origins: Vec<Origin>,
    /// Keysets, sorted by their lists of keys, without duplicates.
    pub keysets: Vec<KeysetRows>,
}

impl Content {
    /// Returns the number of codes of all rows.
    pub(crate) fn code_count(&self) -> usize {
        self.keysets.iter().map(|keyset| keyset.rows.len()).sum()
    }

    /// Returns the number of series.
    pub(crate) fn series_count(&self) -> u64 {
        self.keysets.iter().map(|keyset| keyset.len() as u64).sum()
    }
}

/// Series of one keyset: at least one series, with at least one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeysetRows {
    /// Keys in increasing order.
    pub keys: Vec<u32>,
    /// Value codes of each key, row by row. Rows are distinct and in increasing order.
    pub rows: Vec<u32>,
}

impl KeysetRows {
    /// Returns the number of series.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len() / self.keys.len().max(1)
    }

    /// Returns true if there are no series.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the keys of some columns.
    pub(crate) fn keys_of(&self, columns: &[usize]) -> Vec<u32> {
        columns.iter().map(|&column| self.keys[column]).collect()
    }

    /// Returns the rows in order.
    pub(crate) fn series(&self) -> std::slice::ChunksExact<'_, u32> {
        self.rows.chunks_exact(self.keys.len().max(1))
    }
}

/// Subject that a label describes. Planning starts from it, but the rows decide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// Unknown.
    #[default]
    Unknown,
    /// Sender of the metrics: a pod, a host, a process.
    Resource,
    /// Measurement: the metric's name, the instrumentation library, and attributes of points.
    Point,
}
