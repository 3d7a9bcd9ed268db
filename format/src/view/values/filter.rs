//! [`ValueFilter`]: series with some values.

use std::ops::{Range, RangeInclusive};

use super::column::SeriesColumn;
use super::numbers::{GROUP_LEN, Group};
use crate::column::ValueType;
use crate::layout::VALUE_GROUP;
use crate::number::index;
use crate::{Result, SeriesRef};

/// A bit for each series of a group, the first in the lowest.
type Bitmap = [u64; GROUP_LEN / 64];

/// Series of a column with a number in a range. Made by [`SeriesColumn::filter`].
#[derive(Clone, Debug)]
pub struct ValueFilter<'a> {
    column: SeriesColumn<'a>,
    /// Wanted numbers in units of the column.
    numbers: RangeInclusive<i128>,
    has_absent: bool,
    /// Group that was compared last, and its wanted series.
    compared: Option<(u32, Bitmap)>,
}

impl<'a> SeriesColumn<'a> {
    /// Returns a filter of the series whose value is a number from `values`, and of those without a value if
    /// `has_absent`. Bytes are no numbers.
    #[must_use]
    pub fn filter(&self, values: &RangeInclusive<i128>, has_absent: bool) -> ValueFilter<'a> {
        let unit = i128::from(self.unit()).max(1);
        // Bounds beyond all numbers say as much as the next number behind the last.
        let bound = |value: &i128| (*value).clamp(i128::from(i64::MIN) - 1, i128::from(u64::MAX) + 1);
        let (first, last) = (-(-bound(values.start())).div_euclid(unit), bound(values.end()).div_euclid(unit));
        let is_number = self.value_type() != ValueType::Bytes;
        let numbers = if is_number { first..=last } else { RangeInclusive::new(1, 0) };
        ValueFilter { column: *self, numbers, has_absent, compared: None }
    }
}

impl ValueFilter<'_> {
    /// Calls `each` with ranges of those of some series that pass the filter, in order; ranges may touch. Costs the
    /// record of a group where its bounds decide for all of its 256 series, and else one to two nanoseconds per series
    /// of the group, once for calls in a row. Allocates nothing.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged; `each` was called with the ranges before.
    pub fn ranges<E: From<crate::Error>>(
        &mut self,
        series: Range<SeriesRef>,
        mut each: impl FnMut(Range<u32>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let end = series.end.0.min(self.column.values.count);
        let mut next = series.start.0;
        while next < end {
            let number = next / VALUE_GROUP;
            let start = number * VALUE_GROUP;
            let group_end = start.saturating_add(VALUE_GROUP).min(end);
            each_run(&self.compare(number)?, start, next..group_end, &mut each)?;
            next = group_end;
        }
        Ok(())
    }

    /// Returns the wanted series of a group.
    fn compare(&mut self, number: u32) -> Result<Bitmap> {
        if let Some((_, wanted)) = self.compared.filter(|(compared, _)| *compared == number) {
            return Ok(wanted);
        }
        let values = &self.column.values;
        let group = values.group(number)?;
        let codes = self.codes(&group);
        let wanted = match codes.and_then(|codes| codes.decide(&group)) {
            Some(all) => [if all { u64::MAX } else { 0 }; GROUP_LEN / 64],
            None => {
                let mut decoded = [0; GROUP_LEN];
                let decoded = values.codes(number, &group, &mut decoded)?;
                match codes {
                    Some(codes) => bitmap(decoded, |code| codes.has(code)),
                    None => bitmap(decoded, |code| match group.number(code) {
                        Some(bits) => self.numbers.contains(&self.number(bits)),
                        None => self.has_absent,
                    }),
                }
            }
        };
        self.compared = Some((number, wanted));
        Ok(wanted)
    }

    /// Returns the number that 64 bits stand for.
    fn number(&self, bits: u64) -> i128 {
        if self.column.value_type() == ValueType::I64 { bits.cast_signed().into() } else { bits.into() }
    }

    /// Returns the wanted codes of a group, or `None` if its numbers wrap around: codes have another order then.
    fn codes(&self, group: &Group) -> Option<Codes> {
        let shift = u64::from(group.has_absent);
        let (_, high) = group.bounds();
        let base = self.number(group.base);
        let is_signed = self.column.value_type() == ValueType::I64;
        let most = if is_signed { i128::from(i64::MAX) } else { i128::from(u64::MAX) };
        if base + i128::from(high.saturating_sub(shift)) > most {
            return None;
        }
        let code = |number: &i128| number - base + i128::from(shift);
        let low = u64::try_from(code(self.numbers.start()).max(shift.into()));
        let high = u64::try_from(code(self.numbers.end()).min(u64::MAX.into()));
        // Below all codes, or above them, there is none.
        let (low, high) = low.ok().zip(high.ok()).unwrap_or((1, 0));
        Some(Codes { low, high, has_zero: group.has_absent && self.has_absent })
    }
}

