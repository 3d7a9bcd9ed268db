//! [`PreparedBlock`]: a complete block except for rows that are written later.

use std::io::{self, Seek, Write};

use super::file::{FileOutline, SectionOutline, SectionWriter, version_and_features};
use super::members::{self, Anchors};
use super::meta::Content;
use super::{BlockBuilder, BlockMeta, BuildError, MetricRecords};
use crate::bits::BitWriter;
use crate::identity::{BlockId, BlockIdHasher, Fingerprint};
use crate::layout::{PACKED_ARENA, SectionKind};
use crate::number::length;
use crate::packed;

/// The rows of a keyset's table that are written later.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaterRows {
    pub row_count: u32,
    pub row_bits: u32,
}

/// All tables whose rows are written later.
#[derive(Debug, Default)]
pub(super) struct LaterTables {
    pub tables: Vec<LaterRows>,
    /// Bytes of their rows.
    pub len: u64,
}

/// A block that is complete except for the rows of keysets that were pushed as outlines.
///
/// Its id and length are known, so that its file can be named before it is written.
#[derive(Debug)]
pub struct PreparedBlock {
    file: FileOutline,
    /// Sections by their place in the file: of the rows those that are known, of the members all but the anchors.
    sections: Vec<Vec<u8>>,
    later: LaterTables,
    anchors: Vec<Anchors>,
    series_count: u64,
    fingerprint: Fingerprint,
}

const ROWS: usize = 3;
const MEMBERS: usize = 4;

impl PreparedBlock {
    pub(super) fn new(mut builder: BlockBuilder, meta: &BlockMeta) -> Result<Self, BuildError> {
        let (members, members_len) = members::write(&mut builder.graph, &builder.anchors, &mut builder.records);
        let content = Content {
            series_count: builder.series_count.into(),
            label_count: builder.label_count,
            fingerprint: builder.fingerprint,
            row_form: builder.form,
        };
        builder.records.place_shapes();
        let catalogue = builder.records.encode()?;
        let meta_section = meta.encode(&content)?;
        let metrics =
            if meta.metrics.is_empty() { Vec::new() } else { MetricRecords::from_set(&meta.metrics)?.encode()? };
        let (symbols, mut arena) = builder.symbols.finish();
        let packed = if meta.archive { packed::encode(&arena)? } else { None };
        let mut arena_kind = SectionKind::Arena;
        let mut features = [0; 3];
        if let Some(packed) = packed {
            (arena, arena_kind, features[0]) = (packed, SectionKind::PackedArena, PACKED_ARENA);
        }
        let mut id = BlockIdHasher::new(version_and_features(features), &meta_section, &catalogue);
        if !metrics.is_empty() {
            id.add_optional(SectionKind::MetricMetadata.code(), 0, &metrics);
        }
        let block_id = id.finish(meta.time.map(|time| time.start));
        let rows = if builder.later.tables.is_empty() { builder.rows.finish() } else { builder.rows.finish_aligned() };
        let closing = if builder.later.tables.is_empty() { 0 } else { length(CLOSING.len()) };
        let rows_len = length(rows.len()) + builder.later.len + closing;

        let mut sections = vec![meta_section, catalogue, symbols, rows, members, arena];
        let mut kinds: Vec<SectionKind> = SectionKind::REQUIRED.to_vec();
        kinds.push(arena_kind);
        if !metrics.is_empty() {
            sections.push(metrics);
            kinds.push(SectionKind::MetricMetadata);
        }
        let outlines = kinds.iter().zip(&sections).enumerate().map(|(number, (kind, bytes))| {
            let len = match number {
                ROWS => rows_len,
                MEMBERS => members_len,
                _ => length(bytes.len()),
            };
            SectionOutline { kind: kind.code(), id: 0, len }
        });
        let file = FileOutline::new(block_id, features, outlines.collect());
        builder.limits.bytes("file", 0, file.byte_len())?;
        let Content { series_count, fingerprint, .. } = content;
        Ok(Self { file, sections, later: builder.later, anchors: builder.anchors, series_count, fingerprint })
    }

    /// Returns the block's id.
    #[must_use]
    pub const fn block_id(&self) -> BlockId {
        self.file.block_id
    }

    /// Returns the number of series of the block.
    #[must_use]
    pub const fn series_count(&self) -> u64 {
        self.series_count
    }

