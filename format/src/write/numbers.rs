//! Packs number arrays (COLUMNS.md, sections 2 and 3).

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{U32, U64};

use super::catalogue::{pack, widths};
use crate::bits::{BitWriter, bytes_for, mask, width};
use crate::layout::{MAX_OFFSET_WIDTH, NumbersHeader, STREAM_TAIL};
use crate::number::{index, length, low32};
use crate::view::GROUP_LEN;

/// Packs numbers group by group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NumbersWriter {
    count: u32,
    /// Numbers of the last group, which is not full.
    group: Vec<Option<u64>>,
    records: Vec<[u64; 8]>,
    groups: Vec<u8>,
}

/// Codes of a group, with what they stand for.
struct Codes {
    codes: Vec<u64>,
    base: u64,
    has_absent: bool,
}

/// A way to pack the codes of a group: those that are not exceptions are `common` and a field.
#[derive(Clone, Copy)]
struct Choice {
    common: u64,
    width: u32,
    exceptions: u32,
    exception_width: u32,
}

impl NumbersWriter {
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// Appends a number, or none.
    pub(super) fn push(&mut self, number: Option<u64>) {
        self.count = self.count.saturating_add(1);
        self.group.push(number);
        if self.group.len() == GROUP_LEN {
            self.end_group();
        }
    }

    fn end_group(&mut self) {
        let codes = Codes::new(&self.group);
        let choice = codes.choose();
        self.records.push([
            codes.base & mask(32),
            codes.base >> 32,
            choice.common,
            choice.width.into(),
            choice.exceptions.into(),
            choice.exception_width.into(),
            codes.has_absent.into(),
            length(self.groups.len()),
        ]);
        codes.pack(choice, &mut self.groups);
        self.group.clear();
    }

    /// Appends the array to a section.
    pub(super) fn finish(mut self, section: &mut Vec<u8>) {
        if !self.group.is_empty() {
            self.end_group();
        }
        let header = NumbersHeader {
            count: U32::new(self.count),
            group_widths: widths(&self.records),
            groups_len: U64::new(length(self.groups.len())),
        };
        section.extend_from_slice(header.as_bytes());
        let mut writer = BitWriter::new();
        pack(&mut writer, &self.records, header.group_widths);
        section.extend_from_slice(&writer.finish_aligned());
        section.extend_from_slice(&self.groups);
        section.resize(section.len() + usize::try_from(STREAM_TAIL).unwrap_or_default(), 0);
    }
}

impl Codes {
    fn new(group: &[Option<u64>]) -> Self {
        let has_absent = group.contains(&None);
        let base = lowest(group);
        let shift = u64::from(has_absent);
        // The numbers of a group leave a gap of two or more, so that the sum is a number of 64 bits.
        let code = |number: &Option<u64>| number.map_or(0, |number| number.wrapping_sub(base).wrapping_add(shift));
        Self { codes: group.iter().map(code).collect(), base, has_absent }
    }

    /// Returns the choice with the fewest bytes.
    fn choose(&self) -> Choice {
        let rows = length(self.codes.len());
        let mut by_width = [0_u32; 65];
        for &code in &self.codes {
            if let Some(count) = by_width.get_mut(index(width(code))) {
                *count += 1;
            }
        }
        let widest = (0..=64).rev().find(|&width| by_width.get(index(width)).is_some_and(|&count| count > 0));
        let widest = widest.unwrap_or_default();
        if widest == 0 {
            return Choice { common: 0, width: 0, exceptions: 0, exception_width: 0 };
        }
        let mut best = Choice { common: 0, width: widest, exceptions: 0, exception_width: 0 };
        let mut exceptions = 0;
        for width in (0..widest).rev() {
            exceptions += by_width.get(index(width + 1)).copied().unwrap_or_default();
            let choice = Choice { common: 0, width, exceptions, exception_width: widest };
            best = best.or(choice, rows);
        }
        let (common, count) = self.most_frequent(widest);
        let others = low32(rows) - count;
        if width(common) <= u32::from(MAX_OFFSET_WIDTH) {
            best = best.or(Choice { common, width: 0, exceptions: others, exception_width: widest }, rows);
        }
        best
    }

    /// Returns the code that most rows have, and their number. `widest` is the width of the greatest code.
    fn most_frequent(&self, widest: u32) -> (u64, u32) {
        let mut best = (0, 0);
        if widest <= u8::BITS {
            let mut counts = [0_u32; 256];
            for &code in &self.codes {
                if let Some(count) = counts.get_mut(index(low32(code))) {
                    *count += 1;
                }
            }
            for (code, &count) in (0..).zip(&counts) {
                if count > best.1 {
                    best = (code, count);
                }
            }
            return best;
        }
        let mut sorted = self.codes.clone();
        sorted.sort_unstable();
        for run in sorted.chunk_by(|left, right| left == right) {
            let count = low32(length(run.len()));
            if count > best.1 {
                best = (run.first().copied().unwrap_or_default(), count);
            }
        }
        best
    }

    fn pack(&self, choice: Choice, groups: &mut Vec<u8>) {
        let is_exception = |code: u64| match code.checked_sub(choice.common) {
            Some(field) => width(field) > choice.width,
            None => true,
        };
        let mut fields = BitWriter::new();
        for (&code, row) in self.codes.iter().zip(0_u8..=u8::MAX) {
            if is_exception(code) {
                groups.push(row);
                fields.push_wide(code, choice.exception_width);
            }
        }
        for &code in &self.codes {
            let field = if is_exception(code) { 0 } else { code.wrapping_sub(choice.common) };
            fields.push_wide(field, choice.width);
        }
        groups.extend_from_slice(&fields.finish_aligned());
    }
}

impl Choice {
    /// Returns the bytes of `rows` rows.
    fn len(&self, rows: u64) -> u64 {
        let exceptions = u64::from(self.exceptions);
        exceptions + bytes_for(exceptions * u64::from(self.exception_width) + rows * u64::from(self.width))
    }

    /// Returns the other choice if it is smaller and can be written.
    fn or(self, other: Self, rows: u64) -> Self {
        let is_smaller = other.exceptions < 256 && other.len(rows) < self.len(rows);
        if is_smaller { other } else { self }
    }
}

/// Returns the number from which on, counting upwards modulo 2^64, all numbers are within the least distance: the one
/// behind the largest gap. So numbers around 0 are near each other, whether they are signed or not.
fn lowest(group: &[Option<u64>]) -> u64 {
    let present = || group.iter().flatten().copied();
    let (Some(first), Some(last)) = (present().min(), present().max()) else { return 0 };
    // The gap from the last to the first number, which most groups have.
    let outer = first.wrapping_sub(last).wrapping_sub(1);
    if outer >= last - first {
        return first;
    }
    let mut sorted: Vec<u64> = present().collect();
    sorted.sort_unstable();
    let (mut base, mut gap) = (first, outer);
    for [left, right] in sorted.array_windows() {
        let between = (right - left).saturating_sub(1);
        if between > gap {
            (base, gap) = (*right, between);
        }
    }
    base
}
