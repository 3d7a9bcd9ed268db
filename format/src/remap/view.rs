//! [`RemapView`]: the arrays and fields of a remap (remap spec, sections 3 to 5).

use std::fmt;

use super::RemapPlace::{Keyset as AtKeyset, Pattern as AtPattern, Run as AtRun};
use super::error::{corrupt, refuse_if};
use super::frame::{HEADER_LEN, RemapFrame, damaged_chunk};
use super::layout::OutputEntry;
use super::{RemapError, RemapRule};
use crate::Rule;
use crate::bits::Bits;
use crate::checksum::ChunkProofs;
use crate::identity::BlockId;
use crate::number::{index, length, low32};
use crate::view::Records;

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

    pub(super) fn series_before(&self, output: usize) -> u64 {
        let before = output.checked_sub(1).and_then(|before| self.outputs.get(before));
        before.map_or(0, |entry| entry.output_series_end.get())
    }

    /// Series of all outputs.
    pub(super) fn target_count(&self) -> u64 {
        self.series_before(self.outputs.len())
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
        refuse_if(start >= end || end > run_count, RemapRule::Patterns, AtPattern(number), end, run_count)?;
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
}