    /// Returns the sum of the fingerprints of its series: those that were pushed, and those that outlines state.
    #[must_use]
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns the number of bytes of the whole file.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        self.file.byte_len()
    }

    /// Writes the block to the beginning of `out`. `rows` must write the rows of all keysets that were pushed as
    /// outlines, in their order. The header is written last.
    ///
    /// # Errors
    /// Returns an error of `out` or `rows`, and an error if the number of rows differs from the outlines.
    pub fn write_to<W: Write + Seek>(
        self,
        out: &mut W,
        mut rows: impl FnMut(&mut RowSink<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let Self { file, sections, later, mut anchors, .. } = self;
        file.write(out, |number, writer| {
            let bytes = sections.get(number).map_or(&[][..], Vec::as_slice);
            writer.write(bytes)?;
            match number {
                ROWS if !later.tables.is_empty() => write_rows(&later, &mut anchors, writer, &mut rows),
                MEMBERS if !bytes.is_empty() => writer.write(&members::anchors(&anchors)),
                _ => Ok(()),
            }
        })
    }
}

/// The zero bytes that close a bit stream.
const CLOSING: [u8; 8] = [0; 8];

fn write_rows<W: Write>(
    later: &LaterTables,
    anchors: &mut [Anchors],
    writer: &mut SectionWriter<'_, '_, W>,
    rows: &mut impl FnMut(&mut RowSink<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut write = |bytes: &[u8]| writer.write(bytes);
    let mut sink = RowSink {
        write: &mut write,
        tables: later.tables.iter(),
        left: 0,
        bits: BitWriter::new(),
        anchors: anchors.iter_mut().filter(|anchors| anchors.is_open()).collect::<Vec<_>>().into_iter(),
    };
    rows(&mut sink)?;
    sink.end()?;
    writer.write(&CLOSING)
}

/// Takes the rows of keysets that were pushed as outlines.
pub struct RowSink<'a> {
    write: &'a mut dyn FnMut(&[u8]) -> io::Result<()>,
    tables: std::slice::Iter<'a, LaterRows>,
    /// Number of bits of the table that are not written yet.
    left: u64,
    bits: BitWriter,
    anchors: std::vec::IntoIter<&'a mut Anchors>,
}

/// Bytes that are gathered before they are written.
const GATHERED: usize = 1 << 16;

impl RowSink<'_> {
    /// Begins the next table; the one before must have all its rows.
    ///
    /// # Errors
    /// Returns an error if rows of the last table are missing, if there is no further table, or if writing fails.
    pub fn next_table(&mut self) -> io::Result<()> {
        self.end_table()?;
        let table = self.tables.next().ok_or_else(|| io::Error::other("there is no further table"))?;
        self.left = u64::from(table.row_count) * u64::from(table.row_bits);
        Ok(())
    }

    /// Appends rows that [`super::RowPacker::pack`] made: `bits` bits from the beginning of the bytes.
    ///
    /// # Errors
    /// Returns an error for more rows than the outline has, and if writing fails.
    pub fn push(&mut self, packed: &PackedRows) -> io::Result<()> {
        self.left = self.left.checked_sub(packed.bits).ok_or_else(|| io::Error::other("there are too many rows"))?;
        self.bits.append(&packed.bytes, packed.bits);
        if self.bits.whole_bytes() >= GATHERED {
            (self.write)(&self.bits.take_whole_bytes())?;
        }
        Ok(())
    }

    /// Writes the anchors of the next table that has lists: the series before row 0, 16, 32 and so on.
    ///
    /// # Errors
    /// Returns an error if there is no such table or it has another number of anchors.
    pub fn anchors(&mut self, series_before: Vec<u32>) -> io::Result<()> {
        match self.anchors.next() {
            Some(anchors) => anchors.fill(series_before),
            None => Err(io::Error::other("there is no further table with lists")),
        }
    }

    fn end_table(&mut self) -> io::Result<()> {
        if self.left > 0 {
            return Err(io::Error::other("there are too few rows"));
        }
        self.bits.align();
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        self.end_table()?;
        if self.tables.next().is_some() {
            return Err(io::Error::other("there are too few tables"));
        }
        (self.write)(&self.bits.finish_aligned())
    }
}

/// Rows as a bit stream that was not closed.
#[derive(Clone, Debug, Default)]
pub struct PackedRows {
    pub(crate) bytes: Vec<u8>,
    pub(crate) bits: u64,
}

impl PackedRows {
    /// Takes the rows from a writer.
    #[must_use]
    pub fn from_writer(writer: BitWriter) -> Self {
        let bits = writer.bit_len();
        Self { bytes: writer.finish_aligned(), bits }
    }
}
