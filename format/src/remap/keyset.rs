//! Keysets of a remap: the start of each, and the layout of its rows (remap spec, sections 3 and 4).

use super::RemapPlace::{Group as AtGroup, Keyset as AtKeyset, Part as AtPart};
use super::error::{corrupt, corrupt_at};
use super::layout::{REMAP_GROUP_KEYSETS, REMAP_GROUP_ROWS};
use super::{RemapError, RemapRule, RemapView};
use crate::bits::width;
use crate::number::low32;

/// A range that can be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub start: u64,
    pub end: u64,
}

impl Span {
    pub(super) fn len(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// Start of a keyset: a GROUP record, plus the sizes of the group's keysets before this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub series: u64,
    /// First bit among the rows.
    pub rows: u64,
    pub part: u64,
    /// Base of the `first` of all parts of the group.
    pub base: u64,
}

/// A KEYSET record, and the values derived from the records before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keyset {
    pub number: u32,
    pub series: Span,
    pub row_count: u64,
    pub row_len: u64,
    pub parts: Span,
    /// Base of the `first` of its parts.
    pub base: u64,
    pub pattern: u64,
    pub pattern_width: u32,
    pub layout: RowsLayout,
}

impl Keyset {
    /// Start of the next keyset, if it is in the same group.
    pub(super) fn end(&self) -> Start {
        let rows = self.layout.first_bit.saturating_add(self.layout.len(self.row_count));
        Start { series: self.series.end, rows, part: self.parts.end, base: self.base }
    }
}

/// A PART record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The smallest base less that of the group.
    pub first: u64,
    pub group_width: u32,
    pub width: u32,
    /// True if a row's shift is the sum of the fields up to its own.
    pub is_summed: bool,
}

/// Layout of the rows of a keyset in the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowsLayout {
    /// The first bit of the first group.
    pub first_bit: u64,
    /// Bits of an anchor, the bases of all parts included.
    pub head: u64,
    pub anchor_width: u32,
    /// Bits of a row.
    pub row: u64,
}

impl RowsLayout {
    fn group_bits(&self) -> u64 {
        self.head.saturating_add(self.row.saturating_mul(REMAP_GROUP_ROWS.into()))
    }

    /// Returns the first bit of a group.
    pub(super) fn group(&self, group: u64) -> u64 {
        self.first_bit.saturating_add(group.saturating_mul(self.group_bits()))
    }

    /// Returns the first bit of a row.
    pub(super) fn row(&self, row: u64) -> u64 {
        let in_group = row % u64::from(REMAP_GROUP_ROWS);
        let group = self.group(row / u64::from(REMAP_GROUP_ROWS));
        group.saturating_add(self.head).saturating_add(in_group.saturating_mul(self.row))
    }

    /// Returns the number of bits of `row_count` rows.
    pub(super) fn len(&self, rows: u64) -> u64 {
        let groups = rows.div_ceil(REMAP_GROUP_ROWS.into());
        groups.saturating_mul(self.head).saturating_add(rows.saturating_mul(self.row))
    }
}

impl RemapView<'_> {
    /// Returns the start of the first keyset of a group.
    pub(super) fn group(&self, number: u32) -> Result<Start, RemapError> {
        let [series, rows, part, base] = self.record(&self.frame.groups, number.into(), AtGroup(number.into()))?;
        Ok(Start { series, rows, part, base })
    }

    /// Returns the keyset that starts here. Costs O(parts); there is one part unless the compaction had shards.
    pub(super) fn keyset(&self, number: u32, start: Start) -> Result<Keyset, RemapError> {
        let at = AtKeyset(number.into());
        let [series, row_len, pattern, pattern_width, part_count] =
            self.record(&self.frame.keysets, number.into(), at)?;
        let parts = Span { start: start.part, end: start.part.saturating_add(part_count) };
        let all_parts = u64::from(self.frame.header.part_count.get());
        if parts.end > all_parts {
            return Err(corrupt(RemapRule::Keysets, at, parts.end, all_parts));
        }
        if pattern_width > 32 {
            return Err(corrupt(RemapRule::RowFields, at, pattern_width, 32));
        }
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
            layout.head += u64::from(part.group_width);
            layout.row += u64::from(part.width);
        }
        Ok(Keyset {
            number,
            series: Span { start: start.series, end: start.series.saturating_add(series) },
            row_count,
            row_len,
            parts,
            base: start.base,
            pattern,
            pattern_width: low32(pattern_width),
            layout,
        })
    }

    /// Returns the keyset of a series, or `None` if the series is out of range.
    pub(super) fn keyset_with(&self, series: u64) -> Result<Option<Keyset>, RemapError> {
        // The last group that does not start behind the series.
        let (mut low, mut high) = (1, self.frame.groups.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.group(middle)?.series <= series { low = middle + 1 } else { high = middle }
        }
        let found = self.last_until(low - 1, |keyset| keyset.series.end > series)?;
        match found.filter(|keyset| keyset.series.end > series) {
            Some(keyset) if keyset.series.start <= series => Ok(Some(keyset)),
            None if low >= self.frame.groups.count => Ok(None),
            _ => Err(corrupt_at(RemapRule::Groups, AtGroup((low - 1).into()))),
        }
    }

    /// Series of all keysets.
    pub(super) fn series_end(&self) -> Result<u64, RemapError> {
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
        let [first, group_width, width, summed] = self.record(&self.frame.parts, number, AtPart(number))?;
        if group_width.max(width) > 48 {
            return Err(corrupt(RemapRule::RowFields, AtPart(number), group_width.max(width), 48));
        }
        Ok(Part { first, group_width: low32(group_width), width: low32(width), is_summed: summed > 0 })
    }
}
