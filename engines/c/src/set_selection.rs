//! Selected series of several blocks.

use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::block::CxTimeRange;
use crate::error::{CxError, Failure, guard, guard_value};
use crate::failures::CxFailures;
use crate::limits::{CxLimits, flag, limits};
use crate::opened::give;
use crate::pointer::required;
use crate::selection::CxSelection;
use crate::selector::{CxSelector, matchers};
use crate::set::{CxSet, query};
use crate::status::CxStatus;

/// Selected series of the blocks of a set: a selection per block that has some. It does not change: several threads may
/// use one handle at once.
pub struct CxSetSelection {
    /// Positions of blocks, and selections.
    parts: Vec<(usize, CxSelection)>,
    failures: CxFailures,
}

/// Selects the series of all blocks that satisfy all matchers; all series if `selector` is NULL. `within` leaves out
/// blocks without data in a range of times, or is NULL. Blocks are queried on all processors.
///
/// A damaged block is not an error, but listed by cx_set_selection_failures. A series that several blocks have is
/// selected in each of them.
#[unsafe(no_mangle)]
pub extern "C" fn cx_set_select(
    set: Option<&CxSet>,
    selector: Option<&CxSelector>,
    within: Option<&CxTimeRange>,
    limits: Option<&CxLimits<'_>>,
    selection: Option<&mut MaybeUninit<*mut CxSetSelection>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(selection, "selection", || {
            let set = required(set, "set")?;
            let flag = flag(limits);
            let query = query(&set.set, within).with_limits(self::limits(limits, flag.as_deref()));
            let selected = query.select(matchers(selector))?;
            let parts = selected.blocks().iter().filter_map(|part| {
                let cell = Arc::clone(&set.block(part.block)?.cell);
                Some((part.block, CxSelection::new(cell, part.series.clone())))
            });
            let failures = selected.failed().iter().cloned().map(Failure::from);
            Ok(CxSetSelection { parts: parts.collect(), failures: CxFailures::new(failures) })
        })
    })
}

/// Returns the number of selected series of all blocks; 0 for NULL. A series that several blocks have counts in each.
#[unsafe(no_mangle)]
pub extern "C" fn cx_set_selection_count(selection: Option<&CxSetSelection>) -> u64 {
    guard_value(|| {
        let parts = selection.map_or(&[][..], |selection| &selection.parts);
        parts.iter().map(|(_, part)| u64::from(part.selected.selection.count())).sum()
    })
}

/// Returns the number of blocks with selected series; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_set_selection_part_count(selection: Option<&CxSetSelection>) -> usize {
    guard_value(|| selection.map_or(0, |selection| selection.parts.len()))
}

/// Returns the selected series of one block, and writes the position of the block for cx_set_block. `part` counts the
/// blocks with selected series. Returns NULL if it is out of range. The result belongs to `selection`: do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn cx_set_selection_part<'a>(
    selection: Option<&'a CxSetSelection>,
    part: usize,
    block: Option<&mut MaybeUninit<usize>>,
) -> Option<&'a CxSelection> {
    let (position, part) = selection.and_then(|selection| selection.parts.get(part))?;
    if let Some(block) = block {
        block.write(*position);
    }
    Some(part)
}

/// Returns the errors of damaged blocks, whose series are missing; NULL for NULL. They belong to `selection`.
#[unsafe(no_mangle)]
pub extern "C" fn cx_set_selection_failures(selection: Option<&CxSetSelection>) -> Option<&CxFailures> {
    selection.map(|selection| &selection.failures)
}

/// Frees a selection, or does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_set_selection_free(selection: Option<Box<CxSetSelection>>) {
    guard_value(|| drop(selection));
}
