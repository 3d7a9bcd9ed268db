//! [`Frame`]: the place of each section and array of a block (spec, sections 3 to 6).

use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

use super::Meta;
use super::record::Catalogue;
use super::symbol::Starts;
use crate::checksum::{CheckedFile, ChunkProofs, Grid, Owner, SectionProofs, crc, expect_checksum, front_checksum};
use crate::error::{Place, corrupt, corrupt_at};
use crate::identity::BlockId;
use crate::layout::{
    CatalogueHeader, Header, LOSS_MATTERS, MAGIC, MAJOR, MAX_META_LEN, MAX_SECTIONS, OPTIONAL, PACKED_ARENA,
    SectionEntry, SectionKind, SymbolsHeader,
};
use crate::number::{index, length, low32};
use crate::{Error, ErrorKind, Result, Rule};

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
    pub(crate) version: (u16, u16),
    pub(crate) features: [u32; 3],
    /// Sections by position in [`SectionKind::ALL`]; `None` for an optional section that the block does not have.
    extents: Extents,
    grid: Grid,
    pub(crate) catalogue: Catalogue,
    pub(crate) starts: Starts,
    /// Kind of a section whose loss matters and that this crate does not know.
    pub(crate) unknown_loss_matters: Option<u32>,
    /// Series columns: the entry of the first one in the directory, and their number.
    pub(crate) columns: (u32, u32),
    /// Length of a packed arena, as its header states it.
    pub(crate) packed_arena_len: Option<u64>,
}

/// The place of each kind of section, in the order of [`SectionKind::ALL`].
type Extents = [Option<Extent>; SectionKind::ALL.len()];

