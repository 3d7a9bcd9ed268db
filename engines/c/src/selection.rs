//! Selected series as ranges of ids.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use crate::blocks::CxBlocks;
use crate::error::{CxError, guard, guard_value};
use crate::label::{CxBlockId, first_element};
use crate::pointer::give;
use crate::query::{Asked, CxQuery};
use crate::status::CxStatus;

/// Neighbouring series of a block.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CxIdRange {
    /// Id of the block.
    pub block: CxBlockId,
    /// Position of the first series in the block.
    pub start: u32,
    /// Position behind the last one.
    pub end: u32,
}

/// Ids of selected series, as ranges, in the order of blocks and positions. It does not change: several threads may use
/// one handle at once.
pub struct CxSelection {
    ranges: Box<[CxIdRange]>,
}

/// Selects the series of a query, and returns their ids as ranges: a metric is often one range per keyset. A series
/// that several blocks have comes in each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_query_select(
    blocks: Option<&CxBlocks>,
    query: Option<&CxQuery<'_>>,
    selection: Option<&mut MaybeUninit<*mut CxSelection>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(selection, "selection", || {
            let asked = Asked::new(blocks, query)?;
            // SAFETY: the caller's contract.
            let found = unsafe { asked.ask(query, |query| Ok(query.select()?)) }?;
            let ranges =
                found.ranges().map(|(block, Range { start, end })| CxIdRange { block: block.into(), start, end });
            Ok(CxSelection { ranges: ranges.collect() })
        })
    })
}

/// Returns the number of ranges; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_selection_range_count(selection: Option<&CxSelection>) -> usize {
    guard_value(|| selection.map_or(0, |selection| selection.ranges.len()))
}

/// Returns the ranges, as many as cx_selection_range_count says; NULL for none, and for NULL. They are valid until the
/// selection is freed.
#[unsafe(no_mangle)]
pub extern "C" fn cx_selection_ranges(selection: Option<&CxSelection>) -> *const CxIdRange {
    selection.map_or(ptr::null(), |selection| first_element(&selection.ranges))
}

/// Frees a selection, or does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_selection_free(selection: Option<Box<CxSelection>>) {
    guard_value(|| drop(selection));
}
