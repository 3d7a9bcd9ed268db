//! Structs, constants and limits of the file, each declared once (spec, sections 2 to 10, and its other texts).
//!
//! A test compares them with the spec's tables.

use zerocopy::byteorder::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes of every block.
pub const MAGIC: [u8; 8] = *b"\x89CXB\r\n\x1a\n";
/// The major version that this crate reads and writes.
pub const MAJOR: u16 = 1;
/// The minor version of a file that uses nothing of a later text. Readers ignore it.
pub const MINOR: u16 = 0;

/// Maximum bytes of a label name or value.
pub const MAX_SYMBOL_LEN: u32 = 65_535;
/// Maximum labels of a series.
pub const MAX_LABELS: u32 = 1023;
/// Maximum columns of a table.
pub const MAX_COLUMNS: u32 = 1023;
/// Maximum depth of a table: of the chain of tables from its columns to a dictionary (spec, section 7).
pub const MAX_DEPTH: u32 = 10;
/// Maximum entries of the directory.
pub const MAX_SECTIONS: u32 = 1024;
/// Maximum series columns that are written: the directory has room for the other sections beside them.
pub const MAX_SERIES_COLUMNS: usize = 1000;
/// [`MAX_LABELS`] and [`MAX_COLUMNS`] as the length of an array.
pub(crate) const MAX_WIDE: usize = 1023;
const _: () = assert!(MAX_LABELS == 1023 && MAX_COLUMNS == 1023);
/// Bytes per checksum.
pub const CHUNK_LEN: u64 = 8192;
/// Prefix rows per anchor.
pub const ANCHOR_ROWS: u32 = 16;
/// Symbols per base.
pub const SYMBOL_GROUP: u32 = 16;
/// Maximum bytes of the name, unit or description of a metric.
pub const MAX_METRIC_TEXT_LEN: u32 = 65_535;
/// Maximum bytes of the name of a series column.
pub const MAX_COLUMN_NAME_LEN: u32 = 255;
/// Maximum bytes of a value of a series column.
pub const MAX_VALUE_LEN: u32 = 65_535;
/// Numbers of a series column that stand together.
pub const VALUE_GROUP: u32 = 256;
/// Maximum bytes of the meta section.
pub const MAX_META_LEN: u64 = 1 << 24;
/// Maximum window of the frame of a packed section, in bytes.
pub const MAX_PACKED_WINDOW: u64 = 1 << 23;
/// Maximum number of upper bits of a list: finding a member counts the ones before it (spec, section 8).
pub const MAX_UPPER_BITS: u64 = 1 << 16;
/// Maximum bytes of packed content per byte of its frame, for content of more than [`FREE_PACKED_LEN`] bytes.
pub const MAX_PACKED_RATIO: u64 = 256;
/// Maximum bytes of packed content whose frame may have any length.
pub const FREE_PACKED_LEN: u64 = 1 << 20;
/// Maximum bytes of packed content: what the starts of symbols can count.
pub const MAX_PACKED_LEN: u64 = (1 << 48) - 1;

/// Bit of `incompat`: the block is an archive, with a packed arena (ARCHIVE.md).
pub const PACKED_ARENA: u32 = 1;

/// Zero bytes that close a section which is, or ends in, a bit stream.
pub const STREAM_TAIL: u64 = 8;
/// Maximum width of a code, count or number of a record, in bits.
pub const MAX_CODE_WIDTH: u8 = 32;
/// Maximum width of the count of columns or leaves of a table, in bits.
pub const MAX_SMALL_WIDTH: u8 = 10;
/// Maximum width of a position in a section, in bits.
pub const MAX_OFFSET_WIDTH: u8 = 48;
/// Maximum width of a difference of symbol starts, in bits.
pub const MAX_DIFFERENCE_WIDTH: u8 = 24;
/// Bit of a section kind: the section is optional. Readers ignore unknown kinds with it (spec, section 3).
pub const OPTIONAL: u32 = 1 << 31;
/// Bit of an optional kind: a program that does not know the section must not replace the block.
pub const LOSS_MATTERS: u32 = 1 << 30;
/// Bit of an optional kind: the section means the same in a block with the same fingerprint and catalogue.
pub const MAY_BE_COPIED: u32 = 1 << 29;
/// Bit of an optional kind: it is private, and its sections begin with the UUID of their owner (REGISTRY.md).
pub const PRIVATE: u32 = 1 << 28;
/// Bit of an optional kind: it is an experiment (REGISTRY.md).
pub const EXPERIMENT: u32 = 1 << 27;
/// Bits of each feature word for experiments (REGISTRY.md).
pub const EXPERIMENTAL_FEATURES: u32 = 0xf000_0000;

