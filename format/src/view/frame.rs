//! [`Frame`]: the place of each section and array of a block (spec, sections 3 to 6 and 10).

use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

use super::record::Catalogue;
use super::symbol::Starts;
use crate::checksum::{CheckedFile, ChunkProofs, Grid, Owner, SectionProofs, crc, directory_checksum, expect_checksum};
use crate::error::{Place, corrupt};
use crate::identity::BlockId;
use crate::layout::{
    CatalogueHeader, Header, MAGIC, MAJOR, MAX_META_LEN, MAX_SECTIONS, MINOR, MetaHeader, OPTIONAL_KINDS, PACKED_ARENA,
    PRIVATE_KINDS, RowForm, SECTION_OWNER_LEN, SectionEntry, SectionKind, SymbolsHeader,
};
use crate::number::{index, length};
use crate::{Error, Result, Rule};

/// Place of a section in the file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    pub offset: u64,
    pub length: u64,
}

impl Extent {
    /// Returns the section's bytes.
    pub(crate) fn slice(self, block: &[u8]) -> Option<&[u8]> {
        let start = usize::try_from(self.offset).ok()?;
        block.get(start..)?.get(..usize::try_from(self.length).ok()?)
    }
}

/// The place of each section and array of a block, checked at opening. It is a few hundred bytes large and borrows
/// nothing, so that the owner of a block's bytes can store it beside them; [`super::BlockView::with_frame`] combines
/// the two at no cost.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub(crate) block_id: BlockId,
    pub(crate) features: [u32; 3],
    /// Sections by position in [`SectionKind::ALL`]; `None` for an optional section that the block does not have.
    extents: [Option<Extent>; 8],
    grid: Grid,
    pub(crate) catalogue: Catalogue,
    pub(crate) starts: Starts,
    pub(crate) row_form: RowForm,
}

impl Frame {
    /// Checks header, directory and the extent of each section. Costs O(sections) and allocates nothing.
    ///
    /// # Errors
    /// `NotABlock` if the magic bytes are missing, an `Unsupported` error for an unknown version, feature or required
    /// section, and `Corrupt` if a section that was read is damaged.
    pub fn parse(block: &[u8]) -> Result<Self> {
        let header = parse_header(block)?;
        let block_id = BlockId(header.block_id);
        let entries = parse_directory(block, header)?;
        let (extents, grid) = place_sections(entries, length(block.len()))?;
        expect_arena(&extents, header.incompat.get())?;
        let section = |kind| extent(&extents, kind).slice(block).unwrap_or_default();
        let checks_len = length(block.len()) - grid.end;
        if grid.checks_len() != Some(checks_len) {
            let expected = grid.checks_len().unwrap_or(u64::MAX);
            return Err(corrupt(Rule::ChecksLength, Place::Byte(grid.end), checks_len, expected));
        }

        let catalogue = section(SectionKind::Catalogue);
        let (catalogue_header, _) = CatalogueHeader::ref_from_prefix(catalogue)
            .map_err(|_| short(Rule::CatalogueHeader, catalogue, size_of::<CatalogueHeader>()))?;
        let catalogue = Catalogue::place(catalogue_header, length(catalogue.len()))?;

        let symbols = section(SectionKind::Symbols);
        let (symbols_header, _) = SymbolsHeader::ref_from_prefix(symbols)
            .map_err(|_| short(Rule::SymbolsHeader, symbols, size_of::<SymbolsHeader>()))?;
        let starts = Starts::place(symbols_header, length(symbols.len()))?;

        let meta = section(SectionKind::Meta);
        let (meta_header, _) =
            MetaHeader::ref_from_prefix(meta).map_err(|_| short(Rule::MetaHeader, meta, size_of::<MetaHeader>()))?;
        if length(meta.len()) > MAX_META_LEN {
            return Err(corrupt(Rule::MetaHeader, Place::Byte(0), length(meta.len()), MAX_META_LEN));
        }
        let row_form = RowForm::from_code(meta_header.row_form)
            .ok_or_else(|| corrupt(Rule::MetaValues, Place::Byte(116), meta_header.row_form.into(), 1))?;

        Ok(Self {
            block_id,
            features: [header.incompat.get(), header.ro_compat.get(), header.compat.get()],
            extents,
            grid,
            catalogue,
            starts,
            row_form,
        })
    }