impl Frame {
    /// Checks header, directory and the extent of each section. Costs O(sections) and allocates nothing.
    ///
    /// # Errors
    /// `NotABlock` if the magic bytes are missing, an `Unsupported` error for an unknown version, feature or required
    /// section, and `Corrupt` if a section that was read is damaged.
    pub fn parse(block: &[u8]) -> Result<Self> {
        let header = parse_header(block)?;
        let block_id = BlockId(header.block_id);
        let entries = parse_front(block, header)?;
        let is_archive = header.incompat.get() & PACKED_ARENA != 0;
        let (extents, grid) = place_sections(entries, length(block.len()), is_archive)?;
        expect_arena(&extents, header.incompat.get())?;
        let is_precious =
            |&kind: &u32| kind & OPTIONAL != 0 && kind & LOSS_MATTERS != 0 && SectionKind::from_code(kind).is_none();
        let unknown_loss_matters = entries.iter().map(|entry| entry.kind.get()).find(is_precious);
        let columns = place_columns(entries)?;
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

        Meta::parse(section(SectionKind::Meta))?;
        let packed_arena = section(SectionKind::PackedArena);
        let packed_arena_len = packed_arena.first_chunk().map(|len| u64::from_le_bytes(*len));
        Ok(Self {
            block_id,
            version: (header.major.get(), header.minor.get()),
            features: [header.incompat.get(), header.ro_compat.get(), header.compat.get()],
            extents,
            grid,
            catalogue,
            starts,
            unknown_loss_matters,
            columns,
            packed_arena_len,
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

    /// Copies a section, and checks the chunks that it lies in as they are copied.
    pub(crate) fn copy(&self, block: &[u8], kind: SectionKind) -> Result<Vec<u8>> {
        let Extent { offset, length } = self.extent(kind);
        self.checked(block).copy(offset..offset.saturating_add(length))
    }

    /// Copies the meta section, and checks the front that it is a part of as it is copied.
    pub(crate) fn copy_meta(&self, block: &[u8]) -> Result<Vec<u8>> {
        let mut front = block.get(..index(low32(self.grid.front))).unwrap_or_default().to_vec();
        let header = parse_header_fields(&front)?;
        // The bytes may be those of another block by now.
        if header.block_id != self.block_id.0 {
            return Err(corrupt_at(Rule::FrontChecksum, Place::Byte(24)));
        }
        parse_front(&front, header)?;
        Ok(front.split_off(index(low32(self.extent(SectionKind::Meta).offset))))
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

    /// Returns the place of the section of a series column, or `None` if the block has fewer.
    pub(crate) fn column_extent(&self, block: &[u8], column: u32) -> Option<Extent> {
        let (first, count) = self.columns;
        let entry = directory(block).get(index(first.checked_add(column)?)).filter(|_| column < count)?;
        Some(Extent { offset: entry.offset.get(), length: entry.length.get() })
    }

    /// Returns the record of the chunks that a section lies in.
    pub(crate) fn proofs<'a>(&self, block: &'a [u8], kind: SectionKind, proofs: &'a ChunkProofs) -> SectionProofs<'a> {
        self.proofs_at(block, self.extent(kind), proofs)
    }

    /// Returns the record of the chunks that a part of the file lies in.
    pub(crate) fn proofs_at<'a>(&self, block: &'a [u8], at: Extent, proofs: &'a ChunkProofs) -> SectionProofs<'a> {
        let Extent { offset, length } = at;
        SectionProofs { file: self.checked(block), proofs, offset, end: offset.saturating_add(length) }
    }
}

/// Returns the entry of the first series column in the directory, and the number of columns. Entries are in order.
fn place_columns(entries: &[SectionEntry]) -> Result<(u32, u32)> {
    let is_column = |entry: &&SectionEntry| entry.kind.get() == SectionKind::SeriesColumn.code();
    let first = entries.iter().position(|entry| is_column(&entry)).unwrap_or_default();
    let mut count = 0;
    for entry in entries.iter().filter(is_column) {
        if entry.id.get() != count {
            return Err(corrupt(Rule::ValueName, Place::SeriesColumn(count), entry.id.get().into(), count.into()));
        }
        count += 1;
    }
    Ok((low32(length(first)), count))
}

/// Refuses a block that has no arena, or two, or another than its features say.
fn expect_arena(extents: &Extents, incompat: u32) -> Result<()> {
    let has = |kind| SectionKind::ALL.iter().zip(extents).any(|(&other, extent)| other == kind && extent.is_some());
    let is_packed = incompat & PACKED_ARENA != 0;
    let arenas = [(SectionKind::Arena, !is_packed), (SectionKind::PackedArena, is_packed)];
    for (kind, is_expected) in arenas {
        if has(kind) != is_expected {
            let found = if is_expected { 0 } else { kind.code() };
            return Err(corrupt(Rule::SectionRequired, Place::Byte(64), found.into(), kind.code().into()));
        }
    }
    if has(SectionKind::PackedMetricMetadata) && has(SectionKind::MetricMetadata) {
        return Err(corrupt_at(Rule::PackedHeader, Place::Byte(64)));
    }
    Ok(())
}

/// Returns the error of a section that is shorter than its header.
fn short(rule: Rule, section: &[u8], header: usize) -> Error {
    corrupt(rule, Place::Byte(0), length(section.len()), length(header))
}

fn extent(extents: &Extents, kind: SectionKind) -> Extent {
    SectionKind::ALL
        .iter()
        .zip(extents)
        .find_map(|(&other, &extent)| if other == kind { extent } else { None })
        .unwrap_or_default()
}

/// Returns the header after its checks, in the order of the spec: a flipped bit in the version is damage, not a newer
/// version.
fn parse_header(block: &[u8]) -> Result<&Header> {
    let header = parse_header_fields(block)?;
    if header.file_len.get() != length(block.len()) {
        return Err(corrupt(Rule::FileLen, Place::Byte(40), length(block.len()), header.file_len.get()));
    }
    Ok(header)
}

/// Checks the header, but not the length of the file.
fn parse_header_fields(block: &[u8]) -> Result<&Header> {
    if block.first_chunk() != Some(&MAGIC) {
        return Err(ErrorKind::NotABlock.into());
    }
    let header_len = length(size_of::<Header>());
    let (header, _) = Header::ref_from_prefix(block)
        .map_err(|_| corrupt(Rule::FileLen, Place::Byte(0), length(block.len()), header_len))?;
    let checked = block.first_chunk::<60>().map_or(&[][..], |bytes| bytes);
    expect_checksum(Rule::HeaderChecksum, Place::Byte(60), crc(checked), header.header_checksum.get())?;
    let (major, minor) = (header.major.get(), header.minor.get());
    if major != MAJOR {
        return Err(ErrorKind::UnsupportedVersion { major, minor }.into());
    }
    let unknown = header.incompat.get() & !PACKED_ARENA;
    if unknown != 0 {
        return Err(ErrorKind::UnsupportedFeatures { bits: unknown }.into());
    }
    Ok(header)
}

/// Returns the entries of the directory, without a look at the section that they begin with.
fn entries<'a>(block: &'a [u8], header: &Header) -> Result<&'a [SectionEntry]> {
    let count = header.section_count.get();
    if count == 0 || count > MAX_SECTIONS {
        return Err(corrupt(Rule::DirectoryExtent, Place::Byte(48), count.into(), MAX_SECTIONS.into()));
    }
    let len = index(count) * size_of::<SectionEntry>();
    match block.get(size_of::<Header>()..).and_then(|rest| rest.get(..len)) {
        Some(directory) => Ok(<[SectionEntry]>::ref_from_bytes(directory).unwrap_or_default()),
        None => Err(corrupt(Rule::DirectoryExtent, Place::Byte(48), length(len), length(block.len()))),
    }
}

/// Returns the entries of the directory, after a check of directory and first section.
fn parse_front<'a>(block: &'a [u8], header: &Header) -> Result<&'a [SectionEntry]> {
    let entries = entries(block, header)?;
    let first_len = entries.first().map_or(0, |first| first.length.get());
    if first_len > MAX_META_LEN {
        return Err(corrupt(Rule::DirectoryExtent, Place::Byte(80), first_len, MAX_META_LEN));
    }
    let front_len = length(size_of_val(entries)) + first_len;
    let rest = block.get(size_of::<Header>()..).unwrap_or_default();
    let Some(front) = usize::try_from(front_len).ok().and_then(|len| rest.get(..len)) else {
        return Err(corrupt(Rule::DirectoryExtent, Place::Byte(80), front_len, length(rest.len())));
    };
    let computed = front_checksum(BlockId(header.block_id), front);
    expect_checksum(Rule::FrontChecksum, Place::Byte(64), computed, header.front_checksum.get())?;
    Ok(entries)
}

