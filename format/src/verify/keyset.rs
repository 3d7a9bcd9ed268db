//! Keysets, their order, their series and their anchors (spec, sections 8 and 9).

use super::expect;
use crate::error::{Place, corrupt};
use crate::layout::ANCHOR_ROWS;
use crate::view::{BlockView, Keyset};
use crate::{KeyId, Result, Rule};

pub(super) fn verify(view: &BlockView<'_>, keys: &[Vec<KeyId>]) -> Result<()> {
    let mut before: &[KeyId] = &[];
    for (id, keys) in (0..view.keyset_count()).zip(keys) {
        let keyset = view.keyset(id)?;
        let place = Place::Keyset(id.into());
        expect(Rule::KeysetSeries, place, keyset.series_count().into(), count_series(&keyset)?)?;
        if before >= keys.as_slice() {
            return Err(corrupt(Rule::KeysetOrder, place, id.into(), id.into()));
        }
        before = keys;
    }
    Ok(())
}

/// Counts the series of a keyset, and checks its anchors on the way.
fn count_series(keyset: &Keyset<'_>) -> Result<u64> {
    let rows = keyset.table().row_count();
    if keyset.pool().is_none() {
        return Ok(rows.into());
    }
    let mut series = 0;
    for row in 0..rows {
        if row % ANCHOR_ROWS == 0 {
            let found = keyset.anchor(row / ANCHOR_ROWS)?;
            expect(Rule::Anchors, Place::Keyset(keyset.id().into()), found.into(), series)?;
        }
        series += keyset.list(row)?.map_or(0, |list| u64::from(list.len()));
    }
    Ok(series)
}
