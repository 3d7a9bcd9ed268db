//! Selected series of a block.

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use chronoxide_reader::SeriesRef;
use chronoxide_select::Selection;

use crate::error::{CxError, guard, guard_value};
use crate::label::first_element;
use crate::opened::BlockCell;
use crate::pointer::{self, required};
use crate::status::CxStatus;

/// Selected series of one block. It does not change: several threads may use one handle at once. It stays valid after
/// its block is freed.
pub struct CxSelection {
    pub(crate) selected: Arc<Selected>,
}

/// A selection, shared with its cursors.
pub(crate) struct Selected {
    pub(crate) cell: Arc<BlockCell>,
    pub(crate) selection: Selection,
    ranges: Box<[CxRange]>,
}

/// A half-open range of refs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxRange {
    /// First ref of the range.
    pub start: u32,
    /// First ref after the range.
    pub end: u32,
}

impl CxSelection {
    pub(crate) fn new(cell: Arc<BlockCell>, selection: Selection) -> Self {
        let ranges = selection.ranges().map(|range| CxRange { start: range.start.0, end: range.end.0 }).collect();
        Self { selected: Arc::new(Selected { cell, selection, ranges }) }
    }
}

/// Returns the number of selected series; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_selection_count(selection: Option<&CxSelection>) -> u32 {
    guard_value(|| selection.map_or(0, |selection| selection.selected.selection.count()))
}

/// Returns true if a series is selected. Costs a binary search.
#[unsafe(no_mangle)]
pub extern "C" fn cx_selection_contains(selection: Option<&CxSelection>, series: u32) -> bool {
    guard_value(|| selection.is_some_and(|selection| selection.selected.selection.contains(SeriesRef(series))))
}

/// Returns the number of ranges of refs; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_selection_range_count(selection: Option<&CxSelection>) -> usize {
    guard_value(|| selection.map_or(0, |selection| selection.selected.ranges.len()))
}

/// Returns the ranges of refs, in order and with gaps between them, as many as cx_selection_range_count says; NULL for
/// none, and for NULL. They are valid until the selection is freed.
#[unsafe(no_mangle)]
pub extern "C" fn cx_selection_ranges(selection: Option<&CxSelection>) -> *const CxRange {
    selection.map_or(ptr::null(), |selection| first_element(&selection.selected.ranges))
}

/// Writes the selected refs from `first` on, in order, to a buffer with room for `capacity` refs, and their number to
/// `count`. To read all in chunks, begin with 0, and go on with the last ref plus 1, until the count is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_selection_refs(
    selection: Option<&CxSelection>,
    first: u32,
    refs: *mut u32,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let (selection, count) = (required(selection, "selection")?, required(count, "count")?);
        // SAFETY: the caller's contract.
        let mut room = unsafe { pointer::buffer(refs, capacity, "refs") }?.iter_mut();
        let ranges = &selection.selected.ranges;
        let ranges = ranges.get(ranges.partition_point(|range| range.end <= first)..).unwrap_or_default();
        for range in ranges {
            for (series, place) in (range.start.max(first)..range.end).zip(&mut room) {
                place.write(series);
            }
            if room.len() == 0 {
                break;
            }
        }
        count.write(capacity - room.len());
        Ok(())
    })
}

/// Frees a selection, or does nothing for NULL. Its cursors stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn cx_selection_free(selection: Option<Box<CxSelection>>) {
    guard_value(|| drop(selection));
}
