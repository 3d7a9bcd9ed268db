//! Lists of rows (spec, section 8).

use std::iter::FusedIterator;
use std::ops::Range;

use super::symbol::binary_search;
use super::until_error::until_error;
use super::{BlockView, Table};
use crate::bits::{bytes_for, mask, width};
use crate::error::{Place, corrupt, corrupt_at};
use crate::layout::{MAX_CODE_WIDTH, MAX_UPPER_BITS};
use crate::lists::{Coding, Upper};
use crate::number::low32;
use crate::{Error, PoolId, Result, Rule, TableId};

/// A pool: distinct lists of rows of one table.
#[derive(Clone, Copy, Debug)]
pub struct Pool<'data, 'view> {
    view: &'view BlockView<'data>,
    pub(crate) entry: PoolEntry,
}

/// A pool as the catalogue describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolEntry {
    id: u32,
    table: u32,
    list_count: u32,
    member_count: u32,
    first_bit: u64,
    end_width: u32,
    members_bit: u64,
    coding: Coding,
}

impl<'data, 'view> Pool<'data, 'view> {
    #[inline]
    pub(crate) fn open(view: &'view BlockView<'data>, id: u32) -> Result<Self> {
        Ok(Self { view, entry: PoolEntry::read(view, id)? })
    }

    /// Returns a pool that was opened before.
    #[inline]
    pub(crate) const fn with_entry(view: &'view BlockView<'data>, entry: PoolEntry) -> Self {
        Self { view, entry }
    }

    pub(crate) const fn view(&self) -> &'view BlockView<'data> {
        self.view
    }

    /// Returns the number of the pool.
    #[must_use]
    pub const fn id(&self) -> PoolId {
        PoolId(self.entry.id)
    }

    /// Returns the table whose rows are the members of the lists.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    pub fn table(&self) -> Result<Table<'data, 'view>> {
        Table::open(self.view, self.entry.table)
    }

    /// Returns the number of that table.
    #[must_use]
    pub const fn table_id(&self) -> TableId {
        TableId(self.entry.table)
    }

    /// Returns the number of lists.
    #[must_use]
    pub const fn list_count(&self) -> u32 {
        self.entry.list_count
    }

    /// Returns the number of members of all lists together.
    #[must_use]
    pub const fn member_count(&self) -> u32 {
        self.entry.member_count
    }

    /// Returns the bits of a member's field: all bits of a member, or the low ones of a split list.
    #[must_use]
    pub const fn low_width(&self) -> u32 {
        self.entry.coding.low_width
    }

    /// Returns true if lists have upper bits.
    pub(crate) const fn is_split(&self) -> bool {
        self.entry.coding.is_split()
    }

    /// Returns the number of bytes that the lists take in the members section: their ends and their members.
    #[expect(clippy::len_without_is_empty, reason = "a pool is never empty")]
    #[must_use]
    pub fn len(&self) -> u64 {
        let [_, (_, end_bit)] = self.slack();
        end_bit / 8 - self.offset()
    }

    /// Returns the first byte in the members section.
    pub(crate) const fn offset(&self) -> u64 {
        self.entry.first_bit / 8
    }

    /// Returns the unused bits of the members section after the ends and after the members.
    pub(crate) fn slack(&self) -> [(u64, u64); 2] {
        let ends = self.entry.first_bit + u64::from(self.entry.list_count) * u64::from(self.entry.end_width);
        let members = self.bit(self.entry.list_count, self.entry.member_count);
        [(ends, self.entry.members_bit), (members, bytes_for(members) * 8)]
    }

    /// Returns the first bit after these numbers of lists and members.
    #[inline]
    fn bit(&self, lists: u32, members: u32) -> u64 {
        // Bits of all lists were checked when the pool was opened.
        self.entry.members_bit.saturating_add(self.entry.coding.bits(lists.into(), members.into()).unwrap_or(u64::MAX))
    }

    /// Returns the number of members before list `list`, and up to its end.
    #[inline(always)]
    fn ends(&self, list: u32) -> Result<(u32, u32)> {
        if list >= self.entry.list_count {
            return Err(corrupt(
                Rule::ColumnCode,
                Place::Pool(self.entry.id.into()),
                list.into(),
                self.entry.list_count.into(),
            ));
        }
        let width = self.entry.end_width;
        let bit = self.entry.first_bit + u64::from(list) * u64::from(width);
        let (start, end) = match list.checked_sub(1) {
            None => (0, self.view.members.get(bit, width)?),
            Some(_) if width <= 24 => {
                // One load for both.
                let both = self.view.members.get(bit - u64::from(width), 2 * width)?;
                (both & mask(width), both >> width)
            }
            Some(_) => (self.view.members.get(bit - u64::from(width), width)?, self.view.members.get(bit, width)?),
        };
        if start >= end || end > u64::from(self.entry.member_count) {
            return Err(corrupt(
                Rule::PoolLists,
                Place::List(self.entry.id, list),
                end,
                self.entry.member_count.into(),
            ));
        }
        Ok((low32(start), low32(end)))
    }

    /// Returns the number of members of list `list`.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged or the pool does not have the list.
    #[inline]
    pub fn list_len(&self, list: u32) -> Result<u32> {
        let (start, end) = self.ends(list)?;
        Ok(end - start)
    }

    /// Appends the end of each list: the number of members of all lists up to it. All at once is faster than list by
    /// list.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn push_ends(&self, ends: &mut Vec<u32>) -> Result<()> {
        let known = ends.len();
        let count = u64::from(self.entry.list_count);
        let is_read = self.view.members.push_fields(self.entry.first_bit, self.entry.end_width, count, ends).is_ok();
        let new = ends.get(known..).unwrap_or_default();
        let are_rising = new.first() > Some(&0) && new.is_sorted_by(|left, right| left < right);
        if !is_read || !are_rising || new.last() > Some(&self.entry.member_count) {
            // The slow way finds the place of the damage.
            ends.truncate(known);
            for list in 0..self.entry.list_count {
                ends.push(self.ends(list)?.1);
            }
        }
        Ok(())
    }

    /// Appends the members of all lists, list by list. All at once is faster than list by list.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn push_members(&self, members: &mut Vec<u32>) -> Result<()> {
        if self.entry.coding.is_split() {
            return self.lists().try_for_each(|list| list?.push_members(members));
        }
        self.view.members.push_fields(
            self.entry.members_bit,
            self.entry.coding.low_width,
            self.entry.member_count.into(),
            members,
        )
    }

    /// Returns the lists, in order. After an error the iterator ends.
    #[must_use]
    pub fn lists(&self) -> impl FusedIterator<Item = Result<List<'data, 'view>>> {
        until_error(self.entry.list_count, |list| self.list(list))
    }

    /// Returns list `list`.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged or the pool does not have the list.
    #[inline]
    pub fn list(&self, list: u32) -> Result<List<'data, 'view>> {
        let (start, end) = self.ends(list)?;
        let (len, max_upper) = (u64::from(end - start), u64::from(self.entry.coding.max_upper));
        if self.entry.coding.is_split() && len + max_upper > MAX_UPPER_BITS {
            return Err(corrupt(Rule::ListUpper, Place::List(self.entry.id, list), len + max_upper, MAX_UPPER_BITS));
        }
        let first_bit = self.bit(list, start);
        Ok(List { view: self.view, pool: self.entry.id, first_bit, coding: self.entry.coding, len: end - start })
    }
}

