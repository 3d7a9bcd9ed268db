//! The bytes of a remap as meaning (remap spec, sections 3 to 5).

use super::RemapPlace::{Byte, Keyset as AtKeyset, Part as AtPart, Pattern as AtPattern, Row as AtRow, Run as AtRun};
use super::error::corrupt;
use super::frame::Frame;
use super::layout::{OutputEntry, REMAP_GROUP_ROWS};
use super::targets::Targets;
use super::{RemapError, RemapRule};
use crate::bits::{Bits, width};
use crate::identity::BlockId;
use crate::number::{index, length, low32};
use crate::view::Records;
use crate::{Rule, SeriesRef};

/// Where a series of the input is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Which output.
    pub output: u32,
    /// The series in that output.
    pub series: SeriesRef,
}

/// A remap, read in place.
///
/// Whatever the bytes are, nothing panics, loops forever or reads out of bounds; checksums are checked by [`RemapView::check`], and every rule by
/// [`RemapView::verify`].
#[derive(Clone, Copy, Debug)]
pub struct RemapView<'a> {
    bytes: &'a [u8],
    pub(super) frame: Frame,
    pub(super) outputs: &'a [OutputEntry],
    /// The records and the rows.
    pub(super) bits: Bits<'a>,
}

/// A KEYSET record, and the series before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keyset {
    pub number: u32,
    pub series: Span,
    pub row_count: u64,
    pub row_len: u64,
    pub parts: Span,
    pub pattern: u64,
    pub pattern_width: u32,
    /// First bit among the rows.
    pub rows: u64,
}

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

/// A PART record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub first: u64,
    pub group_width: u32,
    pub width: u32,
}

/// How the rows of a keyset lie in the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowsLayout {
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

    /// The first bit of a group.
    pub(super) fn group(&self, group: u64) -> u64 {
        self.first_bit.saturating_add(group.saturating_mul(self.group_bits()))
    }

    /// The first bit of a row.
    pub(super) fn row(&self, row: u64) -> u64 {
        let in_group = row % u64::from(REMAP_GROUP_ROWS);
        let group = self.group(row / u64::from(REMAP_GROUP_ROWS));
        group.saturating_add(self.head).saturating_add(in_group.saturating_mul(self.row))
    }

    /// The bits of so many rows.
    pub(super) fn len(&self, rows: u64) -> u64 {
        let groups = rows.div_ceil(REMAP_GROUP_ROWS.into());
        groups.saturating_mul(self.head).saturating_add(rows.saturating_mul(self.row))
    }
}

/// Series of the input, one after the other, that are series of the outputs one after the other, or are all gone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// The number of the first one's target among the series of all outputs.
    pub target: Option<u64>,
    pub series: u64,
}

impl<'a> RemapView<'a> {
    /// Opens a remap: header and lengths are checked, in a time that does not depend on its size.
    ///
    /// # Errors
    /// What is no remap, of another version, or damaged in its header.
    pub fn open(bytes: &'a [u8]) -> Result<Self, RemapError> {
        let frame = Frame::parse(bytes)?;
        let (outputs, records) = frame.split(bytes);
        // Every field that lies outside is reported as a rule of the remap; that of the stream is never seen.
        Ok(Self { bytes, frame, outputs, bits: Bits::new(records, Rule::TableExtent) })
    }

    /// Checks the checksums.
    ///
    /// # Errors
    /// The first one that is wrong.
    pub fn check(&self) -> Result<(), RemapError> {
        self.frame.check_all(self.bytes)
    }

    /// The block whose series are mapped.
    pub const fn input_id(&self) -> BlockId {
        BlockId(self.frame.header.input_id)
    }

    /// The job that wrote the outputs; zero without one.
    pub const fn job_id(&self) -> [u8; 16] {
        self.frame.header.job_id
    }

    /// How many outputs there are.
    pub fn output_count(&self) -> u32 {
        low32(length(self.outputs.len()))
    }

