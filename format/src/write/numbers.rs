//! Packs number arrays (COLUMNS.md, sections 2 and 3).

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{U32, U64};

use super::catalogue::{pack, widths};
use crate::bits::{BitWriter, bytes_for, mask, width};
use crate::layout::{MAX_OFFSET_WIDTH, NumbersHeader, STREAM_TAIL};
use crate::number::{index, length, low32};
use crate::view::GROUP_LEN;

/// Odd number that spreads the bits of a code over the upper ones of the product.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Packs numbers group by group.
#[derive(Clone, Debug, Default)]
pub(super) struct NumbersWriter {
    count: u32,
    /// Numbers of the last group, which is not full.
    group: Vec<Option<u64>>,
    records: Vec<[u64; 8]>,
    groups: BitWriter,
}

/// Codes of a group, with what they stand for.
struct Codes {
    codes: [u64; GROUP_LEN],
    rows: usize,
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
            self.groups.aligned_len(),
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
            groups_len: U64::new(self.groups.aligned_len()),
        };
        section.extend_from_slice(header.as_bytes());
        let mut writer = BitWriter::new();
        pack(&mut writer, &self.records, header.group_widths);
        section.extend_from_slice(&writer.finish_aligned());
        section.extend_from_slice(&self.groups.finish_aligned());
        section.resize(section.len() + usize::try_from(STREAM_TAIL).unwrap_or_default(), 0);
    }
}

impl Codes {
    fn new(group: &[Option<u64>]) -> Self {
        let (mut first, mut last, mut has_absent) = (u64::MAX, 0, false);
        for number in group {
            match number {
                Some(number) => (first, last) = (first.min(*number), last.max(*number)),
                None => has_absent = true,
            }
        }
        let base = if first <= last { lowest(group, first, last) } else { 0 };
        let shift = u64::from(has_absent);
        let mut codes = [0; GROUP_LEN];
        for (code, number) in codes.iter_mut().zip(group) {
            // The numbers of a group leave a gap of two or more, so that the sum is a number of 64 bits.
            *code = number.map_or(0, |number| number.wrapping_sub(base).wrapping_add(shift));
        }
        Self { codes, rows: group.len(), base, has_absent }
    }

    fn codes(&self) -> &[u64] {
        self.codes.get(..self.rows).unwrap_or_default()
    }

    /// Returns the choice with the fewest bytes.
    fn choose(&self) -> Choice {
        let rows = length(self.rows);
        let by_width = self.by_width();
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
        let of_common = |common, count| {
            let others = low32(rows) - count;
            Choice { common, width: 0, exceptions: others, exception_width: widest }
        };
        // Equal codes have equal widths, and equal buckets: no code is more frequent than these.
        let may_be_best = |counts: &[u32]| {
            let most = counts.iter().copied().max().unwrap_or_default();
            of_common(0, most).len(rows) < best.len(rows)
        };
        if !may_be_best(&by_width) {
            return best;
        }
        let buckets = self.buckets(widest);
        if !may_be_best(&buckets) {
            return best;
        }
        let (common, count) = self.most_frequent(widest, &buckets);
        if width(common) <= u32::from(MAX_OFFSET_WIDTH) {
            best = best.or(of_common(common, count), rows);
        }
        best
    }

    /// Counts codes by their widths.
    fn by_width(&self) -> [u32; 65] {
        // Two counters of each width: adding to the one that was just written would wait for it.
        let mut counts = [[0_u32; 2]; 65];
        for pair in self.codes().chunks(2) {
            for (code, turn) in pair.iter().zip(0..2) {
                if let Some(count) = counts.get_mut(index(width(*code))).and_then(|counts| counts.get_mut(turn)) {
                    *count += 1;
                }
            }
        }
        counts.map(|[even, odd]| even + odd)
    }

    /// Counts codes in buckets: each code in its own if it has at most 8 bits, as `widest` does.
    fn buckets(&self, widest: u32) -> [u32; 256] {
        let mut buckets = [0_u32; 256];
        for &code in self.codes() {
            let bucket = if widest <= u8::BITS { code } else { code.wrapping_mul(SPREAD) >> (u64::BITS - u8::BITS) };
            if let Some(count) = buckets.get_mut(index(low32(bucket))) {
                *count += 1;
            }
        }
        buckets
    }

    /// Returns the code that most rows have, and their number.
    fn most_frequent(&self, widest: u32, buckets: &[u32; 256]) -> (u64, u32) {
        let mut best = (0, 0);
        if widest <= u8::BITS {
            for (code, &count) in (0..).zip(buckets) {
                if count > best.1 {
                    best = (code, count);
                }
            }
            return best;
        }
        let mut sorted = self.codes;
        let sorted = sorted.get_mut(..self.rows).unwrap_or_default();
        sorted.sort_unstable();
        for run in sorted.chunk_by(|left, right| left == right) {
            let count = low32(length(run.len()));
            if count > best.1 {
                best = (run.first().copied().unwrap_or_default(), count);
            }
        }
        best
    }

    fn pack(&self, choice: Choice, groups: &mut BitWriter) {
        let Choice { common, width: field_width, exceptions, exception_width } = choice;
        let is_exception =
            |code: u64| exceptions > 0 && code.checked_sub(common).is_none_or(|field| width(field) > field_width);
        if exceptions > 0 {
            let found = || (0_u64..).zip(self.codes()).filter(|(_, code)| is_exception(**code));
            found().for_each(|(row, _)| groups.push(row, u8::BITS));
            found().for_each(|(_, &code)| groups.push_wide(code, exception_width));
        }
        if field_width > 0 {
            for &code in self.codes() {
                groups.push_wide(if is_exception(code) { 0 } else { code.wrapping_sub(common) }, field_width);
            }
        }
        groups.align();
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
/// behind the largest gap. So numbers around 0 are near each other, whether they are signed or not. `first` and `last`
/// are the least and the greatest number.
fn lowest(group: &[Option<u64>], first: u64, last: u64) -> u64 {
    // The gap from the last to the first number, which most groups have.
    let outer = first.wrapping_sub(last).wrapping_sub(1);
    if outer >= last - first {
        return first;
    }
    let mut sorted: Vec<u64> = group.iter().flatten().copied().collect();
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