    /// Checks every checksum in one pass over the block.
    ///
    /// # Errors
    /// `Corrupt` with the first wrong checksum.
    pub fn check_all(&self, block: &[u8]) -> Result<()> {
        let header = parse_header(block)?;
        let file = self.checked(block);
        let computed = file.owner.checks_checksum(file.checks.as_bytes());
        let place = Place::Byte(self.grid.end);
        expect_checksum(Rule::ChecksChecksum, place, computed, header.checks_checksum.get())?;
        file.check_all()
    }

    /// Returns the grid of chunks.
    #[must_use]
    pub const fn grid(&self) -> Grid {
        self.grid
    }

    pub(crate) fn section<'a>(&self, block: &'a [u8], kind: SectionKind) -> &'a [u8] {
        self.extent(kind).slice(block).unwrap_or_default()
    }

    /// Returns true if the block has this section. Every block has the required ones.
    pub(crate) fn has(&self, kind: SectionKind) -> bool {
        SectionKind::ALL.iter().zip(&self.extents).any(|(&other, extent)| other == kind && extent.is_some())
    }

    pub(crate) fn extent(&self, kind: SectionKind) -> Extent {
        extent(&self.extents, kind)
    }

    /// Returns the block with its checksums.
    pub(crate) fn checked<'a>(&self, block: &'a [u8]) -> CheckedFile<'a> {
        let checks = usize::try_from(self.grid.end).ok().and_then(|end| block.get(end..));
        CheckedFile {
            owner: Owner::Block(self.block_id),
            bytes: block,
            grid: self.grid,
            checks: checks.and_then(|checks| <[U32]>::ref_from_bytes(checks).ok()).unwrap_or_default(),
        }
    }

    /// Returns the record of the chunks that a section lies in.
    pub(crate) fn proofs<'a>(&self, block: &'a [u8], kind: SectionKind, proofs: &'a ChunkProofs) -> SectionProofs<'a> {
        let Extent { offset, length } = self.extent(kind);
        SectionProofs { file: self.checked(block), proofs, offset, end: offset.saturating_add(length) }
    }
}

/// Refuses a block that has no arena, or two, or another than its features say.
fn expect_arena(extents: &[Option<Extent>; 8], incompat: u32) -> Result<()> {
    let has = |kind| SectionKind::ALL.iter().zip(extents).any(|(&other, extent)| other == kind && extent.is_some());
    let is_packed = incompat & PACKED_ARENA != 0;
    for (kind, is_expected) in [(SectionKind::Arena, !is_packed), (SectionKind::PackedArena, is_packed)] {
        if has(kind) != is_expected {
            return Err(corrupt(Rule::ArenaKind, Place::Byte(64), (!is_expected).into(), is_expected.into()));
        }
    }
    Ok(())
}

/// Returns the error of a section that is shorter than its header.
fn short(rule: Rule, section: &[u8], header: usize) -> Error {
    corrupt(rule, Place::Byte(0), length(section.len()), length(header))
}

fn extent(extents: &[Option<Extent>; 8], kind: SectionKind) -> Extent {
    SectionKind::ALL
        .iter()
        .zip(extents)
        .find_map(|(&other, &extent)| if other == kind { extent } else { None })
        .unwrap_or_default()
}

/// Returns the header after its checks, in the order of the spec: a flipped bit in the version is damage, not a newer
/// version.
fn parse_header(block: &[u8]) -> Result<&Header> {
    if block.first_chunk() != Some(&MAGIC) {
        return Err(Error::NotABlock);
    }
    let header_len = length(size_of::<Header>());
    let (header, _) = Header::ref_from_prefix(block)
        .map_err(|_| corrupt(Rule::FileLen, Place::Byte(0), length(block.len()), header_len))?;
    let checked = block.first_chunk::<60>().map_or(&[][..], |bytes| bytes);
    expect_checksum(Rule::HeaderChecksum, Place::Byte(60), crc(checked), header.header_checksum.get())?;
    let (major, minor) = (header.major.get(), header.minor.get());
    if (major, minor) != (MAJOR, MINOR) {
        return Err(Error::UnsupportedVersion { major, minor });
    }
    let unknown = header.incompat.get() & !PACKED_ARENA;
    if unknown != 0 {
        return Err(Error::UnsupportedFeatures { bits: unknown });
    }
    if header.file_len.get() != length(block.len()) {
        return Err(corrupt(Rule::FileLen, Place::Byte(40), length(block.len()), header.file_len.get()));
    }
    Ok(header)
}