/// The first bytes of the file (spec, section 3).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`]
    pub magic: [u8; 8],
    /// [`MAJOR`]
    pub major: U16,
    /// [`MINOR`]
    pub minor: U16,
    /// Feature bits without which the block cannot be read.
    pub incompat: U32,
    /// Feature bits without which it can be read but not replaced.
    pub ro_compat: U32,
    /// Feature bits that may be ignored.
    pub compat: U32,
    /// [`crate::identity::BlockId`]
    pub block_id: [u8; 16],
    /// Length of the file in bytes.
    pub file_len: U64,
    /// Entries of the directory.
    pub section_count: U32,
    /// Checksum of the directory and the first section, which is meta.
    pub front_checksum: U32,
    /// Checksum of the checks.
    pub checks_checksum: U32,
    /// CRC of the bytes of the header before it.
    pub header_checksum: U32,
}

/// An entry of the directory (spec, section 3).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct SectionEntry {
    /// [`SectionKind::code`]
    pub kind: U32,
    /// Number that distinguishes sections of one kind.
    pub id: U32,
    /// Offset of its first byte in the file.
    pub offset: U64,
    /// Length in bytes.
    pub length: U64,
}

/// The first bytes of the catalogue section (spec, section 5).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct CatalogueHeader {
    /// Label keys.
    pub key_count: U32,
    /// Tables, value dictionaries included.
    pub table_count: U32,
    /// List pools.
    pub pool_count: U32,
    /// Keysets.
    pub keyset_count: U32,
    /// Bits of all shapes.
    pub shape_bits: U64,
    /// Widths of `name`, `row_count`, `rows_offset`, `base`, `width`.
    pub key_widths: [u8; 5],
    /// Widths of `row_count`, `rows_offset`, `shape`.
    pub table_widths: [u8; 3],
    /// Widths of `column_count`, `leaf_count`, `domain`.
    pub shape_widths: [u8; 3],
    /// Widths of `table`, `list_count`, `member_count`, `low_width`, `offset`.
    pub pool_widths: [u8; 5],
    /// Widths of `series_end`, `anchors`.
    pub keyset_widths: [u8; 2],
}

/// The first bytes of the symbols section (spec, section 6).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct SymbolsHeader {
    /// Symbols.
    pub symbol_count: U32,
    /// Bits of a base.
    pub base_width: u8,
    /// Bits of a difference.
    pub difference_width: u8,
    /// Zero.
    pub reserved: U16,
}

/// The first bytes of a packed section (ARCHIVE.md).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct PackedHeader {
    /// Length of the decoded content in bytes.
    pub content_len: U64,
}

/// The first bytes of the meta section (spec, section 10).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct MetaHeader {
    /// Series.
    pub series_count: U64,
    /// Labels of all series together.
    pub label_count: U64,
    /// First half of the fingerprint.
    pub fingerprint_1: U64,
    /// Second half of the fingerprint.
    pub fingerprint_2: U64,
    /// First time of the data, in nanoseconds since 1970.
    pub time_start: I64,
    /// End of the data's time range, not itself in it.
    pub time_end: I64,
    /// Start of the window that the block was cut for.
    pub window_start: I64,
    /// End of that window, not itself in it.
    pub window_end: I64,
    /// The job that wrote the block.
    pub job_id: [u8; 16],
    /// Number of this output in the job, from 0.
    pub job_output: U32,
    /// Number of outputs of the job; 0 without a job.
    pub job_output_count: U32,
    /// Number of parents.
    pub parent_count: U32,
    /// Number of ancestors.
    pub ancestor_count: U32,
    /// External labels.
    pub external_label_count: U32,
    /// Annotations.
    pub annotation_count: U32,
    /// Longest label name, in bytes.
    pub max_name_len: U32,
    /// Longest label value, in bytes.
    pub max_value_len: U32,
    /// Version of the planner that chose the tables; 0 for none.
    pub planner_version: U32,
    /// [`RowForm::code`]
    pub row_form: u8,
    /// [`TIME_KNOWN`] and [`WINDOW_KNOWN`]
    pub flags: u8,
    /// Zero.
    pub reserved: U16,
}

/// The lengths before an external label or an annotation (spec, section 10).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct PairHeader {
    /// Bytes of the key.
    pub key_len: U16,
    /// Bytes of the value.
    pub value_len: U16,
}

/// The first bytes of the metric-metadata section (METRICS.md).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct MetricsHeader {
    /// Rows.
    pub row_count: U32,
    /// Distinct texts of all rows.
    pub text_count: U32,
    /// Widths of `name`, `type`, `temporality`, `monotonic`, `unit`, `description`.
    pub row_widths: [u8; 6],
    /// Width of `end`.
    pub text_widths: [u8; 1],
    /// Zero.
    pub reserved: u8,
}

