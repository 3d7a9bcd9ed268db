//! Takes a block apart, and puts it together again with right checksums, whatever was done to it in between.

use chronoxide_format::build::{Records, SectionBytes, assemble};
use chronoxide_format::identity::BlockId;
use chronoxide_format::layout::SectionKind;
use chronoxide_format::view::BlockView;

/// A block in pieces.
#[derive(Clone, Debug)]
pub struct Surgeon {
    /// incompat, ro_compat, compat
    pub features: [u32; 3],
    /// In the order of the file; the checks section is made anew.
    pub sections: Vec<SectionBytes>,
    /// The catalogue's records, packed anew by [`Surgeon::repack`].
    pub records: Records,
    block_id: BlockId,
    time_start: Option<i64>,
    keep_id: bool,
}

impl Surgeon {
    /// Takes a sound block apart.
    ///
    /// # Panics
    /// If the block does not open.
    pub fn open(block: &[u8]) -> Self {
        let view = BlockView::open(block).expect("the patient is sound");
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
            records: Records::of(&view).expect("the patient is sound"),
            block_id: view.block_id(),
            time_start: view.meta().expect("the patient is sound").time().map(|time| time.start),
            keep_id: false,
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

    /// Packs the records into the catalogue section.
    ///
    /// # Panics
    /// If there are too many.
    pub fn repack(&mut self) {
        let bytes = self.records.encode().expect("records can be counted");
        *self.section(SectionKind::Catalogue) = bytes;
    }

    /// Gives the block another id than its content says.
    pub fn with_id(mut self, id: BlockId) -> Self {
        self.block_id = id;
        self.keep_id = true;
        self
    }

    /// Puts the block together, with the id and the checksums that belong to it.
    pub fn close(mut self) -> Vec<u8> {
        if !self.keep_id {
            let bytes = |kind: SectionKind| {
                let section = self.sections.iter().find(|section| section.kind == kind.code());
                section.map_or(&[][..], |section| &section.bytes)
            };
            self.block_id = BlockId::derive(self.time_start, bytes(SectionKind::Meta), bytes(SectionKind::Catalogue));
        }
        assemble(self.block_id, self.features, &self.sections)
    }
}