/// Codes of a group that stand for wanted values.
#[derive(Clone, Copy)]
struct Codes {
    /// First code of wanted numbers.
    low: u64,
    /// Last code of wanted numbers; before the first if there are none.
    high: u64,
    /// True if 0 stands for an absent value that is wanted.
    has_zero: bool,
}

impl Codes {
    #[inline]
    fn has(self, code: u64) -> bool {
        self.low <= code && code <= self.high || self.has_zero && code == 0
    }

    /// Returns true if the bounds of a group say that all its values are wanted, and false if they say that none is.
    fn decide(self, group: &Group) -> Option<bool> {
        let (first, last) = group.bounds();
        let may_be_absent = group.has_absent && first == 0;
        let first_number = first.max(group.has_absent.into());
        let has_numbers = first_number <= last;
        let are_all = self.low <= first_number && last <= self.high;
        let are_none = self.low > self.high || self.high < first_number || last < self.low;
        if (!has_numbers || are_all) && (!may_be_absent || self.has_zero) {
            Some(true)
        } else if (!has_numbers || are_none) && !(may_be_absent && self.has_zero) {
            Some(false)
        } else {
            None
        }
    }
}

/// Returns a bit for each code: whether it passes.
fn bitmap(codes: &[u64], passes: impl Fn(u64) -> bool) -> Bitmap {
    let mut bitmap = Bitmap::default();
    for (word, codes) in bitmap.iter_mut().zip(codes.chunks(64)) {
        *word = codes.iter().rev().fold(0, |word, &code| word << 1 | u64::from(passes(code)));
    }
    bitmap
}

/// Calls `each` with the runs of wanted series of a group that starts with series `start`, among those of `series`.
fn each_run<E>(
    wanted: &Bitmap,
    start: u32,
    series: Range<u32>,
    each: &mut impl FnMut(Range<u32>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut next = series.start;
    let mut run = next..next;
    while next < series.end {
        let row = next - start;
        let rest = wanted.get(index(row / 64)).map_or(0, |word| word >> (row % 64));
        // The group of the last refs ends behind all numbers.
        let end_of = |rows: u32| next.saturating_add(rows.min(64 - row % 64)).min(series.end);
        if rest & 1 == 0 {
            next = end_of(rest.trailing_zeros());
            continue;
        }
        if run.end != next && !run.is_empty() {
            each(run.clone())?;
        }
        run = if run.end == next { run.start..next } else { next..next };
        next = end_of(rest.trailing_ones());
        run.end = next;
    }
    if run.is_empty() { Ok(()) } else { each(run) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_those_of_a_list_of_bits_also_for_the_last_refs() {
        let words = [0, u64::MAX, 1, 1 << 63, 0xF0F0_0000_0000_000F, !1, u64::MAX >> 1];
        for (number, start) in (0..4_000_usize).flat_map(|number| [0, 512, u32::MAX - 255].map(|start| (number, start)))
        {
            let wanted: Bitmap = [0, 1, 2, 3].map(|word| words[number / 7_usize.pow(word) % 7]);
            let (first, last) = ((number % 256) as u32, (number / 5 % 257) as u32);
            let series = start + first..start.saturating_add(last);
            let mut found = Vec::new();
            let mut each = |run: Range<u32>| {
                assert!(!run.is_empty());
                found.extend(run);
                Ok::<(), ()>(())
            };
            each_run(&wanted, start, series.clone(), &mut each).unwrap();
            let is_wanted = |series: &u32| wanted[(series - start) as usize / 64] >> ((series - start) % 64) & 1 == 1;
            assert_eq!(found, series.filter(is_wanted).collect::<Vec<_>>(), "{number} at {start}");
        }
    }
}
