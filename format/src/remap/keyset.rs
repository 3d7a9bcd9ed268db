//! Keysets of a remap: the start of each, and the layout of its rows (remap spec, sections 3 and 4).

use std::ops::Range;

use super::RemapPlace::{Group as AtGroup, Keyset as AtKeyset, Part as AtPart};
use super::error::{corrupt_at, refuse_if};
use super::layout::{REMAP_GROUP_KEYSETS, REMAP_SLICE_ROWS};
use super::view::{RemapView, Span};
use super::{RemapError, RemapRule};
use crate::bits::width;
use crate::number::low32;

/// Start of a keyset: a GROUP record, plus the sizes of the group's keysets before this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub series: u64,
    /// First bit among the rows.
    pub rows: u64,
    pub part: u64,
    /// Added to the smallest base of each part of the group.
    pub floor: u64,
}

/// A KEYSET record, and the values derived from the records before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keyset {
    pub number: u32,
    pub series: Span,
    pub row_count: u64,
    pub row_len: u64,
    pub parts: Span,
    /// Floor of its group.
    pub floor: u64,
    pub pattern: u64,
    pub pattern_width: u32,
    pub layout: RowsLayout,
}

impl Keyset {
    /// Start of the next keyset, if it is in the same group.
    pub(super) fn end(&self) -> Start {
        let rows = self.layout.first_bit.saturating_add(self.layout.len(self.row_count));
        Start { series: self.series.end, rows, part: self.parts.end, floor: self.floor }
    }
}

/// A PART record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The smallest base less the floor of the group.
    pub least_base: u64,
    pub base_width: u32,
    pub width: u32,
    /// True if a row's shift is the sum of the fields up to its own.
    pub is_summed: bool,
}

/// Layout of the rows of a keyset in the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowsLayout {
    /// The first bit of the first slice.
    pub first_bit: u64,
    /// Bits of an anchor, the bases of all parts included.
    pub head: u64,
    pub anchor_width: u32,
    /// Bits of a row.
    pub row: u64,
}

impl RowsLayout {
    fn slice_bits(&self) -> u64 {
        self.head.saturating_add(self.row.saturating_mul(REMAP_SLICE_ROWS.into()))
    }

    /// Returns the first bit of a slice.
    pub(super) fn slice(&self, slice: u64) -> u64 {
        self.first_bit.saturating_add(slice.saturating_mul(self.slice_bits()))
    }

    /// Returns the first bit of a row.
    pub(super) fn row(&self, row: u64) -> u64 {
        let in_slice = row % u64::from(REMAP_SLICE_ROWS);
        let slice = self.slice(row / u64::from(REMAP_SLICE_ROWS));
        slice.saturating_add(self.head).saturating_add(in_slice.saturating_mul(self.row))
    }

    /// Returns the number of bits of `row_count` rows.
    pub(super) fn len(&self, rows: u64) -> u64 {
        let slices = rows.div_ceil(REMAP_SLICE_ROWS.into());
        slices.saturating_mul(self.head).saturating_add(rows.saturating_mul(self.row))
    }
}

/// Returns the first number of a range for which `is_before` is false, or its end; the start of an empty range.
pub(super) fn partition(
    range: Range<u64>,
    mut is_before: impl FnMut(u64) -> Result<bool, RemapError>,
) -> Result<u64, RemapError> {
    let Range { start: mut low, end: mut high } = range;
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle)? { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}

impl RemapView<'_> {
    /// Returns the start of the first keyset of a group.
    pub(super) fn group(&self, number: u32) -> Result<Start, RemapError> {
        let [series, rows, part, floor] = self.record(&self.frame.groups, number.into(), AtGroup(number.into()))?;
        Ok(Start { series, rows, part, floor })
    }

    /// Returns the keyset that starts here. Costs O(parts); there is one part unless the compaction had shards.
    pub(super) fn keyset(&self, number: u32, start: Start) -> Result<Keyset, RemapError> {
        let at = AtKeyset(number.into());
        let [series, row_len, pattern, pattern_width, part_count] =
            self.record(&self.frame.keysets, number.into(), at)?;
        let parts = Span { start: start.part, end: start.part.saturating_add(part_count) };
        let all_parts = u64::from(self.frame.header.part_count.get());
        refuse_if(parts.end > all_parts, RemapRule::Keysets, at, parts.end, all_parts)?;
        refuse_if(pattern_width > 32, RemapRule::RowFields, at, pattern_width, 32)?;
        // Rows of several lengths begin with their number.
        let anchor_width = if row_len > 0 { 0 } else { width(series) };
        let row_count = match series.checked_div(row_len) {
            Some(rows) => rows,
            None => self.field(start.rows, anchor_width, number)?,
        };
        let first_bit = start.rows.saturating_add(anchor_width.into());
        let mut layout = RowsLayout { first_bit, head: anchor_width.into(), anchor_width, row: pattern_width };
        for part in parts.start..parts.end {
            let part = self.part(part)?;
            layout.head += u64::from(part.base_width);
            layout.row += u64::from(part.width);
        }
        Ok(Keyset {
            number,
            series: Span { start: start.series, end: start.series.saturating_add(series) },
            row_count,
            row_len,
            parts,
            floor: start.floor,
            pattern,
            pattern_width: low32(pattern_width),
            layout,
        })
    }

    /// Returns the keyset of a series, or `None` if the series is out of range.
    pub(super) fn keyset_with(&self, series: u64) -> Result<Option<Keyset>, RemapError> {
        let groups = self.frame.groups.count;
        let low = low32(partition(1..groups.into(), |group| Ok(self.group(low32(group))?.series <= series))?);
        // The last group that does not start behind the series.
        let found = self.last_until(low - 1, |keyset| keyset.series.end > series)?;
        match found.filter(|keyset| keyset.series.end > series) {
            Some(keyset) if keyset.series.start <= series => Ok(Some(keyset)),
            None if low >= groups => Ok(None),
            _ => Err(corrupt_at(RemapRule::Groups, AtGroup((low - 1).into()))),
        }
    }

    /// Returns the number of series of the input. Costs O(1).
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn series_count(&self) -> Result<u64, RemapError> {
        let Some(last) = self.frame.groups.count.checked_sub(1) else { return Ok(0) };
        Ok(self.last_until(last, |_| false)?.map_or(0, |keyset| keyset.series.end))
    }

    /// Returns the first keyset of a group for which `is_wanted` is true, or else the last one; `None` if there is no
    /// such group.
    fn last_until(&self, group: u32, is_it: impl Fn(&Keyset) -> bool) -> Result<Option<Keyset>, RemapError> {
        let first = group.saturating_mul(REMAP_GROUP_KEYSETS);
        let end = self.frame.keysets.count.min(first.saturating_add(REMAP_GROUP_KEYSETS));
        if first >= end {
            return Ok(None);
        }
        let mut keyset = self.keyset(first, self.group(group)?)?;
        while !is_it(&keyset) && keyset.number + 1 < end {
            keyset = self.keyset(keyset.number + 1, keyset.end())?;
        }
        Ok(Some(keyset))
    }

    pub(super) fn part(&self, number: u64) -> Result<Part, RemapError> {
        let [least_base, base_width, width, summed] = self.record(&self.frame.parts, number, AtPart(number))?;
        refuse_if(base_width.max(width) > 48, RemapRule::RowFields, AtPart(number), base_width.max(width), 48)?;
        Ok(Part { least_base, base_width: low32(base_width), width: low32(width), is_summed: summed > 0 })
    }
}
