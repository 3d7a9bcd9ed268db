//! Deleted times of series: [`Tombstones`].

/// Times of a series that are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Tombstone {
    reference: u64,
    /// First and last deleted time, in milliseconds since 1970.
    first: i64,
    last: i64,
}

/// Deleted times of series, by the reference of the series. Overlapping and adjacent times are merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tombstones {
    sorted: Vec<Tombstone>,
}

impl Tombstones {
    /// Returns true if nothing is deleted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Returns the memory in bytes.
    #[must_use]
    pub fn estimated_bytes(&self) -> usize {
        self.sorted.capacity() * size_of::<Tombstone>()
    }

    /// Returns true if the series has no sample left between these times, both inclusive, in milliseconds since 1970.
    #[must_use]
    pub fn cover(&self, reference: u64, first: i64, last: i64) -> bool {
        // Merged times do not overlap, so only the last one that starts at or before `first` can contain it.
        let end = self.sorted.partition_point(|other| (other.reference, other.first) <= (reference, first));
        let found = end.checked_sub(1).and_then(|place| self.sorted.get(place));
        found.is_some_and(|found| found.reference == reference && last <= found.last)
    }

    /// Returns the first and last deleted times of a series, in their order, in milliseconds since 1970.
    pub fn times(&self, reference: u64) -> impl Iterator<Item = (i64, i64)> {
        let start = self.sorted.partition_point(|other| other.reference < reference);
        let rest = self.sorted.get(start..).unwrap_or_default().iter();
        rest.take_while(move |other| other.reference == reference).map(|other| (other.first, other.last))
    }
}

impl FromIterator<(u64, i64, i64)> for Tombstones {
    /// Collects references with their first and last deleted time. Times that end before they start delete nothing.
    fn from_iter<I: IntoIterator<Item = (u64, i64, i64)>>(all: I) -> Self {
        let all = all.into_iter().filter(|(_, first, last)| first <= last);
        let mut sorted: Vec<Tombstone> =
            all.map(|(reference, first, last)| Tombstone { reference, first, last }).collect();
        sorted.sort_unstable();
        sorted.dedup_by(|next, before| {
            let is_adjacent = before.reference == next.reference && next.first <= before.last.saturating_add(1);
            if is_adjacent {
                before.last = before.last.max(next.last);
            }
            is_adjacent
        });
        sorted.shrink_to_fit();
        Self { sorted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_that_are_deleted_wholly_are_covered() {
        let all = [(5, 30, 39), (5, 0, 9), (5, 10, 20), (6, 7, 3), (7, i64::MIN, i64::MAX), (5, 12, 15)];
        let tombstones = Tombstones::from_iter(all);
        for ((reference, first, last), covered) in [
            ((5, 0, 20), true),
            ((5, 3, 4), true),
            ((5, 20, 20), true),
            ((5, -1, 20), false),
            ((5, 0, 21), false),
            ((5, 9, 30), false),
            ((5, 25, 26), false),
            ((5, 30, 39), true),
            ((4, 0, 1), false),
            ((6, 3, 7), false),
            ((6, 5, 5), false),
            ((7, i64::MIN, i64::MAX), true),
            ((8, 0, 1), false),
        ] {
            assert_eq!(tombstones.cover(reference, first, last), covered, "{reference} {first}..{last}");
        }
        assert!(!Tombstones::default().cover(0, 0, 0));
    }
}
