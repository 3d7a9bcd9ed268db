//! [`Numbers`]: an array of numbers in groups (COLUMNS.md, sections 2 and 3).

use zerocopy::FromBytes;

use crate::bits::{Bits, bytes_for};
use crate::error::{Place, corrupt, corrupt_at};
use crate::layout::{MAX_CODE_WIDTH, MAX_OFFSET_WIDTH, NumbersHeader, STREAM_TAIL, VALUE_GROUP};
use crate::number::{index, length, low32};
use crate::unpack::Run;
use crate::view::Records;
use crate::{Result, Rule};

/// [`VALUE_GROUP`] as the length of an array.
pub(crate) const GROUP_LEN: usize = 256;
const _: () = assert!(VALUE_GROUP == 256);

/// Widest field of a number, in bits.
const MAX_NUMBER_WIDTH: u32 = 64;

/// Largest widths of the fields of a GROUP record.
const MAX_GROUP_WIDTHS: [u8; 8] = [MAX_CODE_WIDTH, MAX_CODE_WIDTH, MAX_OFFSET_WIDTH, 7, 8, 7, 1, MAX_OFFSET_WIDTH];

/// An array of numbers of 64 bits, some of them absent, in a section.
#[derive(Clone, Copy)]
pub(crate) struct Numbers<'a> {
    pub bits: Bits<'a>,
    /// Column that errors name.
    column: u32,
    pub count: u32,
    pub groups: Records<8>,
    /// First byte of the groups in the section.
    pub groups_start: u64,
    pub groups_len: u64,
}

/// Fields of a GROUP record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub base: u64,
    pub common: u64,
    pub width: u32,
    pub exceptions: u32,
    pub exception_width: u32,
    pub has_absent: bool,
    /// First byte of the group, from the first one of all groups.
    pub start: u64,
    /// Numbers of the group.
    pub rows: u32,
}

impl Group {
    /// Returns the number of a code, or `None` if it is absent.
    #[inline]
    pub fn number(&self, code: u64) -> Option<u64> {
        let code = if self.has_absent { code.checked_sub(1)? } else { code };
        Some(self.base.wrapping_add(code))
    }

    /// Returns bounds of the codes, both inclusive.
    pub fn bounds(&self) -> (u64, u64) {
        let most = |width: u32| if width < u64::BITS { (1 << width) - 1 } else { u64::MAX };
        let high = self.common.saturating_add(most(self.width));
        match self.exceptions {
            0 => (self.common, high),
            _ => (0, high.max(most(self.exception_width))),
        }
    }

    /// Returns the bytes of the group.
    pub fn len(&self) -> u64 {
        let exceptions = u64::from(self.exceptions);
        let bits = exceptions * u64::from(self.exception_width) + u64::from(self.rows) * u64::from(self.width);
        exceptions + bytes_for(bits)
    }
}

impl<'a> Numbers<'a> {
    /// Places an array that starts at byte `start` of the section of a column. Costs O(1).
    pub fn open(bits: Bits<'a>, section: &'a [u8], start: u64, column: u32) -> Result<Self> {
        let place = Place::SeriesColumn(column);
        let header_len = length(size_of::<NumbersHeader>());
        let rest = usize::try_from(start).ok().and_then(|start| section.get(start..)).unwrap_or_default();
        let (header, _) = NumbersHeader::ref_from_prefix(rest)
            .map_err(|_| corrupt(Rule::ValueHeader, place, length(rest.len()), header_len))?;
        bits.touch(start, header_len)?;
        let wide = header.group_widths.into_iter().zip(MAX_GROUP_WIDTHS).find(|(width, max)| width > max);
        if let Some((width, max)) = wide {
            return Err(corrupt(Rule::ValueHeader, place, width.into(), max.into()));
        }
        let count = header.count.get();
        let records = (start + header_len) * 8;
        let groups = Records::new(records, count.div_ceil(VALUE_GROUP), header.group_widths);
        let groups_start = groups.slack().1 / 8;
        let numbers = Self { bits, column, count, groups, groups_start, groups_len: header.groups_len.get() };
        let expected = numbers.end();
        if expected > length(section.len()) {
            return Err(corrupt(Rule::ValueLength, place, length(section.len()), expected));
        }
        Ok(numbers)
    }

    /// Returns the first byte of the section behind the array.
    pub fn end(&self) -> u64 {
        self.groups_start.saturating_add(self.groups_len).saturating_add(STREAM_TAIL)
    }

    /// Returns the groups to verify, with how many there are of each in turn. If records have no bits, all groups are
    /// the same but for the last, which may have fewer rows: few bytes can stand for very many.
    pub fn distinct_groups(&self) -> impl Iterator<Item = (u32, u64)> {
        let (count, is_each) = (self.groups.count, self.groups.is_bounded());
        let last = count.saturating_sub(1);
        let each = if is_each { 0..count } else { 0..0 };
        let same = if is_each { None } else { Some([(0, u64::from(last)), (last, 1)]) };
        each.map(|group| (group, 1)).chain(same.into_iter().flatten())
    }

    /// Returns group `group`, which must be in range.
    #[inline]
    pub fn group(&self, group: u32) -> Result<Group> {
        let place = Place::ValueGroup(self.column, group);
        let Some(record) = self.groups.get(&self.bits, group) else {
            return Err(corrupt(Rule::ValueGroups, place, group.into(), self.groups.count.into()));
        };
        let [low, high, common, width, exceptions, exception_width, has_absent, start] = record?;
        let rows = self.count.saturating_sub(group.saturating_mul(VALUE_GROUP)).min(VALUE_GROUP);
        let found = Group {
            base: low | high << 32,
            common,
            width: low32(width),
            exceptions: low32(exceptions),
            exception_width: low32(exception_width),
            has_absent: has_absent > 0,
            start,
            rows,
        };
        if found.width.max(found.exception_width) > MAX_NUMBER_WIDTH || found.exceptions > rows {
            return Err(corrupt_at(Rule::ValueGroups, place));
        }
        // The closing bytes of the array follow the groups, so that a word of any field is inside.
        if start.saturating_add(found.len()) > self.groups_len {
            return Err(corrupt(Rule::ValueGroups, place, start, self.groups_len));
        }
        Ok(found)
    }

