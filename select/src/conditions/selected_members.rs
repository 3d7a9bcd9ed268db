//! [`SelectedMembers`]: the selected members of the lists of a pool.

use std::cell::RefCell;
use std::ops::Range;

use chronoxide_format::view::{List, Pool};

use crate::SelectError;
use crate::rows::row_set::{RowSet, for_each_run};

/// Members of a list that are read in the time of a search for one. With 4, an automaton of many ranges takes 13% more
/// instructions; with 16, the values of a label 3%.
const MEMBERS_PER_SEARCH: usize = 8;

/// A set of members, and where they are in each list of a pool.
///
/// Many rows of many keysets end in the same list, so that each list is searched once.
#[derive(Debug)]
pub(crate) struct SelectedMembers {
    set: RowSet,
    lists: RefCell<SearchedLists>,
}

/// The lists of a pool that were searched.
#[derive(Debug, Default)]
struct SearchedLists {
    /// For each list of the pool, its number in `found` plus one; 0 if it was not searched yet.
    numbers: Vec<u32>,
    found: Vec<Found>,
    /// Places of all lists, list by list. One vector per list would be an allocation for each of thousands.
    places: Vec<Range<u32>>,
    /// SelectedMembers of a list, to be reused.
    buffer: Vec<u32>,
}

/// A list that was searched.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// Number of all members of the list.
    len: u32,
    /// Its range of `SearchedLists::places`.
    start: usize,
    end: usize,
}

/// Places of selected members in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places<'a> {
    /// Number of all members of the list.
    pub len: u32,
    /// Sorted, disjoint ranges.
    pub ranges: &'a [Range<u32>],
}

impl Places<'_> {
    pub(crate) fn count(&self) -> u32 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }
}

impl SelectedMembers {
    /// Makes a set of members of a pool.
    pub(crate) fn new(set: RowSet, pool: &Pool<'_, '_>) -> Self {
        set.prepare(pool.member_count().into());
        // Zeroed memory is not touched before it is used: large pools cost no more than what a query asks of them.
        let numbers = vec![0; pool.list_count() as usize];
        Self { set, lists: RefCell::new(SearchedLists { numbers, ..SearchedLists::default() }) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    pub(crate) fn is_all(&self) -> bool {
        self.set.is_all()
    }

    #[inline]
    pub(crate) fn contains(&self, member: u32) -> bool {
        self.set.contains(member)
    }

    /// Calls `each` with the selected places of each of some lists, in order.
    pub(crate) fn for_each(
        &self,
        pool: &Pool<'_, '_>,
        lists: &[u32],
        mut each: impl FnMut(Places<'_>) -> Result<(), SelectError>,
    ) -> Result<(), SelectError> {
        let SearchedLists { numbers, found, places, buffer } = &mut *self.lists.borrow_mut();
        for &list in lists {
            let Some(number) = numbers.get_mut(list as usize) else {
                // Only a damaged block has such a list.
                each(Places::default())?;
                continue;
            };
            if *number == 0 {
                let start = places.len();
                let len = search(pool, list, &self.set, buffer, places)?;
                found.push(Found { len, start, end: places.len() });
                *number = found.len() as u32;
            }
            if let Some(&Found { len, start, end }) = found.get(*number as usize - 1) {
                each(Places { len, ranges: places.get(start..end).unwrap_or_default() })?;
            }
        }
        Ok(())
    }

    /// Returns the number of selected members of a list.
    pub(crate) fn count(&self, pool: &Pool<'_, '_>, list: u32) -> Result<u32, SelectError> {
        let mut count = 0;
        self.for_each(pool, &[list], |places| {
            count = places.count();
            Ok(())
        })?;
        Ok(count)
    }
}

/// Finds the members of a set in a list, whose members increase. Appends their places, and returns the length of the
/// list.
fn search(
    pool: &Pool<'_, '_>,
    list: u32,
    set: &RowSet,
    buffer: &mut Vec<u32>,
    places: &mut Vec<Range<u32>>,
) -> Result<u32, SelectError> {
    let list = pool.list(list)?;
    let ranges = set.ranges().as_slice();
    if ranges.len() * MEMBERS_PER_SEARCH <= list.len() as usize {
        push_found(&list, ranges, places)?;
        return Ok(list.len());
    }
    buffer.clear();
    list.push_members(buffer)?;
    for_each_run(0, buffer.iter().map(|&member| set.contains(member)), |run| places.push(run));
    Ok(list.len())
}

/// Appends the places of the members in some ranges, by searches.
fn push_found(list: &List<'_, '_>, ranges: &[Range<u32>], places: &mut Vec<Range<u32>>) -> Result<(), SelectError> {
    let mut last_end = 0;
    for range in ranges {
        let found = list.binary_search(range.start)?;
        let (Ok(start) | Err(start)) = found;
        let end = if range.end - range.start == 1 {
            start + u32::from(found.is_ok())
        } else {
            let (Ok(end) | Err(end)) = list.binary_search(range.end)?;
            end
        };
        // The places of a damaged list may not increase.
        if last_end <= start && start < end {
            places.push(start..end);
            last_end = end;
        }
    }
    Ok(())
}