    /// The id of an output, and how many series it has.
    pub fn output(&self, number: u32) -> Option<(BlockId, u64)> {
        let entry = self.outputs.get(index(number))?;
        let before = self.series_before(index(number));
        Some((BlockId(entry.output_id), entry.output_series_end.get().saturating_sub(before)))
    }

    fn series_before(&self, output: usize) -> u64 {
        let before = output.checked_sub(1).and_then(|before| self.outputs.get(before));
        before.map_or(0, |entry| entry.output_series_end.get())
    }

    /// Series of all outputs.
    pub(super) fn target_count(&self) -> u64 {
        self.series_before(self.outputs.len())
    }

    /// How many series the input has.
    ///
    /// # Errors
    /// Damage.
    pub fn series_count(&self) -> Result<u64, RemapError> {
        self.series_end(self.frame.keysets.count)
    }

    /// What became of a series of the input: nothing if it was dropped, or if the input has no such series. O(log keysets + log rows), no allocation.
    ///
    /// # Errors
    /// Damage.
    pub fn get(&self, series: SeriesRef) -> Result<Option<Target>, RemapError> {
        let Some(stretch) = self.stretch(series.0)? else { return Ok(None) };
        stretch.target.map(|target| self.target(target)).transpose()
    }

    /// What became of each series of the input, in their order.
    ///
    /// # Errors
    /// Damage.
    pub fn targets(&self) -> Result<Targets<'_, 'a>, RemapError> {
        Ok(Targets::new(self, low32(self.series_count()?)))
    }

    /// Which series of which output has this number among those of all.
    pub(super) fn target(&self, number: u64) -> Result<Target, RemapError> {
        let output = self.outputs.partition_point(|entry| entry.output_series_end.get() <= number);
        let series = number.checked_sub(self.series_before(output)).and_then(|series| u32::try_from(series).ok());
        match series {
            Some(series) if output < self.outputs.len() => {
                Ok(Target { output: low32(length(output)), series: SeriesRef(series) })
            }
            _ => Err(corrupt(RemapRule::Targets, Byte(0), number, self.target_count())),
        }
    }

    fn record<const N: usize>(
        &self,
        records: &Records<N>,
        number: u64,
        at: super::RemapPlace,
    ) -> Result<[u64; N], RemapError> {
        let outside = || corrupt(RemapRule::Keysets, at, number, records.count.into());
        let number = u32::try_from(number).map_err(|_| outside())?;
        // The frame has placed all records inside, so that an error is never seen.
        records.get(&self.bits, number).and_then(Result::ok).ok_or_else(outside)
    }

    /// Series of so many keysets.
    fn series_end(&self, keysets: u32) -> Result<u64, RemapError> {
        let Some(last) = keysets.checked_sub(1) else { return Ok(0) };
        let [series_end, ..] = self.record(&self.frame.keysets, last.into(), AtKeyset(last.into()))?;
        Ok(series_end)
    }

    pub(super) fn keyset(&self, number: u32) -> Result<Keyset, RemapError> {
        let records = &self.frame.keysets;
        let at = AtKeyset(number.into());
        let [series_end, row_count, row_len, part_end, pattern, pattern_width, rows] =
            self.record(records, number.into(), at)?;
        let (series_start, part_start) = match number.checked_sub(1) {
            None => (0, 0),
            Some(before) => {
                let [series_end, _, _, part_end, ..] = self.record(records, before.into(), at)?;
                (series_end, part_end)
            }
        };
        let part_count = u64::from(self.frame.header.part_count.get());
        if part_start > part_end || part_end > part_count {
            return Err(corrupt(RemapRule::Keysets, at, part_end, part_count));
        }
        if pattern_width > 32 {
            return Err(corrupt(RemapRule::RowFields, at, pattern_width, 32));
        }
        Ok(Keyset {
            number,
            series: Span { start: series_start, end: series_end },
            row_count,
            row_len,
            parts: Span { start: part_start, end: part_end },
            pattern,
            pattern_width: low32(pattern_width),
            rows,
        })
    }