/// Returns the entries of the directory.
pub(crate) fn parse_directory<'a>(block: &'a [u8], header: &Header) -> Result<&'a [SectionEntry]> {
    let count = header.section_count.get();
    if count > MAX_SECTIONS {
        return Err(corrupt(Rule::DirectoryExtent, Place::Byte(48), count.into(), MAX_SECTIONS.into()));
    }
    let len = index(count) * size_of::<SectionEntry>();
    let directory = block.get(size_of::<Header>()..).and_then(|rest| rest.get(..len));
    let Some(directory) = directory else {
        return Err(corrupt(Rule::DirectoryExtent, Place::Byte(48), length(len), length(block.len())));
    };
    let computed = directory_checksum(BlockId(header.block_id), directory);
    expect_checksum(Rule::DirectoryChecksum, Place::Byte(64), computed, header.directory_checksum.get())?;
    Ok(<[SectionEntry]>::ref_from_bytes(directory).unwrap_or_default())
}

/// Returns the directory of a block whose header and directory were checked before.
pub(crate) fn directory(block: &[u8]) -> &[SectionEntry] {
    parse_header(block).and_then(|header| parse_directory(block, header)).unwrap_or_default()
}

/// Returns the place of each known section, and the grid of chunks.
fn place_sections(entries: &[SectionEntry], block_len: u64) -> Result<([Option<Extent>; 8], Grid)> {
    // A block of a later version is called unsupported, whatever else its entries are.
    let is_unknown = |kind: u32| kind < OPTIONAL_KINDS && SectionKind::from_code(kind).is_none();
    if let Some(entry) = entries.iter().find(|entry| is_unknown(entry.kind.get())) {
        return Err(Error::UnsupportedSection { kind: entry.kind.get() });
    }
    let mut extents = [None; 8];
    let front = length(size_of::<Header>() + size_of_val(entries));
    let mut end = front;
    let mut before = None;
    for (entry, number) in entries.iter().zip(0_u64..) {
        let place = Place::Byte(64 + number * 24);
        let (kind, id, offset, section_len) =
            (entry.kind.get(), entry.id.get(), entry.offset.get(), entry.length.get());
        if before >= Some((kind, id)) {
            return Err(corrupt(Rule::SectionOrder, place, kind.into(), before.map_or(0, |(kind, _)| kind.into())));
        }
        before = Some((kind, id));
        if offset != end {
            return Err(corrupt(Rule::SectionExtent, place, offset, end));
        }
        let extent = Extent { offset, length: section_len };
        end = offset
            .checked_add(section_len)
            .filter(|&end| end <= block_len)
            .ok_or_else(|| corrupt(Rule::SectionExtent, place, section_len, block_len - offset))?;
        match SectionKind::from_code(kind) {
            Some(known) if id == 0 => {
                if let Some(slot) =
                    SectionKind::ALL.iter().zip(&mut extents).find_map(|(&k, slot)| (k == known).then_some(slot))
                {
                    *slot = Some(extent);
                }
            }
            Some(_) => return Err(corrupt(Rule::SectionRequired, place, id.into(), 0)),
            None if PRIVATE_KINDS.contains(&kind) && section_len < SECTION_OWNER_LEN => {
                return Err(corrupt(Rule::SectionOwner, place, section_len, SECTION_OWNER_LEN));
            }
            None => {}
        }
    }
    // Required kinds come first in `ALL`.
    match SectionKind::REQUIRED.iter().zip(&extents).find(|(_, extent)| extent.is_none()) {
        Some((kind, _)) => Err(corrupt(Rule::SectionRequired, Place::Byte(64), 0, kind.code().into())),
        None => Ok((extents, Grid { front, end })),
    }
}