impl PoolEntry {
    fn read(view: &BlockView<'_>, id: u32) -> Result<Self> {
        let place = Place::Pool(id.into());
        let catalogue = &view.frame.catalogue;
        let Some(record) = catalogue.pools.get(&view.catalogue, id) else {
            return Err(corrupt(Rule::ColumnDomain, place, id.into(), catalogue.pools.count.into()));
        };
        let [table, list_count, member_count, low_width, offset] = record?;
        let inner = catalogue.inner_end();
        if table >= u64::from(inner) {
            return Err(corrupt(Rule::PoolTable, place, table, inner.into()));
        }
        // Lists have members; with that, the section's length bounds the number of lists.
        if list_count == 0 || list_count > member_count {
            return Err(corrupt(Rule::PoolLists, place, list_count, member_count));
        }
        let row_count = view.row_count(low32(table))?;
        let end_width = width(member_count);
        let first_bit = offset * 8;
        let members_bit = bytes_for(first_bit + list_count * u64::from(end_width)) * 8;
        if low_width > MAX_CODE_WIDTH.into() {
            return Err(corrupt(Rule::ListUpper, place, low_width, MAX_CODE_WIDTH.into()));
        }
        let coding = Coding::new(low32(low_width), row_count);
        let bits = coding.bits(list_count, member_count).and_then(|bits| bits.checked_add(members_bit));
        let end = bits.unwrap_or(u64::MAX);
        if end > view.members.field_bits() {
            return Err(corrupt(Rule::MembersExtent, place, end, view.members.field_bits()));
        }
        // Members of a list are distinct rows; with that, the section's length bounds their count.
        if member_count > list_count.saturating_mul(row_count.into()) {
            return Err(corrupt(Rule::ListMembers, place, member_count, list_count.saturating_mul(row_count.into())));
        }
        Ok(Self {
            id,
            table: low32(table),
            list_count: low32(list_count),
            member_count: low32(member_count),
            first_bit,
            end_width,
            members_bit,
            coding,
        })
    }
}

/// A list: strictly increasing row numbers of the pool's table.
#[derive(Clone, Copy, Debug)]
pub struct List<'data, 'view> {
    view: &'view BlockView<'data>,
    pool: u32,
    /// First bit of its first field in the members section.
    first_bit: u64,
    coding: Coding,
    len: u32,
}