/// Returns the directory of a block whose front was checked before.
pub(crate) fn directory(block: &[u8]) -> &[SectionEntry] {
    let header = Header::ref_from_prefix(block);
    header.ok().and_then(|(header, _)| entries(block, header).ok()).unwrap_or_default()
}

/// Returns the place of each known section, and the grid of chunks. Only archives have packed metric metadata: in
/// another block they are not known.
fn place_sections(entries: &[SectionEntry], block_len: u64, is_archive: bool) -> Result<(Extents, Grid)> {
    // A block of a later version is called unsupported, whatever else its entries are.
    let is_unknown = |kind: u32| kind < OPTIONAL && SectionKind::from_code(kind).is_none();
    if let Some(entry) = entries.iter().find(|entry| is_unknown(entry.kind.get())) {
        return Err(ErrorKind::UnsupportedSection { kind: entry.kind.get() }.into());
    }
    let mut extents = Extents::default();
    let mut end = length(size_of::<Header>() + size_of_val(entries));
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
        let known = SectionKind::from_code(kind);
        match known.filter(|&known| is_archive || known != SectionKind::PackedMetricMetadata) {
            Some(SectionKind::SeriesColumn) | None => {}
            Some(known) if id == 0 => {
                if let Some(slot) =
                    SectionKind::ALL.iter().zip(&mut extents).find_map(|(&k, slot)| (k == known).then_some(slot))
                {
                    *slot = Some(extent);
                }
            }
            Some(known) => {
                let rule = match known {
                    SectionKind::MetricMetadata => Rule::MetricHeader,
                    SectionKind::PackedMetricMetadata => Rule::PackedHeader,
                    _ => Rule::SectionRequired,
                };
                return Err(corrupt(rule, place, id.into(), 0));
            }
        }
    }
    // Required kinds come first in `ALL`.
    match SectionKind::REQUIRED.iter().zip(&extents).find(|(_, extent)| extent.is_none()) {
        Some((kind, _)) => Err(corrupt(Rule::SectionRequired, Place::Byte(64), 0, kind.code().into())),
        None => {
            // Meta is the first section: its kind is the least.
            let Extent { offset, length } = extent(&extents, SectionKind::Meta);
            Ok((extents, Grid { front: offset + length, end }))
        }
    }
}
