//! Counts and fingerprint sums of series that do not reach the outputs: [`Tally`].

use chronoxide_format::identity::Fingerprint;

/// Fate of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    /// Dropped by a selector.
    Dropped,
    /// Belongs to a shard that this run does not write.
    OtherShard,
}

/// Number of series that two rows have in common, and the sum of the factors of their fingerprints in which they
/// differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overlap {
    pub series: u64,
    pub sum: Fingerprint,
}

impl Overlap {
    pub(crate) const NONE: Self = Self { series: 0, sum: Fingerprint::ZERO };

    /// Returns the overlap of both counts.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { series: self.series + other.series, sum: self.sum + other.sum }
    }
}

/// Series that were merged with others or left out, for the balance of inputs and outputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    /// Series equal to another series of the inputs.
    pub duplicates: Overlap,
    /// Series dropped by selectors.
    pub dropped: Overlap,
    /// Series that belong to other shards.
    pub other_shards: Overlap,
    /// Fingerprint sums of series before and after their labels were rewritten.
    pub rewritten: (Fingerprint, Fingerprint),
}

impl Tally {
    pub(crate) const NONE: Self = Self {
        duplicates: Overlap::NONE,
        dropped: Overlap::NONE,
        other_shards: Overlap::NONE,
        rewritten: (Fingerprint::ZERO, Fingerprint::ZERO),
    };

    /// Counts series that are not kept, by their fate.
    pub(crate) fn leave_out(&mut self, fate: Fate, series: Overlap) {
        match fate {
            Fate::Kept => {}
            Fate::Dropped => self.dropped = self.dropped.and(series),
            Fate::OtherShard => self.other_shards = self.other_shards.and(series),
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            duplicates: self.duplicates.and(other.duplicates),
            dropped: self.dropped.and(other.dropped),
            other_shards: self.other_shards.and(other.other_shards),
            rewritten: (self.rewritten.0 + other.rewritten.0, self.rewritten.1 + other.rewritten.1),
        }
    }
}

/// Returns the product of the fingerprints of a row's codes; `columns` has the fingerprints of each column's codes.
pub(crate) fn product(columns: &[&[Fingerprint]], row: &[u32]) -> Fingerprint {
    columns.iter().zip(row).fold(Fingerprint::ONE, |product, (column, &code)| product * column[code as usize])
}
