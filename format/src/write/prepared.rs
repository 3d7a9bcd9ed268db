//! [`PreparedBlock`]: a complete block except for rows that are written later.

use std::io::{self, Seek, Write};
use std::sync::Arc;

use super::file::{FileOutline, SectionOutline, SectionWriter};
use super::members::{self, Anchors};
use super::meta::Content;
use super::{BlockBuilder, BlockMeta, BuildError, CarriedSections, MetricRecords, PackedColumn, SectionBytes, values};
use crate::bits::BitWriter;
use crate::identity::{BlockId, Fingerprint};
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
/// Its length is known before it is written. Its id is known afterwards: it covers all bytes.
#[derive(Debug)]
pub struct PreparedBlock {
    file: FileOutline,
    /// Sections by their place in the file: without meta, of the rows those that are known, of the members all but the
    /// anchors.
    sections: Vec<SectionBytes>,
    later: LaterTables,
    anchors: Vec<Anchors>,
    series_count: u64,
    fingerprint: Fingerprint,
    carried: usize,
}

const META: usize = 0;
const CATALOGUE: usize = 1;
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
        let (symbols, arena) = builder.symbols.finish();
        let packed = if meta.archive { packed::encode(&arena)? } else { None };
        let features = [if packed.is_some() { PACKED_ARENA } else { 0 }, 0, 0];
        let is_archive = packed.is_some();
        let arena = packed.map_or((SectionKind::Arena, arena), |packed| (SectionKind::PackedArena, packed));
        let rows = if builder.later.tables.is_empty() { builder.rows.finish() } else { builder.rows.finish_aligned() };
        let closing = if builder.later.tables.is_empty() { 0 } else { length(CLOSING.len()) };
        let rows_len = length(rows.len()) + builder.later.len + closing;

        let mut sections: Vec<SectionBytes> = Vec::new();
        let bytes = [Vec::new(), catalogue, symbols, rows, members];
        sections.extend(SectionKind::REQUIRED.iter().zip(bytes).map(|(&kind, bytes)| SectionBytes::new(kind, bytes)));
        sections.push(SectionBytes::new(arena.0, arena.1));
        if !metrics.is_empty() {
            sections.push(metrics_section(metrics, is_archive)?);
        }
        sections.extend(values::sections(&meta.columns, content.series_count)?);
        let catalogue = sections.get(CATALOGUE).map(|section| &section.bytes);
        let fits = |carried: &&Arc<CarriedSections>| {
            Some(&carried.catalogue) == catalogue && carried.fingerprint == content.fingerprint
        };
        let carried = meta.carried.as_ref().filter(fits).map_or(&[][..], |carried| &carried.sections);
        sections.extend_from_slice(carried);
        sections.sort_by_key(|section| (section.kind, section.id));
        let outlines = sections.iter().enumerate().map(|(number, section)| {
            let len = match number {
                META => length(meta_section.len()),
                ROWS => rows_len,
                MEMBERS => members_len,
                _ => length(section.bytes.len()),
            };
            SectionOutline { kind: section.kind, id: section.id, len }
        });
        let outlines = outlines.collect();
        let file = FileOutline::new(features, meta.time.map(|time| time.start), meta_section, outlines);
        builder.limits.bytes("file", 0, file.byte_len())?;
        let Content { series_count, fingerprint, .. } = content;
        let (later, anchors, carried) = (builder.later, builder.anchors, carried.len());
        Ok(Self { file, sections, later, anchors, series_count, fingerprint, carried })
    }

    /// Adds series columns, which have a value or none for each series in the order of refs.
    ///
    /// # Errors
    /// `SeriesColumn` for a column with another number of values, and two of one name.
    pub fn with_columns(mut self, columns: &[PackedColumn]) -> Result<Self, BuildError> {
        for section in values::sections(columns, self.series_count)? {
            let key = (section.kind, section.id);
            let place = self.sections.partition_point(|other| (other.kind, other.id) < key);
            let outline = SectionOutline { kind: section.kind, id: section.id, len: length(section.bytes.len()) };
            self.file.insert(place, outline);
            self.sections.insert(place, section);
        }
        Ok(self)
    }

    /// Returns the number of sections that were copied from another block.
    #[must_use]
    pub const fn carried_sections(&self) -> usize {
        self.carried
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
    /// outlines, in their order. The header is written last. Returns the id of the block.
    ///
    /// # Errors
    /// Returns an error of `out` or `rows`, and an error if the number of rows differs from the outlines.
    pub fn write_to<W: Write + Seek>(
        self,
        out: &mut W,
        mut rows: impl FnMut(&mut RowSink<'_>) -> io::Result<()>,
    ) -> io::Result<BlockId> {
        let Self { file, sections, later, mut anchors, .. } = self;
        file.write(None, out, |number, writer| {
            let bytes = sections.get(number).map_or(&[][..], |section| &section.bytes);
            writer.write(bytes)?;
            match number {
                ROWS if !later.tables.is_empty() => write_rows(&later, &mut anchors, writer, &mut rows),
                MEMBERS if !bytes.is_empty() => writer.write(&members::anchors(&anchors)),
                _ => Ok(()),
            }
        })
    }
}

/// Returns the section of metric metadata: packed in an archive, if that is smaller.
fn metrics_section(metrics: Vec<u8>, is_archive: bool) -> Result<SectionBytes, BuildError> {
    let packed = if is_archive { packed::encode(&metrics)? } else { None };
    Ok(match packed.filter(|packed| packed.len() < metrics.len()) {
        Some(packed) => SectionBytes::new(SectionKind::PackedMetricMetadata, packed),
        None => SectionBytes::new(SectionKind::MetricMetadata, metrics),
    })
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
