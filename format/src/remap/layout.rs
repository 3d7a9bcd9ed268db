//! Structs and constants of a remap file, each declared once (remap spec, sections 2 and 3).

use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes of every remap.
pub const REMAP_MAGIC: [u8; 8] = *b"\x89CXR\r\n\x1a\n";
/// The major version that this crate reads and writes.
pub const REMAP_MAJOR: u16 = 0;
/// The minor version; for major version 0 the number of the draft.
pub const REMAP_MINOR: u16 = 2;

/// Rows per slice, which share a base.
pub const REMAP_SLICE_ROWS: u32 = 16;
/// Keysets per GROUP record. A lookup reads those of the group that come before, so that groups have fewer keysets
/// than rows.
pub const REMAP_GROUP_KEYSETS: u32 = 8;
/// Series of all outputs together are fewer than two to this power.
pub const MAX_TARGET_WIDTH: u32 = 47;

/// The first bytes of a remap (remap spec, section 2).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct RemapHeader {
    /// [`REMAP_MAGIC`]
    pub remap_magic: [u8; 8],
    /// [`REMAP_MAJOR`]
    pub major: U16,
    /// [`REMAP_MINOR`]
    pub minor: U16,
    /// Feature bits without which the remap cannot be read.
    pub incompat: U32,
    /// Block whose series are mapped.
    pub input_id: [u8; 16],
    /// The job that wrote the outputs.
    pub job_id: [u8; 16],
    /// Length of the file in bytes.
    pub file_len: U64,
    /// Outputs of the compaction.
    pub output_count: U32,
    /// KEYSET records.
    pub keyset_count: U32,
    /// PART records.
    pub part_count: U32,
    /// PATTERN records.
    pub pattern_count: U32,
    /// RUN records.
    pub run_count: U32,
    /// Bits of the rows.
    pub row_bits: U64,
    /// Widths of `series_start`, `rows`, `part_start`, `floor`.
    pub group_widths: [u8; 4],
    /// Widths of `series`, `row_len`, `pattern`, `pattern_width`, `part_count`.
    pub keyset_widths: [u8; 5],
    /// Widths of `least_base`, `base_width`, `width`, `summed`.
    pub part_widths: [u8; 4],
    /// Widths of `length`, `run_end`.
    pub pattern_widths: [u8; 2],
    /// Widths of `start`, `part`, `place`.
    pub run_widths: [u8; 3],
    /// Zero.
    pub reserved: [u8; 2],
    /// Checksum of the checks.
    pub checks_checksum: U32,
    /// CRC of the bytes of the header before it.
    pub header_checksum: U32,
}

/// An output of the compaction (remap spec, section 3).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct OutputEntry {
    /// The output's block id.
    pub output_id: [u8; 16],
    /// Series of this output and all before it.
    pub output_series_end: U64,
}