/// The first bytes of a series-column section (COLUMNS.md).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct SeriesColumnHeader {
    /// [`crate::column::ValueType::code`]
    pub value_type: u8,
    /// [`crate::column::ColumnMerge::code`]
    pub merge: u8,
    /// Bytes of the name.
    pub name_len: U16,
    /// Zero.
    pub reserved: U32,
    /// All values are multiples of it.
    pub unit: U64,
}

/// The first bytes of a number array (COLUMNS.md).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct NumbersHeader {
    /// Numbers.
    pub count: U32,
    /// Widths of `base_low`, `base_high`, `common`, `width`, `exception_count`, `exception_width`, `has_absent`,
    /// `start`.
    pub group_widths: [u8; 8],
    /// Bytes of the groups.
    pub groups_len: U64,
}

/// Flag of [`MetaHeader::flags`]: the time range is known.
pub const TIME_KNOWN: u8 = 1;
/// Flag of [`MetaHeader::flags`]: the window is known.
pub const WINDOW_KNOWN: u8 = 2;

/// The sections of a block (spec, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum SectionKind {
    /// Counts, fingerprint, times, lineage and labels of the block itself. It comes first: to open a block is to read
    /// it and the beginning of the catalogue, which share a chunk if it is small.
    Meta = 1,
    /// Records of tables, columns, pools, keysets and keys.
    Catalogue = 2,
    /// Start of each symbol.
    Symbols = 3,
    /// The rows of all tables.
    Rows = 4,
    /// Lists and anchors.
    Members = 5,
    /// The symbols' bytes.
    Arena = 6,
    /// The symbols' bytes as a zstd frame, instead of [`SectionKind::Arena`].
    PackedArena = 7,
    /// Type, unit and description of metrics; optional.
    MetricMetadata = OPTIONAL + MAY_BE_COPIED + 1,
    /// Metric metadata as a zstd frame, instead of [`SectionKind::MetricMetadata`]. Only archives have it.
    PackedMetricMetadata = OPTIONAL + MAY_BE_COPIED + 2,
    /// A value per series; optional. A block has one for each of its series columns.
    SeriesColumn = OPTIONAL + LOSS_MATTERS + 3,
}

impl SectionKind {
    /// The kinds that every block has, in the order of the file. It also has an arena, plain or packed.
    pub const REQUIRED: [Self; 5] = [Self::Meta, Self::Catalogue, Self::Symbols, Self::Rows, Self::Members];

    /// All kinds, in the order of the file.
    pub const ALL: [Self; 10] = [
        Self::Meta,
        Self::Catalogue,
        Self::Symbols,
        Self::Rows,
        Self::Members,
        Self::Arena,
        Self::PackedArena,
        Self::MetricMetadata,
        Self::PackedMetricMetadata,
        Self::SeriesColumn,
    ];

    /// Returns the number of the kind in the directory.
    #[expect(clippy::as_conversions, reason = "the discriminant of a `repr(u32)` enum")]
    #[must_use]
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// Returns the kind with this number, or `None` if it is unknown.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Returns the name of the section in the spec and in dumps.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Catalogue => "catalogue",
            Self::Meta => "meta",
            Self::Symbols => "symbols",
            Self::Rows => "rows",
            Self::Members => "members",
            Self::Arena => "arena",
            Self::PackedArena => "packed-arena",
            Self::MetricMetadata => "metric-metadata",
            Self::PackedMetricMetadata => "packed-metric-metadata",
            Self::SeriesColumn => "series-column",
        }
    }
}

/// Rounding of the widths of fields in rows (spec, section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum RowForm {
    /// Fields of 0, 8, 16 or 32 bits.
    FixedWidth,
    /// Fields of the minimum width.
    #[default]
    BitPacked,
}

impl RowForm {
    /// Returns the number of the form in the meta section.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::FixedWidth => 0,
            Self::BitPacked => 1,
        }
    }

    /// Returns the form with this number, or `None` if it is unknown.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::FixedWidth),
            1 => Some(Self::BitPacked),
            _ => None,
        }
    }

    /// Returns the name of the form in dumps.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FixedWidth => "fixedwidth",
            Self::BitPacked => "bitpacked",
        }
    }

    /// Returns the width of a field whose largest and smallest code differ by `span`.
    #[inline]
    #[must_use]
    pub const fn width(self, span: u32) -> u32 {
        let bits = 32 - span.leading_zeros();
        match (self, bits) {
            (Self::BitPacked, _) => bits,
            (Self::FixedWidth, 0) => 0,
            (Self::FixedWidth, 1..=8) => 8,
            (Self::FixedWidth, 9..=16) => 16,
            (Self::FixedWidth, _) => 32,
        }
    }
}

/// Bits of `base_width` in a shape.
pub(crate) const BASE_WIDTH_BITS: u32 = 6;
/// Bits of `end_width` in a shape.
pub(crate) const END_WIDTH_BITS: u32 = 4;
