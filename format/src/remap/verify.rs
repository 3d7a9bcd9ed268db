//! Every rule of the remap spec (its section 7).

use super::RemapPlace::{
    Byte, Group as AtGroup, Keyset as AtKeyset, Output, Part as AtPart, Pattern as AtPattern, Row, Run,
};
use super::error::{corrupt, corrupt_at, refuse_if};
use super::frame::{HEADER_LEN, damaged_chunk};
use super::keyset::{Keyset, Part, Start};
use super::layout::{MAX_TARGET_WIDTH, REMAP_GROUP_KEYSETS, REMAP_SLICE_ROWS};
use super::view::RemapView;
use super::{RemapError, RemapRule};
use crate::bits::{bytes_for, width};
use crate::layout::STREAM_TAIL;
use crate::verify::widest;
use crate::view::Records;

impl RemapView<'_> {
    /// Checks every rule of the remap spec, without memory of its own.
    ///
    /// Cost: one pass over the bytes, and one step for each run of each row.
    ///
    /// # Errors
    /// `Corrupt` with the first violated rule, its place and its values.
    pub fn verify(&self) -> Result<(), RemapError> {
        // Later checks rely on earlier ones: records are read without damage, patterns before the rows that name them.
        self.check()?;
        self.verify_outputs()?;
        self.verify_widths()?;
        self.verify_padding()?;
        self.verify_patterns()?;
        let mut so_far = SoFar { next: Start { series: 0, rows: 0, part: 0, floor: 0 }, patterns: 0 };
        for group in 0..self.frame.groups.count {
            self.verify_group(group, &mut so_far)?;
        }
        let header = &self.frame.header;
        let ends = [
            (RemapRule::Keysets, so_far.next.part, header.part_count.get().into()),
            (RemapRule::KeysetRows, so_far.next.rows, header.row_bits.get()),
            (RemapRule::Patterns, so_far.patterns, header.pattern_count.get().into()),
        ];
        match ends.into_iter().find(|(_, found, expected)| found != expected) {
            Some((rule, found, expected)) => Err(corrupt(rule, Byte(0), found, expected)),
            None => Ok(()),
        }
    }

    fn verify_outputs(&self) -> Result<(), RemapError> {
        let mut before = 0;
        for (output, number) in self.outputs.iter().zip(0..) {
            let end = output.output_series_end.get();
            let most = u64::from(u32::MAX);
            if end.checked_sub(before).is_none_or(|series| series > most) || width(end) > MAX_TARGET_WIDTH {
                return Err(corrupt(RemapRule::Outputs, Output(number), end, before));
            }
            before = end;
        }
        Ok(())
    }

    fn verify_widths(&self) -> Result<(), RemapError> {
        let header = &self.frame.header;
        self.verify_records(&self.frame.groups, header.group_widths)?;
        self.verify_records(&self.frame.keysets, header.keyset_widths)?;
        self.verify_records(&self.frame.parts, header.part_widths)?;
        self.verify_records(&self.frame.patterns, header.pattern_widths)?;
        self.verify_records(&self.frame.runs, header.run_widths)
    }

    fn verify_records<const N: usize>(&self, records: &Records<N>, widths: [u8; N]) -> Result<(), RemapError> {
        let most = widest(&self.bits, records).map_err(damaged_chunk)?;
        for (most, stored) in most.into_iter().zip(widths) {
            if width(most) != u32::from(stored) {
                return Err(corrupt(RemapRule::RecordWidths, Byte(80), stored.into(), width(most).into()));
            }
        }
        Ok(())
    }

    fn verify_padding(&self) -> Result<(), RemapError> {
        let frame = &self.frame;
        let rows_end = frame.rows_bit + frame.header.row_bits.get();
        let gaps = [
            frame.groups.slack(),
            frame.keysets.slack(),
            frame.parts.slack(),
            frame.patterns.slack(),
            frame.runs.slack(),
            (rows_end, (bytes_for(rows_end) + STREAM_TAIL) * 8),
        ];
        match gaps.into_iter().find_map(|(from, to)| self.bits.first_set(from, to)) {
            Some(byte) => Err(corrupt_at(RemapRule::Padding, Byte(HEADER_LEN + byte))),
            None => Ok(()),
        }
    }

    fn verify_patterns(&self) -> Result<(), RemapError> {
        let mut run_end = 0;
        for number in 0..u64::from(self.frame.patterns.count) {
            let (length, runs) = self.pattern(number)?;
            refuse_if(length == 0, RemapRule::Patterns, AtPattern(number), length, 1)?;
            let mut before: Option<[u64; 3]> = None;
            for run in runs.start..runs.end {
                let [start, part, place] = self.run(run)?;
                let is_start = match before {
                    None => start == 0,
                    Some([before, _, _]) => before < start && start < length,
                };
                let continues = before.is_some_and(|before| {
                    let [before_start, before_part, before_place] = before;
                    part == before_part
                        && (part == 0 || before_place.saturating_add(start.saturating_sub(before_start)) == place)
                });
                if !is_start || continues || part == 0 && place != 0 {
                    return Err(corrupt(RemapRule::Runs, Run(run), start, before.map_or(0, |[start, ..]| start + 1)));
                }
                before = Some([start, part, place]);
            }
            run_end = runs.end;
        }
        let run_count = u64::from(self.frame.header.run_count.get());
        if run_end == run_count { Ok(()) } else { Err(corrupt(RemapRule::Patterns, Byte(0), run_end, run_count)) }
    }

    /// Checks that a group states where its first keyset begins, and that its floor is the largest possible one.
    fn verify_group(&self, number: u32, so_far: &mut SoFar) -> Result<(), RemapError> {
        let at = AtGroup(number.into());
        let start = self.group(number)?;
        let next = so_far.next;
        if (start.series, start.part) != (next.series, next.part) {
            let is_series = start.series != next.series;
            let (found, expected) = if is_series { (start.series, next.series) } else { (start.part, next.part) };
            return Err(corrupt(RemapRule::Groups, at, found, expected));
        }
        refuse_if(start.rows != next.rows, RemapRule::KeysetRows, at, start.rows, next.rows)?;
        so_far.next = start;
        let first = number.saturating_mul(REMAP_GROUP_KEYSETS);
        for keyset in first..self.frame.keysets.count.min(first.saturating_add(REMAP_GROUP_KEYSETS)) {
            self.verify_keyset(keyset, so_far)?;
        }
        let parts = (start.part..so_far.next.part).map(|part| self.part(part).map(|part| part.least_base));
        let least = parts.reduce(|a, b| Ok(a?.min(b?))).transpose()?;
        match least {
            None if start.floor != 0 => Err(corrupt(RemapRule::Groups, at, start.floor, 0)),
            Some(least) if least != 1 => Err(corrupt(RemapRule::Groups, at, least, 1)),
            _ => Ok(()),
        }
    }

    fn verify_keyset(&self, number: u32, so_far: &mut SoFar) -> Result<(), RemapError> {
        let keyset = self.keyset(number, so_far.next)?;
        let at = AtKeyset(number.into());
        let series = keyset.series.len();
        if series == 0 || keyset.series.end > u64::from(u32::MAX) {
            return Err(corrupt(RemapRule::Keysets, at, keyset.series.end, u32::MAX.into()));
        }
        so_far.next = keyset.end();
        if so_far.next.rows > self.frame.header.row_bits.get() {
            return Err(corrupt(RemapRule::KeysetRows, at, so_far.next.rows, self.frame.header.row_bits.get()));
        }
        let is_divided = series.checked_rem(keyset.row_len).is_none_or(|rest| rest == 0);
        refuse_if(keyset.row_count == 0 || !is_divided, RemapRule::RowLengths, at, keyset.row_len, series)?;
        let anchored = self.verify_rows(&keyset, so_far)?;
        refuse_if(anchored != series, RemapRule::RowLengths, at, anchored, series)?;
        let mut base_bit = u64::from(keyset.layout.anchor_width);
        let mut bit = u64::from(keyset.pattern_width);
        for part in keyset.parts.start..keyset.parts.end {
            let record = self.part(part)?;
            self.verify_part(&keyset, (part, record), (base_bit, bit))?;
            base_bit += u64::from(record.base_width);
            bit += u64::from(record.width);
        }
        Ok(())
    }

    /// Patterns, lengths and targets of all rows; the series of these.
    fn verify_rows(&self, keyset: &Keyset, so_far: &mut SoFar) -> Result<u64, RemapError> {
        let mut before = 0_u64;
        let (mut least, mut most, mut is_uniform) = (u64::MAX, 0, true);
        let (first_len, _) = self.pattern(self.row_pattern(keyset, 0)?)?;
        let mut row = 0;
        while row < keyset.row_count {
            let at = Row(keyset.number.into(), row);
            if keyset.row_len == 0 && row % u64::from(REMAP_SLICE_ROWS) == 0 {
                let anchor = self.anchor(keyset, row / u64::from(REMAP_SLICE_ROWS))?;
                refuse_if(anchor != before, RemapRule::RowLengths, at, anchor, before)?;
            }
            let pattern = self.row_pattern(keyset, row)?;
            let (len, _) = self.pattern(pattern)?;
            so_far.meet(pattern)?;
            refuse_if(keyset.row_len > 0 && len != keyset.row_len, RemapRule::RowLengths, at, len, keyset.row_len)?;
            is_uniform &= len == first_len;
            (least, most) = (least.min(pattern), most.max(pattern));
            self.verify_targets(keyset, row, before, pattern)?;
            before = before.saturating_add(len);
            row += 1;
            // Rows without bits are equal: the first and the last row stand for those between.
            if keyset.layout.head == 0 && keyset.layout.row == 0 && row == 1 && keyset.row_count > 2 {
                before = before.saturating_add((keyset.row_count - 2).saturating_mul(len));
                row = keyset.row_count - 1;
            }
        }
        if keyset.row_len == 0 && is_uniform {
            return Err(corrupt(RemapRule::RowLengths, AtKeyset(keyset.number.into()), 0, first_len));
        }
        if least != keyset.pattern || width(most - least) != keyset.pattern_width {
            let at = AtKeyset(keyset.number.into());
            return Err(corrupt(RemapRule::RowFields, at, keyset.pattern_width.into(), width(most - least).into()));
        }
        Ok(before)
    }

    fn verify_targets(&self, keyset: &Keyset, row: u64, before: u64, pattern: u64) -> Result<(), RemapError> {
        let (len, runs) = self.pattern(pattern)?;
        for run in runs.start..runs.end {
            let [start, part, place] = self.run(run)?;
            let Some(part) = part.checked_sub(1) else { continue };
            let end = if run + 1 < runs.end { self.run(run + 1)?[0] } else { len };
            let first = self.row_first(keyset, row, before, part)?;
            let last = first.saturating_add(place).saturating_add(end.saturating_sub(start));
            if last > self.target_count() {
                return Err(corrupt(RemapRule::Targets, Row(keyset.number.into(), row), last, self.target_count()));
            }
        }
        Ok(())
    }

    /// Bases and fields of a part: the smallest of each is 0, and the largest needs the width.
    fn verify_part(
        &self,
        keyset: &Keyset,
        (number, part): (u64, Part),
        (base_bit, bit): (u64, u64),
    ) -> Result<(), RemapError> {
        let (layout, at) = (&keyset.layout, AtPart(number));
        if part.is_summed && part.width == 0 {
            return Err(corrupt_at(RemapRule::RowFields, at));
        }
        let slice_rows = u64::from(REMAP_SLICE_ROWS);
        let (mut bases, mut fields) = (Range::NONE, Range::NONE);
        let slices = if part.base_width == 0 && part.width == 0 { 0 } else { keyset.row_count.div_ceil(slice_rows) };
        for slice in 0..slices {
            bases.add(self.field(layout.slice(slice).saturating_add(base_bit), part.base_width, keyset.number)?);
            let mut of_slice = Range::NONE;
            for row in slice * slice_rows..keyset.row_count.min((slice + 1) * slice_rows) {
                of_slice.add(self.field(layout.row(row).saturating_add(bit), part.width, keyset.number)?);
                // The base is the first one's shift.
                refuse_if(part.is_summed && of_slice.least != 0, RemapRule::RowFields, at, of_slice.least, 0)?;
            }
            refuse_if(part.base_width > 0 && of_slice.least != 0, RemapRule::RowFields, at, of_slice.least, 0)?;
            fields = fields.and(of_slice);
        }
        for (range, stored) in [(bases, part.base_width), (fields, part.width)] {
            if slices > 0 && (range.least != 0 || width(range.most) != stored) {
                return Err(corrupt(RemapRule::RowFields, at, stored.into(), width(range.most).into()));
            }
        }
        Ok(())
    }
}

/// Results of the keysets before.
struct SoFar {
    /// Required start of the next keyset.
    next: Start,
    patterns: u64,
}

impl SoFar {
    fn meet(&mut self, pattern: u64) -> Result<(), RemapError> {
        refuse_if(pattern > self.patterns, RemapRule::Patterns, AtPattern(pattern), pattern, self.patterns)?;
        self.patterns = self.patterns.max(pattern + 1);
        Ok(())
    }
}

/// The smallest and the largest of some numbers.
#[derive(Clone, Copy)]
struct Range {
    least: u64,
    most: u64,
}

impl Range {
    const NONE: Self = Self { least: u64::MAX, most: 0 };

    fn add(&mut self, number: u64) {
        *self = self.and(Self { least: number, most: number });
    }

    fn and(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}
