//! Takes a block apart, and puts it together again with right checksums, whatever was done to it in between.

use chronoxide_format::bits::{BitWriter, width};
use chronoxide_format::checksum::{crc, front_checksum};
use chronoxide_format::identity::BlockId;
use chronoxide_format::layout::{MetaHeader, SectionKind, TIME_KNOWN};
use chronoxide_format::view::BlockView;
use chronoxide_format::write::{MetricRecords, Records, SectionBytes, assemble};
use zerocopy::FromBytes;

/// A block in pieces.
#[derive(Clone, Debug)]
pub struct BlockEditor {
    /// incompat, ro_compat, compat
    pub features: [u32; 3],
    /// In the order of the file.
    pub sections: Vec<SectionBytes>,
    /// The catalogue's records, packed anew by [`BlockEditor::repack`].
    pub records: Records,
    /// The records of metric metadata, packed anew by [`BlockEditor::repack_metrics`] if the block has that section.
    pub metrics: MetricRecords,
    /// Another id than the one that belongs to the sections.
    block_id: Option<BlockId>,
}

/// Computes the checksums of front and header anew, in a file that was changed in place.
pub fn reseal(file: &mut [u8]) {
    let block_id = BlockId(file[24..40].try_into().expect("16 bytes"));
    let sections = u32::from_le_bytes(file[48..52].try_into().expect("4 bytes")) as usize;
    let directory_end = 64 + sections * 24;
    let first = file.get(80..88).map_or(0, |len| u64::from_le_bytes(len.try_into().expect("8 bytes")));
    let end = usize::try_from(first).ok().and_then(|first| first.checked_add(directory_end));
    let end = end.map_or(file.len(), |end| end.min(file.len()));
    let front = front_checksum(block_id, &file[64..end]);
    file[52..56].copy_from_slice(&front.to_le_bytes());
    let header = crc(&file[..60]);
    file[60..64].copy_from_slice(&header.to_le_bytes());
}

impl BlockEditor {
    /// Takes a sound block apart. A packed arena stays packed.
    ///
    /// # Panics
    /// If the block does not open.
    #[must_use]
    pub fn open(block: &[u8]) -> Self {
        let mut content = Vec::new();
        // Some broken archives cannot be decoded.
        let view = BlockView::open_unpacked(block, &mut content).or_else(|_| BlockView::open(block));
        let view = view.expect("the block is sound");
        let bytes = |offset: u64, length: u64| block[offset as usize..(offset + length) as usize].to_vec();
        Self {
            features: view.features(),
            sections: view
                .sections()
                .map(|section| SectionBytes {
                    kind: section.kind,
                    id: section.id,
                    bytes: bytes(section.offset, section.length),
                })
                .collect(),
            records: Records::from_view(&view).expect("the block is sound"),
            metrics: MetricRecords::from_view(&view).unwrap_or_default(),
            block_id: None,
        }
    }

    /// The bytes of a section.
    ///
    /// # Panics
    /// If the section was taken away.
    pub fn section(&mut self, kind: SectionKind) -> &mut Vec<u8> {
        let section = self.sections.iter_mut().find(|section| section.kind == kind.code());
        &mut section.expect("the section was not taken away").bytes
    }

    /// Returns true if the block has this section.
    #[must_use]
    pub fn has(&self, kind: SectionKind) -> bool {
        self.sections.iter().any(|section| section.kind == kind.code())
    }

    /// Writes a field of `width` bits at bit `bit` of a section.
    ///
    /// # Panics
    /// If the section is shorter.
    pub fn set_bits(&mut self, kind: SectionKind, bit: u64, width: u32, value: u64) {
        let section = self.section(kind);
        for place in 0..width {
            let at = (bit + u64::from(place)) as usize;
            let mask = 1 << (at % 8);
            section[at / 8] = if value >> place & 1 == 1 { section[at / 8] | mask } else { section[at / 8] & !mask };
        }
    }

    /// Packs the starts of symbols, and the arena's length at their end, with fields that are wider than they need to
    /// be.
    ///
    /// # Panics
    /// If there are too many.
    pub fn repack_starts(&mut self, starts: &[u64], wider: u32) {
        let base = |at: usize| starts[at - at % 16];
        let base_width = width(base(starts.len() - 1)) + wider;
        let difference_width = width((0..starts.len()).map(|at| starts[at] - base(at)).max().unwrap_or(0));
        let mut writer = BitWriter::new();
        writer.push(starts.len() as u64 - 1, 32);
        writer.push(base_width.into(), 8);
        writer.push(difference_width.into(), 8);
        writer.push(0, 16);
        for (at, &start) in starts.iter().enumerate() {
            if at % 16 == 0 { writer.push(start, base_width) } else { writer.push(start - base(at), difference_width) }
        }
        *self.section(SectionKind::Symbols) = writer.finish();
    }

    /// Packs the records into the catalogue section. Shapes that were changed may need [`Records::place_shapes`]
    /// before.
    ///
    /// # Panics
    /// If there are too many.
    pub fn repack(&mut self) {
        let bytes = self.records.encode().expect("records can be counted");
        *self.section(SectionKind::Catalogue) = bytes;
    }

    /// Packs the records of metric metadata into their section, if there are any.
    ///
    /// # Panics
    /// If there are too many.
    pub fn repack_metrics(&mut self) {
        if self.has(SectionKind::MetricMetadata) {
            let bytes = self.metrics.encode().expect("records can be counted");
            *self.section(SectionKind::MetricMetadata) = bytes;
        }
    }

    /// Gives the block another id than its content says.
    #[must_use]
    pub fn with_id(mut self, id: BlockId) -> Self {
        self.block_id = Some(id);
        self
    }

    /// Puts the block together, with the id and the checksums that belong to it.
    #[must_use]
    pub fn close(self) -> Vec<u8> {
        let meta = self.sections.iter().find(|section| section.kind == SectionKind::Meta.code());
        let time_start = meta.and_then(|meta| time_start(&meta.bytes));
        assemble(self.block_id, self.features, time_start, &self.sections)
    }
}

/// The start of the time range that a meta section tells, if it does.
fn time_start(meta: &[u8]) -> Option<i64> {
    let (meta, _) = MetaHeader::ref_from_prefix(meta).ok()?;
    (meta.flags & TIME_KNOWN != 0).then(|| meta.time_start.get())
}
