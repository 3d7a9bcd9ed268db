//! The series of a keyset and its anchors (spec, section 8).

use super::expect;
use crate::error::Place;
use crate::layout::ANCHOR_ROWS;
use crate::view::{Keyset, Pool};
use crate::{Result, Rule};

/// Counts the series of a keyset with lists.
pub(super) struct SeriesCount<'data, 'view> {
    keyset: Keyset<'data, 'view>,
    pool: Pool<'data, 'view>,
    series: u64,
}

impl<'data, 'view> SeriesCount<'data, 'view> {
    pub(super) fn new(keyset: Keyset<'data, 'view>, pool: Pool<'data, 'view>) -> Self {
        Self { keyset, pool, series: 0 }
    }

    /// Counts the series of rows from row `first` on, which end in these lists, and checks their anchors.
    pub(super) fn add(&mut self, first: u32, lists: &[u32]) -> Result<()> {
        for (&list, row) in lists.iter().zip(first..) {
            if row % ANCHOR_ROWS == 0 {
                let found = self.keyset.anchor(row / ANCHOR_ROWS)?;
                expect(Rule::Anchors, Place::Keyset(self.keyset.id().into()), found.into(), self.series)?;
            }
            self.series += u64::from(self.pool.list_len(list)?);
        }
        Ok(())
    }

    pub(super) fn verify(&self) -> Result<()> {
        let place = Place::Keyset(self.keyset.id().into());
        expect(Rule::KeysetSeries, place, self.keyset.series_count().into(), self.series)
    }
}