    pub(super) fn part(&self, number: u64) -> Result<Part, RemapError> {
        let [first, group_width, width] = self.record(&self.frame.parts, number, AtPart(number))?;
        if group_width.max(width) > 48 {
            return Err(corrupt(RemapRule::RowFields, AtPart(number), group_width.max(width), 48));
        }
        Ok(Part { first, group_width: low32(group_width), width: low32(width) })
    }

    /// Series and runs of a pattern.
    pub(super) fn pattern(&self, number: u64) -> Result<(u64, Span), RemapError> {
        let records = &self.frame.patterns;
        let [length, end] = self.record(records, number, AtPattern(number))?;
        let start = match number.checked_sub(1) {
            None => 0,
            Some(before) => {
                let [_, end] = self.record(records, before, AtPattern(number))?;
                end
            }
        };
        let run_count = u64::from(self.frame.header.run_count.get());
        if start >= end || end > run_count {
            return Err(corrupt(RemapRule::Patterns, AtPattern(number), end, run_count));
        }
        Ok((length, Span { start, end }))
    }

    /// First member, part and place of a run.
    pub(super) fn run(&self, number: u64) -> Result<[u64; 3], RemapError> {
        self.record(&self.frame.runs, number, AtRun(number))
    }

    /// A field of the rows.
    pub(super) fn field(&self, bit: u64, width: u32, keyset: &Keyset) -> Result<u64, RemapError> {
        let absolute = self.frame.rows_bit.checked_add(bit);
        let field = absolute.and_then(|bit| self.bits.peek_field(bit, width));
        let row_bits = self.frame.header.row_bits.get();
        field.ok_or_else(|| corrupt(RemapRule::KeysetRows, AtKeyset(keyset.number.into()), bit, row_bits))
    }

    /// How a keyset's rows lie. O(parts), of which there is one unless the compaction had shards.
    pub(super) fn rows_layout(&self, keyset: &Keyset) -> Result<RowsLayout, RemapError> {
        let anchor_width = if keyset.row_len > 0 { 0 } else { width(keyset.series.len()) };
        let (mut head, mut row) = (u64::from(anchor_width), u64::from(keyset.pattern_width));
        for part in keyset.parts.start..keyset.parts.end {
            let part = self.part(part)?;
            head += u64::from(part.group_width);
            row += u64::from(part.width);
        }
        Ok(RowsLayout { first_bit: keyset.rows, head, anchor_width, row })
    }

    /// Series of a keyset before a group of its rows.
    pub(super) fn anchor(&self, keyset: &Keyset, layout: &RowsLayout, group: u64) -> Result<u64, RemapError> {
        self.field(layout.group(group), layout.anchor_width, keyset)
    }

    /// The pattern of a row.
    pub(super) fn row_pattern(&self, keyset: &Keyset, layout: &RowsLayout, row: u64) -> Result<u64, RemapError> {
        Ok(keyset.pattern.saturating_add(self.field(layout.row(row), keyset.pattern_width, keyset)?))
    }

    /// The number of the first series of a row in part `part`, which counts from 0, and of which so many series of the keyset come before.
    pub(super) fn row_first(
        &self,
        keyset: &Keyset,
        layout: &RowsLayout,
        row: u64,
        series_before: u64,
        part: u64,
    ) -> Result<u64, RemapError> {
        let mut base_bit = layout.group(row / u64::from(REMAP_GROUP_ROWS)).saturating_add(layout.anchor_width.into());
        let mut bit = layout.row(row).saturating_add(keyset.pattern_width.into());
        let wanted = keyset.parts.start.saturating_add(part);
        if wanted >= keyset.parts.end {
            return Err(corrupt(RemapRule::Runs, AtRow(keyset.number.into(), row), part, keyset.parts.len()));
        }
        for before in keyset.parts.start..wanted {
            let before = self.part(before)?;
            base_bit = base_bit.saturating_add(before.group_width.into());
            bit = bit.saturating_add(before.width.into());
        }
        let part = self.part(wanted)?;
        let shift = part
            .first
            .saturating_add(self.field(base_bit, part.group_width, keyset)?)
            .saturating_add(self.field(bit, part.width, keyset)?);
        let back = keyset.series.len().saturating_sub(series_before);
        shift
            .checked_sub(back)
            .ok_or_else(|| corrupt(RemapRule::Targets, AtRow(keyset.number.into(), row), shift, back))
    }