    /// Returns number `number`, or `None` if it is absent or out of range.
    #[inline]
    pub fn get(&self, number: u32) -> Result<Option<u64>> {
        if number >= self.count {
            return Ok(None);
        }
        let (place, row) = (number / VALUE_GROUP, number % VALUE_GROUP);
        let group = self.group(place)?;
        if let Some(exception) = self.exception(&group, row)? {
            let code = self.bits.get_wide(self.exception_bit(&group, exception), group.exception_width)?;
            return Ok(group.number(code));
        }
        let field = self.row_field(&group, row)?;
        let code = group.common.checked_add(field);
        let code = code.ok_or_else(|| corrupt_at(Rule::ValueRange, Place::Value(self.column, number)))?;
        Ok(group.number(code))
    }

    /// Returns the number of the exception of a row, or `None` if it has none. Costs a binary search.
    #[inline]
    fn exception(&self, group: &Group, row: u32) -> Result<Option<u32>> {
        let (mut low, mut high) = (0, group.exceptions);
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.exception_row(group, middle)?;
            if found == row {
                return Ok(Some(middle));
            }
            if found < row { low = middle + 1 } else { high = middle }
        }
        Ok(None)
    }

    /// Returns the row of an exception.
    pub fn exception_row(&self, group: &Group, exception: u32) -> Result<u32> {
        self.bits.get((self.groups_start + group.start + u64::from(exception)) * 8, 8).map(low32)
    }

    /// Returns the bit at which the field of an exception starts.
    #[inline]
    fn exception_bit(&self, group: &Group, exception: u32) -> u64 {
        let first = (self.groups_start + group.start + u64::from(group.exceptions)) * 8;
        first + u64::from(exception) * u64::from(group.exception_width)
    }

    /// Returns the bit at which the field of a row starts.
    #[inline]
    pub fn row_bit(&self, group: &Group, row: u32) -> u64 {
        // Rows follow the exceptions.
        self.exception_bit(group, group.exceptions) + u64::from(row) * u64::from(group.width)
    }

    /// Returns the field of a row.
    #[inline]
    pub fn row_field(&self, group: &Group, row: u32) -> Result<u64> {
        self.bits.get_wide(self.row_bit(group, row), group.width)
    }

    /// Decodes the codes of a group; a single one if all rows have it.
    ///
    /// # Errors
    /// As [`Numbers::codes`].
    pub fn distinct_codes<'o>(&self, number: u32, group: &Group, out: &'o mut [u64; GROUP_LEN]) -> Result<&'o [u64]> {
        if group.width > 0 || group.exceptions > 0 {
            return self.codes(number, group, out);
        }
        let [first, ..] = out;
        *first = group.common;
        Ok(std::slice::from_ref(first))
    }

    /// Decodes the codes of a group, and returns as many as it has rows.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged, and for exceptions that are no rows or not in order.
    pub fn codes<'o>(&self, number: u32, group: &Group, out: &'o mut [u64; GROUP_LEN]) -> Result<&'o [u64]> {
        let out = out.get_mut(..index(group.rows)).unwrap_or_default();
        if group.width <= u32::BITS {
            let mut narrow = [0; GROUP_LEN];
            let narrow = narrow.get_mut(..out.len()).unwrap_or_default();
            let start = self.row_bit(group, 0);
            self.bits.unpack(Run { start, stride: group.width, width: group.width, base: 0 }, narrow)?;
            out.iter_mut().zip(narrow).for_each(|(code, &mut field)| *code = field.into());
        } else {
            for (code, row) in out.iter_mut().zip(0..) {
                *code = self.row_field(group, row)?;
            }
        }
        // The first row behind the last exception.
        let mut next = 0;
        for exception in 0..group.exceptions {
            let row = index(self.exception_row(group, exception)?);
            self.add_common(number, group, next, out.get_mut(next..row))?;
            let place = out.get_mut(row).filter(|_| row >= next);
            let out_of_order = || corrupt_at(Rule::ValueGroups, Place::ValueGroup(self.column, number));
            let bit = self.exception_bit(group, exception);
            *place.ok_or_else(out_of_order)? = self.bits.get_wide(bit, group.exception_width)?;
            next = row + 1;
        }
        self.add_common(number, group, next, out.get_mut(next..))?;
        Ok(out)
    }

    /// Adds the common code to the fields of some rows, from row `first` of the group on.
    fn add_common(&self, number: u32, group: &Group, first: usize, fields: Option<&mut [u64]>) -> Result<()> {
        let Some(fields) = fields.filter(|_| group.common > 0) else { return Ok(()) };
        let mut has_overflow = false;
        for code in fields.iter_mut() {
            let (sum, overflows) = code.overflowing_add(group.common);
            has_overflow |= overflows;
            *code = sum;
        }
        if has_overflow {
            let row = fields.iter().position(|&sum| sum < group.common).unwrap_or_default();
            let series = u64::from(number) * u64::from(VALUE_GROUP) + length(first + row);
            return Err(corrupt_at(Rule::ValueRange, Place::Value(self.column, low32(series))));
        }
        Ok(())
    }
}
