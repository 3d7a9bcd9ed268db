//! [`RemapView`]: lookups in a remap (remap spec, sections 3 to 5).

use std::fmt;

use super::RemapPlace::{Byte, Keyset as AtKeyset, Pattern as AtPattern, Row as AtRow, Run as AtRun};
use super::error::corrupt;
use super::frame::{HEADER_LEN, RemapFrame, damaged_chunk};
use super::keyset::{Keyset, Span};
use super::layout::{OutputEntry, REMAP_SLICE_ROWS};
use super::targets::Targets;
use super::{RemapError, RemapRule};
use crate::bits::Bits;
use crate::checksum::ChunkProofs;
use crate::identity::BlockId;
use crate::number::{index, length, low32};
use crate::view::Records;
use crate::{Rule, SeriesRef};

/// The series of an output that an input's series became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Number of the output, from 0.
    pub output: u32,
    /// Series in that output.
    pub series: SeriesRef,
}

/// A remap, read in place.
///
/// Damaged bytes give an error or wrong values, never a panic, a read out of bounds or an endless loop.
/// [`RemapView::check`] checks the checksums; a view with [proofs](RemapView::with_frame) checks them as it reads.
/// [`RemapView::verify`] checks every rule.
#[derive(Clone, Copy)]
pub struct RemapView<'a> {
    bytes: &'a [u8],
    pub(super) frame: RemapFrame,
    pub(super) outputs: &'a [OutputEntry],
    /// All between header and checksums.
    pub(super) bits: Bits<'a>,
}

/// Consecutive series of the input whose targets are consecutive series of the outputs, or that were all dropped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// The number of the first one's target among the series of all outputs.
    pub target: Option<u64>,
    pub series: u64,
}

impl fmt::Debug for RemapView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemapView").field("input", &self.input_id()).field("len", &self.bytes.len()).finish()
    }
}

impl<'a> RemapView<'a> {
    /// Opens a remap: header and lengths are checked, in a time that does not depend on its size.
    ///
    /// # Errors
    /// `NotARemap` if the magic bytes are missing, `UnsupportedVersion` for another version, `Corrupt` if the header is
    /// damaged.
    pub fn open(bytes: &'a [u8]) -> Result<Self, RemapError> {
        Ok(Self::with_frame(bytes, &RemapFrame::parse(bytes)?, None))
    }

    /// Combines a remap's bytes with the frame that was parsed from them. With `proofs`, the checksum of each chunk is
    /// checked when the chunk is first read, except for the outputs; see [`RemapView::prove_outputs`].
    #[inline]
    #[must_use]
    pub fn with_frame(bytes: &'a [u8], frame: &RemapFrame, proofs: Option<&'a ChunkProofs>) -> Self {
        let proofs = proofs.map(|proofs| frame.proofs(bytes, proofs));
        // A field outside is reported as a violation of a rule of remaps: the stream's own rule is never reported.
        let body = frame.body(bytes);
        let bits = Bits::with_proofs(body, Rule::TableExtent, proofs);
        Self { bytes, frame: *frame, outputs: frame.outputs(body), bits }
    }

    /// Checks the chunks of the outputs, which views with proofs do not check by themselves. Costs O(outputs).
    ///
    /// # Errors
    /// `Corrupt` if a chunk is damaged.
    pub fn prove_outputs(&self) -> Result<(), RemapError> {
        self.frame.checked(self.bytes).check_range(HEADER_LEN, self.frame.outputs_len()).map_err(damaged_chunk)
    }

    /// Returns the bytes of the remap.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Checks the checksums.
    ///
    /// # Errors
    /// `Corrupt` with the first wrong checksum.
    pub fn check(&self) -> Result<(), RemapError> {
        self.frame.check_all(self.bytes)
    }

    /// Returns name and size in bytes of each part of the file, in order. They add up to its length.
    #[must_use]
    pub fn sizes(&self) -> [(&'static str, u64); 9] {
        self.frame.sizes(length(self.bytes.len()))
    }

    /// Returns the number of keysets of the input.
    #[must_use]
    pub const fn keyset_count(&self) -> u32 {
        self.frame.keysets.count
    }

    /// Returns the id of the block whose series are mapped.
    #[must_use]
    pub const fn input_id(&self) -> BlockId {
        BlockId(self.frame.header.input_id)
    }

    /// Returns the job that wrote the outputs; zero without one.
    #[must_use]
    pub const fn job_id(&self) -> [u8; 16] {
        self.frame.header.job_id
    }

    /// Returns the number of outputs.
    #[must_use]
    pub fn output_count(&self) -> u32 {
        low32(length(self.outputs.len()))
    }

    /// Returns the id of output `number` and its number of series, or `None` if it is out of range.
    #[must_use]
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

    /// Returns the number of series of the input. Costs O(1).
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn series_count(&self) -> Result<u64, RemapError> {
        self.series_end()
    }

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

    /// Returns an iterator over the targets of all series of the input, in order.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn targets(&self) -> Result<Targets<'a, '_>, RemapError> {
        Ok(Targets::new(self, low32(self.series_count()?)))
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

    pub(super) fn record<const N: usize>(
        &self,
        records: &Records<N>,
        number: u64,
        at: super::RemapPlace,
    ) -> Result<[u64; N], RemapError> {
        let outside = || corrupt(RemapRule::Keysets, at, number, records.count.into());
        let number = u32::try_from(number).map_err(|_| outside())?;
        // The frame has placed all records inside, so that an error is that of a damaged chunk.
        records.get(&self.bits, number).ok_or_else(outside)?.map_err(damaged_chunk)
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

    /// Returns a field of the rows.
    pub(super) fn field(&self, bit: u64, width: u32, keyset: u32) -> Result<u64, RemapError> {
        let absolute = self.frame.rows_bit.saturating_add(bit);
        self.bits.get(absolute, width).map_err(|error| match error.rule() {
            Rule::ChunkChecksum => damaged_chunk(error),
            _ => corrupt(RemapRule::KeysetRows, AtKeyset(keyset.into()), absolute, self.frame.header.row_bits.get()),
        })
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
        if row >= keyset.row_count {
            return Err(corrupt(RemapRule::RowLengths, at, row, keyset.row_count));
        }
        let pattern = self.row_pattern(keyset, row)?;
        let member = place - series_before;
        let (len, [start, part, run_place], end) = self.find_run(pattern, member)?;
        if member >= len {
            return Err(corrupt(RemapRule::RowLengths, at, member, len));
        }
        let left = end - member;
        let Some(part) = part.checked_sub(1) else { return Ok(Stretch { target: None, series: left }) };
        let first = self.row_first(keyset, row, series_before, part)?;
        Ok(Stretch { target: Some(first.saturating_add(run_place).saturating_add(member - start)), series: left })
    }

    /// Returns the row of a series of a keyset, and the number of series before the row.
    fn find_row(&self, keyset: &Keyset, place: u64) -> Result<(u64, u64), RemapError> {
        // The last slice that does not start behind the series.
        let (mut low, mut high) = (1, keyset.row_count.div_ceil(REMAP_SLICE_ROWS.into()));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.anchor(keyset, middle)? <= place { low = middle + 1 } else { high = middle }
        }
        let slice = low - 1;
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
