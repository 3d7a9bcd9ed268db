//! Lookups in a remap: from a series of the input to a series of an output (remap spec, section 5).

use super::RemapPlace::{Byte, Keyset as AtKeyset, Row as AtRow, Run as AtRun};
use super::error::{corrupt, refuse_if};
use super::keyset::{Keyset, partition};
use super::layout::REMAP_SLICE_ROWS;
use super::view::RemapView;
use super::{RemapError, RemapRule};
use crate::SeriesRef;
use crate::number::{length, low32};

/// The series of an output that an input's series became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Number of the output, from 0.
    pub output: u32,
    /// Series in that output.
    pub series: SeriesRef,
}

/// Consecutive series of the input whose targets are consecutive series of the outputs, or that were all dropped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// The number of the first one's target among the series of all outputs.
    pub target: Option<u64>,
    pub series: u64,
}

impl RemapView<'_> {
    /// Returns the target of a series of the input, or `None` if it was dropped or is out of range. Costs O(log
    /// keysets + log rows) and allocates nothing.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn get(&self, series: SeriesRef) -> Result<Option<Target>, RemapError> {
        let Some(keyset) = self.keyset_with(series.0.into())? else { return Ok(None) };
        let stretch = self.stretch(&keyset, series.0.into())?;
        stretch.target.map(|target| self.target(target)).transpose()
    }

    /// Returns the output and series of a target, given by its number among the series of all outputs.
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

    /// Series of a keyset before a slice of its rows.
    pub(super) fn anchor(&self, keyset: &Keyset, slice: u64) -> Result<u64, RemapError> {
        self.field(keyset.layout.slice(slice), keyset.layout.anchor_width, keyset.number)
    }

    /// Returns the pattern of a row.
    pub(super) fn row_pattern(&self, keyset: &Keyset, row: u64) -> Result<u64, RemapError> {
        let field = self.field(keyset.layout.row(row), keyset.pattern_width, keyset.number)?;
        Ok(keyset.pattern.saturating_add(field))
    }

    /// Returns the target of the first series of a row in part `part` (from 0). `series_before` series of the keyset
    /// come before the row.
    pub(super) fn row_first(
        &self,
        keyset: &Keyset,
        row: u64,
        series_before: u64,
        part: u64,
    ) -> Result<u64, RemapError> {
        let layout = &keyset.layout;
        let (slice, in_slice) = (row / u64::from(REMAP_SLICE_ROWS), row % u64::from(REMAP_SLICE_ROWS));
        let mut base_bit = layout.slice(slice).saturating_add(layout.anchor_width.into());
        let mut bit = layout.row(row).saturating_add(keyset.pattern_width.into());
        let wanted = keyset.parts.start.saturating_add(part);
        if wanted >= keyset.parts.end {
            return Err(corrupt(RemapRule::Runs, AtRow(keyset.number.into(), row), part, keyset.parts.len()));
        }
        for before in keyset.parts.start..wanted {
            let before = self.part(before)?;
            base_bit = base_bit.saturating_add(before.base_width.into());
            bit = bit.saturating_add(before.width.into());
        }
        let part = self.part(wanted)?;
        let mut shift = keyset.floor.saturating_add(part.least_base);
        shift = shift.saturating_add(self.field(base_bit, part.base_width, keyset.number)?);
        // The fields of the rows of the slice up to this one, or this one's alone.
        let earlier = if part.is_summed { in_slice } else { 0 };
        for back in (0..=earlier).rev() {
            let bit = bit.saturating_sub(back.saturating_mul(layout.row));
            shift = shift.saturating_add(self.field(bit, part.width, keyset.number)?);
        }
        let back = keyset.series.len().saturating_sub(series_before);
        shift
            .checked_sub(back)
            .ok_or_else(|| corrupt(RemapRule::Targets, AtRow(keyset.number.into(), row), shift, back))
    }

    /// Returns the target of a series of a keyset, and the number of series from it on whose targets are consecutive.
    pub(super) fn stretch(&self, keyset: &Keyset, series: u64) -> Result<Stretch, RemapError> {
        let place = series.saturating_sub(keyset.series.start);
        let (row, series_before) = match place.checked_div(keyset.row_len) {
            Some(row) => (row, row * keyset.row_len),
            None => self.find_row(keyset, place)?,
        };
        let at = AtRow(keyset.number.into(), row);
        refuse_if(row >= keyset.row_count, RemapRule::RowLengths, at, row, keyset.row_count)?;
        let pattern = self.row_pattern(keyset, row)?;
        let member = place - series_before;
        let (len, [start, part, run_place], end) = self.find_run(pattern, member)?;
        refuse_if(member >= len, RemapRule::RowLengths, at, member, len)?;
        let left = end - member;
        let Some(part) = part.checked_sub(1) else { return Ok(Stretch { target: None, series: left }) };
        let first = self.row_first(keyset, row, series_before, part)?;
        Ok(Stretch { target: Some(first.saturating_add(run_place).saturating_add(member - start)), series: left })
    }

    /// Returns the row of a series of a keyset, and the number of series before the row.
    fn find_row(&self, keyset: &Keyset, place: u64) -> Result<(u64, u64), RemapError> {
        let slices = keyset.row_count.div_ceil(REMAP_SLICE_ROWS.into());
        // The last slice that does not start behind the series.
        let slice = partition(1..slices, |slice| Ok(self.anchor(keyset, slice)? <= place))? - 1;
        let mut before = self.anchor(keyset, slice)?;
        let first = slice * u64::from(REMAP_SLICE_ROWS);
        for row in first..keyset.row_count.min(first + u64::from(REMAP_SLICE_ROWS)) {
            let (len, _) = self.pattern(self.row_pattern(keyset, row)?)?;
            if before <= place && place - before < len {
                return Ok((row, before));
            }
            before = before.saturating_add(len);
        }
        Err(corrupt(RemapRule::RowLengths, AtKeyset(keyset.number.into()), before, place))
    }

    /// Returns the length of a pattern, the run that has a member of it, and the member at which that run ends.
    fn find_run(&self, pattern: u64, member: u64) -> Result<(u64, [u64; 3], u64), RemapError> {
        let (len, runs) = self.pattern(pattern)?;
        let next = partition(runs.start + 1..runs.end, |run| Ok(self.run(run)?[0] <= member))?;
        let run = self.run(next - 1)?;
        let end = if next < runs.end { self.run(next)?[0].min(len) } else { len };
        let [start, ..] = run;
        refuse_if(start > member || end <= member, RemapRule::Runs, AtRun(next - 1), start, member)?;
        Ok((len, run, end))
    }
}