    /// What became of a series and of those after it, as far as they stay together.
    pub(super) fn stretch(&self, series: u32) -> Result<Option<Stretch>, RemapError> {
        let series = u64::from(series);
        let (mut low, mut high) = (0, self.frame.keysets.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.series_end(middle + 1)? <= series { low = middle + 1 } else { high = middle }
        }
        if low == self.frame.keysets.count {
            return Ok(None);
        }
        let keyset = self.keyset(low)?;
        let Some(place) = series.checked_sub(keyset.series.start) else {
            return Err(corrupt(RemapRule::Keysets, AtKeyset(low.into()), keyset.series.start, series));
        };
        let layout = self.rows_layout(&keyset)?;
        let (row, series_before) = match place.checked_div(keyset.row_len) {
            Some(row) => (row, row * keyset.row_len),
            None => self.find_row(&keyset, &layout, place)?,
        };
        if row >= keyset.row_count {
            return Err(corrupt(RemapRule::RowLengths, AtRow(low.into(), row), row, keyset.row_count));
        }
        let pattern = self.row_pattern(&keyset, &layout, row)?;
        let member = place - series_before;
        let (len, [start, part, run_place], end) = self.find_run(pattern, member)?;
        if member >= len {
            return Err(corrupt(RemapRule::RowLengths, AtRow(low.into(), row), member, len));
        }
        let left = end - member;
        let Some(part) = part.checked_sub(1) else { return Ok(Some(Stretch { target: None, series: left })) };
        let first = self.row_first(&keyset, &layout, row, series_before, part)?;
        Ok(Some(Stretch { target: Some(first.saturating_add(run_place).saturating_add(member - start)), series: left }))
    }

    /// The row in which a series of a keyset is, and how many come before the row.
    fn find_row(&self, keyset: &Keyset, layout: &RowsLayout, place: u64) -> Result<(u64, u64), RemapError> {
        // The last group that does not start behind the series.
        let (mut low, mut high) = (1, keyset.row_count.div_ceil(REMAP_GROUP_ROWS.into()));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.anchor(keyset, layout, middle)? <= place { low = middle + 1 } else { high = middle }
        }
        let group = low - 1;
        let mut before = self.anchor(keyset, layout, group)?;
        let first = group * u64::from(REMAP_GROUP_ROWS);
        for row in first..keyset.row_count.min(first + u64::from(REMAP_GROUP_ROWS)) {
            let (len, _) = self.pattern(self.row_pattern(keyset, layout, row)?)?;
            if before <= place && place - before < len {
                return Ok((row, before));
            }
            before = before.saturating_add(len);
        }
        Err(corrupt(RemapRule::RowLengths, AtKeyset(keyset.number.into()), before, place))
    }

    /// The length of a pattern, the run that has a member of it, and the member at which that run ends.
    fn find_run(&self, pattern: u64, member: u64) -> Result<(u64, [u64; 3], u64), RemapError> {
        let (len, runs) = self.pattern(pattern)?;
        let (mut low, mut high) = (runs.start + 1, runs.end);
        while low < high {
            let middle = low + (high - low) / 2;
            let [start, ..] = self.run(middle)?;
            if start <= member { low = middle + 1 } else { high = middle }
        }
        let run = self.run(low - 1)?;
        let end = if low < runs.end { self.run(low)?[0].min(len) } else { len };
        let [start, ..] = run;
        if start > member || end <= member {
            return Err(corrupt(RemapRule::Runs, AtRun(low - 1), start, member));
        }
        Ok((len, run, end))
    }
}