impl<'data> List<'data, '_> {
    /// Returns the number of members, at least one.
    #[expect(clippy::len_without_is_empty, reason = "a list is never empty")]
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Returns the members, in order. After an error the iterator ends. In a split list each member costs a count of
    /// the upper bits before it, at most [`MAX_UPPER_BITS`]: [`Self::push_members`] reads them once.
    #[must_use]
    pub fn members(&self) -> impl FusedIterator<Item = Result<u32>> {
        until_error(self.len, |place| self.get(place))
    }

    /// Returns member `place`, a row of the pool's table. In a split list it costs a count of the upper bits before it.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged or the list has fewer members.
    #[inline]
    pub fn get(&self, place: u32) -> Result<u32> {
        if place >= self.len {
            let pool = Place::Pool(self.pool.into());
            return Err(corrupt(Rule::ListMembers, pool, place.into(), self.len.into()));
        }
        let field = self.field(place)?;
        if self.coding.is_split() { self.split_member(place, field) } else { Ok(low32(field)) }
    }

    #[inline]
    fn field(&self, place: u32) -> Result<u64> {
        let width = self.coding.low_width;
        self.view.members.get(self.first_bit + u64::from(place) * u64::from(width), width)
    }

    /// Returns a member of a split list, whose low bits are `low`. Costs a count of the upper bits before it.
    fn split_member(&self, place: u32, low: u64) -> Result<u32> {
        let one = self.upper()?.select_one(place).ok_or_else(|| self.wrong_upper_bits())?;
        Ok(self.joined(one.saturating_sub(place.into()), low))
    }

    /// Returns the member with these upper and low bits.
    fn joined(&self, upper: u64, low: u64) -> u32 {
        low32(upper << self.coding.low_width | low)
    }

    /// Returns the upper bits of a split list.
    fn upper(&self) -> Result<Upper<'data>> {
        let first_bit = self.first_bit + u64::from(self.len) * u64::from(self.coding.low_width);
        let len = u64::from(self.len) + u64::from(self.coding.max_upper);
        // Bits of all lists were checked when the pool was opened, so that only a checksum can be wrong.
        Ok(Upper::new(self.view.members.window(first_bit, len)?, len))
    }

    fn wrong_upper_bits(&self) -> Error {
        corrupt_at(Rule::ListUpper, Place::Pool(self.pool.into()))
    }

    /// Returns the number of ones among the upper bits, which must be the number of members. Plain lists have none.
    pub(crate) fn upper_ones(&self) -> Result<Option<u64>> {
        self.coding.is_split().then(|| Ok(self.upper()?.ones())).transpose()
    }

    /// Appends all members to `members`.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn push_members(&self, members: &mut Vec<u32>) -> Result<()> {
        self.push_some_members(0..self.len, members)
    }

    /// Appends the members in some places to `members`. Places out of range are skipped.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn push_some_members(&self, places: Range<u32>, members: &mut Vec<u32>) -> Result<()> {
        let places = places.start..places.end.min(self.len);
        if self.coding.is_split() {
            return self.push_split(places, members);
        }
        let width = self.coding.low_width;
        let first_bit = self.first_bit + u64::from(places.start) * u64::from(width);
        let count = u64::from(places.end.saturating_sub(places.start));
        self.view.members.push_fields(first_bit, width, count, members)
    }

    /// Appends the members of a split list in some places: the fields first, all at once, then their upper parts.
    fn push_split(&self, places: Range<u32>, members: &mut Vec<u32>) -> Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        let upper = self.upper()?;
        let width = self.coding.low_width;
        let first_bit = self.first_bit + u64::from(places.start) * u64::from(width);
        let known = members.len();
        self.view.members.push_fields(first_bit, width, (places.end - places.start).into(), members)?;
        let fields = members.get_mut(known..).unwrap_or_default();
        if upper.join(places.start, width, fields) { Ok(()) } else { Err(self.wrong_upper_bits()) }
    }

    /// Returns the position of a row in the list, or `None` if it is not there; costs as [`List::binary_search`].
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn position(&self, row: u32) -> Result<Option<u32>> {
        Ok(self.binary_search(row)?.ok())
    }

    /// Returns the position of a row in the list or, as an error, the number of members before it, like the function
    /// of slices. In a split list it costs a count of upper bits, and a binary search among the members with the same
    /// upper part.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn binary_search(&self, row: u32) -> Result<std::result::Result<u32, u32>> {
        if !self.coding.is_split() {
            return binary_search(self.len, |place| Ok(self.get(place)?.cmp(&row)));
        }
        let upper_part = row.checked_shr(self.coding.low_width).unwrap_or(0);
        if upper_part > self.coding.max_upper {
            return Ok(Err(self.len));
        }
        // Members with this upper part are the ones between two zeros.
        let upper = self.upper()?;
        let start = match upper_part.checked_sub(1) {
            Some(zero) => upper.select_zero(zero).ok_or_else(|| self.wrong_upper_bits())? + 1,
            None => 0,
        };
        // Both ends are the same for a damaged list with too many ones.
        let first = low32(start).saturating_sub(upper_part).min(self.len);
        let count = low32(upper.ones_from(start)).min(self.len - first);
        let low = u64::from(row) & mask(self.coding.low_width);
        let found = binary_search(count, |place| Ok(self.field(first.saturating_add(place))?.cmp(&low)))?;
        Ok(found.map(|place| first + place).map_err(|place| first + place))
    }
}
