//! [`Members`]: the selected members of the lists of a pool.

use std::cell::RefCell;
use std::ops::Range;

use chronoxide_format::view::{List, Pool};

use crate::codes::first_not_before;
use crate::row_set::RowSet;
use crate::{Ranges, SelectError};

/// Maximum number of ranges that are searched in a long list; over more, all its members are read.
const FEW_RANGES: usize = 4;
/// Maximum length of a list that is read faster than searched.
const SHORT_LIST: u32 = 64;

/// A set of members, and where they are in each list of a pool.
///
/// Many rows of many keysets end in the same list, so that each list is searched once.
#[derive(Debug)]
pub(crate) struct Members {
    set: RowSet,
    lists: RefCell<SearchedLists>,
}

/// The lists of a pool that were searched.
#[derive(Debug)]
struct SearchedLists {
    /// For each list of the pool, its number in `found` plus one; 0 if it was not searched yet.
    numbers: Vec<u32>,
    found: Vec<Places>,
    /// Members of a list, to be reused.
    buffer: Vec<u32>,
}

/// Places of selected members in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Number of all members of the list.
    pub len: u32,
    pub places: Ranges,
}

impl Members {
    /// Makes a set of members of a pool.
    pub(crate) fn new(set: RowSet, pool: &Pool<'_, '_>) -> Self {
        set.prepare(pool.member_count().into());
        // Zeroed memory is not touched before it is used: large pools cost no more than what a query asks of them.
        let numbers = vec![0; pool.list_count() as usize];
        Self { set, lists: RefCell::new(SearchedLists { numbers, found: Vec::new(), buffer: Vec::new() }) }
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
        mut each: impl FnMut(&Places) -> Result<(), SelectError>,
    ) -> Result<(), SelectError> {
        let SearchedLists { numbers, found, buffer } = &mut *self.lists.borrow_mut();
        for &list in lists {
            let Some(number) = numbers.get_mut(list as usize) else {
                // Only a damaged block has such a list.
                each(&Places::default())?;
                continue;
            };
            if *number == 0 {
                found.push(search(pool, list, &self.set, buffer)?);
                *number = found.len() as u32;
            }
            if let Some(places) = found.get(*number as usize - 1) {
                each(places)?;
            }
        }
        Ok(())
    }

    /// Returns the number of selected members of a list.
    pub(crate) fn count(&self, pool: &Pool<'_, '_>, list: u32) -> Result<u32, SelectError> {
        let mut count = 0;
        self.for_each(pool, &[list], |places| {
            count = places.places.count();
            Ok(())
        })?;
        Ok(count)
    }
}

/// Finds the members of a set in a list, whose members increase.
fn search(pool: &Pool<'_, '_>, list: u32, set: &RowSet, buffer: &mut Vec<u32>) -> Result<Places, SelectError> {
    let list = pool.list(list)?;
    let (len, ranges) = (list.len(), set.ranges().as_slice());
    if ranges.len() <= FEW_RANGES && len > SHORT_LIST {
        return Ok(Places { len, places: search_long(&list, ranges)? });
    }
    buffer.clear();
    list.push_members(buffer)?;
    let places = if ranges.len() <= FEW_RANGES {
        set.positions_in(buffer)
    } else {
        let kept = (0..).zip(&*buffer).filter(|(_, member)| set.contains(**member));
        kept.map(|(place, _)| place..place + 1).collect()
    };
    Ok(Places { len, places })
}

fn search_long(list: &List<'_, '_>, ranges: &[Range<u32>]) -> Result<Ranges, SelectError> {
    let mut places = Ranges::default();
    let mut from = 0;
    for range in ranges {
        let start = first_place(list, from, range.start)?;
        from = first_place(list, start, range.end)?;
        places.push(start..from);
    }
    Ok(places)
}

/// Returns the first place from `from` on whose member is at least `member`.
fn first_place(list: &List<'_, '_>, from: u32, member: u32) -> Result<u32, SelectError> {
    first_not_before(from..list.len(), |place| Ok(list.get(place)? < member))
}
