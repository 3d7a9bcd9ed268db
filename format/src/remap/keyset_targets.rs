//! Targets of the series of one keyset, as input of the builder (remap spec, section 4).

use crate::number::length;

/// Target of a dropped series.
pub(super) const GONE: u64 = u64::MAX;

/// Targets of the series of one keyset of the input, row by row.
#[derive(Clone, Debug, Default)]
pub struct KeysetTargets {
    pub(super) targets: Vec<u64>,
    ends: Vec<usize>,
}

impl KeysetTargets {
    /// Adds a row of the keyset's table. Each item is the target of one series: its number among the series of all
    /// outputs, or `None` if it was dropped. A row without a list has one series.
    pub fn push_row(&mut self, targets: impl IntoIterator<Item = Option<u64>>) {
        self.targets.extend(targets.into_iter().map(|target| target.unwrap_or(GONE)));
        self.ends.push(self.targets.len());
    }

    /// Returns the number of series of all rows.
    #[must_use]
    pub fn series_count(&self) -> u64 {
        length(self.targets.len())
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.targets.clear();
        self.ends.clear();
    }

    pub(super) fn has_long_rows(&self) -> bool {
        self.ends.len() < self.targets.len()
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &[u64]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let row = self.targets.get(start..end).unwrap_or_default();
            start = end;
            row
        })
    }
}
