//! [`BlockView`]: a block, read in place.

use std::fmt;
use std::iter::FusedIterator;

use super::paths::KeptCatalogue;
use super::until_error::until_error;
use super::{Frame, Keyset, Meta, Metrics, Paths, Pool, Symbols, Table, frame};
use crate::bits::Bits;
use crate::checksum::{ChunkProofs, SectionProofs};
use crate::error::{Place, corrupt, corrupt_at};
use crate::identity::{BlockId, BlockIdHasher, Fingerprint, SectionHasher};
use crate::layout::{CatalogueHeader, Header, MAY_BE_COPIED, RowForm, SectionEntry, SectionKind, SymbolsHeader};
use crate::number::{length, low32};
use crate::packed::Packed;
use crate::write::{CarriedSections, SectionBytes};
use crate::{KeyId, PoolId, Result, Rule, SeriesRef, SymbolId, TableId};

/// A view of a block's bytes.
///
/// [`BlockView::open`] checks header, directory and the extent of each section. Every later access is checked against
/// its section: damaged bytes give an error or wrong values, never a panic, a read out of bounds or an endless loop.
/// Nothing is allocated.
///
/// Labels borrow the bytes, not the view:
///
/// ```
/// use chronoxide_format::SeriesRef;
/// use chronoxide_format::view::BlockView;
///
/// fn job<'b>(bytes: &'b [u8]) -> Option<&'b [u8]> {
///     let view = BlockView::open(bytes).ok()?;
///     view.series(SeriesRef(0)).ok()??.get("job").ok()?
/// }
/// ```
#[derive(Clone, Copy)]
pub struct BlockView<'data> {
    pub(crate) frame: Frame,
    bytes: &'data [u8],
    pub(crate) catalogue: Bits<'data>,
    pub(crate) rows: Bits<'data>,
    pub(crate) members: Bits<'data>,
    symbols: Symbols<'data>,
    meta: &'data [u8],
    /// Decoded metric metadata of an archive. Empty until they are decoded.
    unpacked_metrics: &'data [u8],
    /// True if rules of class C are not verified, whatever the features are.
    only_reading: bool,
    /// Record of checked chunks, for sections whose proofs are made on demand.
    proofs: Option<&'data ChunkProofs>,
    /// Use [`BlockView::kept`].
    paths: Option<&'data Paths>,
}

impl fmt::Debug for BlockView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockView").field("id", &self.block_id()).field("len", &self.bytes.len()).finish()
    }
}

impl<'data> BlockView<'data> {
    /// Opens a block. Costs O(sections) and a checksum of the meta section, regardless of the block's
    /// size. Does not check the checksums of sections:
    /// [`BlockView::verify`] does, and a view with proofs does so as it reads.
    ///
    /// # Errors
    /// `NotABlock` if the magic bytes are missing, an `Unsupported` error for an unknown version, feature or required
    /// section, and `Corrupt` if a section that was read is damaged.
    pub fn open(bytes: &'data [u8]) -> Result<Self> {
        Ok(Self::with_frame(bytes, &Frame::parse(bytes)?, None))
    }

    /// Opens a block and decodes its packed sections into `content` if it is an archive. Otherwise `content` is
    /// cleared.
    ///
    /// # Errors
    /// The errors of [`BlockView::open`] and of [`Packed::decode_into`].
    pub fn open_unpacked(bytes: &'data [u8], content: &'data mut Vec<u8>) -> Result<Self> {
        let view = Self::open(bytes)?;
        content.clear();
        match view.packed()? {
            Some(packed) => {
                packed.decode_into(content)?;
                Ok(view.with_unpacked(content))
            }
            None => Ok(view),
        }
    }

    /// Combines a block's bytes with the frame that was parsed from them. With `proofs`, the checksum of each chunk is
    /// checked when the chunk is first read, and a damaged chunk gives an error. A frame of other bytes gives errors
    /// or wrong values.
    #[must_use]
    pub fn with_frame(bytes: &'data [u8], frame: &Frame, proofs: Option<&'data ChunkProofs>) -> Self {
        let section = |kind| frame.section(bytes, kind);
        let proofs_of = |kind| proofs.map(|proofs| frame.proofs(bytes, kind, proofs));
        let bits = |kind, rule| Bits::with_proofs(section(kind), rule, proofs_of(kind));
        let symbols = Symbols {
            starts: frame.starts,
            bits: bits(SectionKind::Symbols, Rule::SymbolsLength),
            arena: section(SectionKind::Arena),
            proofs: proofs_of(SectionKind::Arena),
            is_missing: frame.has(SectionKind::PackedArena),
        };
        Self {
            frame: *frame,
            bytes,
            catalogue: bits(SectionKind::Catalogue, Rule::CatalogueLength),
            rows: bits(SectionKind::Rows, Rule::TableExtent),
            members: bits(SectionKind::Members, Rule::MembersExtent),
            symbols,
            meta: section(SectionKind::Meta),
            unpacked_metrics: &[],
            only_reading: false,
            proofs,
            paths: None,
        }
    }

    /// Returns the view with the content that [`Packed::decode_into`] decoded from the same block. Without it, a view
    /// of an archive has counts, codes and meta, and gives [`ErrorKind::PackedArena`] for symbols and metric metadata.
    /// Other bytes give errors or wrong values.
    ///
    /// [`ErrorKind::PackedArena`]: crate::ErrorKind::PackedArena
    #[must_use]
    pub fn with_unpacked(mut self, content: &'data [u8]) -> Self {
        if self.frame.has(SectionKind::PackedArena) {
            // Metric metadata follow the arena.
            let has_metrics = self.frame.has(SectionKind::PackedMetricMetadata);
            let arena_len = self.frame.packed_arena_len.filter(|_| has_metrics);
            let arena_len = arena_len.and_then(|len| usize::try_from(len).ok());
            let split = arena_len.and_then(|len| content.split_at_checked(len));
            (self.symbols.arena, self.unpacked_metrics) = split.unwrap_or((content, &[]));
            self.symbols.is_missing = false;
        }
        self
    }

    /// Returns the view with paths, which are new or belong to the same block: it parses no entry of the catalogue
    /// twice. Those of another block give errors or wrong values. Share them between views with the same proofs only.
    #[must_use]
    pub const fn with_paths(self, paths: &'data Paths) -> Self {
        Self { paths: Some(paths), ..self }
    }

    /// Returns the part of the catalogue that is kept. A packed arena has no names of keys to keep.
    #[inline(always)]
    pub(crate) fn kept(&self) -> Option<&'data KeptCatalogue> {
        let paths = self.paths?;
        (!self.is_packed()).then(|| paths.for_view(self))
    }

    /// Returns the view without paths.
    pub(crate) const fn without_paths(self) -> Self {
        Self { paths: None, ..self }
    }

    /// Returns true if the block is an archive and the view was made without the decoded content of its packed
    /// sections, so that symbols are [`ErrorKind::PackedArena`](crate::ErrorKind::PackedArena).
    #[inline]
    #[must_use]
    pub const fn is_packed(&self) -> bool {
        self.symbols.is_missing
    }

    /// Returns the packed sections of an archive, or `None` if the block is none. With proofs, checks their checksums.
    ///
    /// # Errors
    /// `Corrupt` if the form of a section breaks a rule.
    pub fn packed(&self) -> Result<Option<Packed<'data>>> {
        if !self.frame.has(SectionKind::PackedArena) {
            return Ok(None);
        }
        let section = |kind| -> Result<&'data [u8]> {
            let section = self.frame.section(self.bytes, kind);
            if let Some(proofs) = self.proofs {
                self.frame.proofs(self.bytes, kind, proofs).touch(0, length(section.len()))?;
            }
            Ok(section)
        };
        let metrics = SectionKind::PackedMetricMetadata;
        let metrics = self.frame.has(metrics).then(|| section(metrics)).transpose()?;
        let symbols_len = self.symbols.start(self.symbols.count())?;
        Packed::parse(section(SectionKind::PackedArena)?, metrics, symbols_len).map(Some)
    }

    /// Checks the checksums of the bytes that [`Frame::parse`] read and did not check. Needed before a view with proofs
    /// is used.
    ///
    /// # Errors
    /// `Corrupt` if a chunk is damaged.
    pub fn prove_frame(&self) -> Result<()> {
        // The headers are read through the bit streams, which check the chunks that they touch.
        self.catalogue.touch(0, length(size_of::<CatalogueHeader>()))?;
        self.symbols.bits.touch(0, length(size_of::<SymbolsHeader>()))
    }

    /// Returns the bytes of the block.
    #[must_use]
    pub const fn bytes(&self) -> &'data [u8] {
        self.bytes
    }

    /// Returns the place of each section and array.
    #[must_use]
    pub const fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Returns the id of the block.
    #[must_use]
    pub const fn block_id(&self) -> BlockId {
        self.frame.block_id
    }

    /// Returns the major and minor version of the file.
    #[must_use]
    pub const fn version(&self) -> (u16, u16) {
        self.frame.version
    }

    /// Returns the header's feature words: incompat, ro_compat, compat.
    #[must_use]
    pub const fn features(&self) -> [u32; 3] {
        self.frame.features
    }

    /// Returns the bits of `ro_compat` that this crate does not know: all that are set, since none is defined. A block
    /// with such a bit is [read-only](BlockView::read_only), and only rules of class R can be verified.
    #[must_use]
    pub const fn unknown_ro_compat(&self) -> u32 {
        self.frame.features[1]
    }

    /// Returns the reason for which a program that does not know more than this crate must neither merge, hide nor
    /// delete the block; `None` if it may.
    #[must_use]
    pub fn read_only(&self) -> Option<ReadOnly> {
        match self.unknown_ro_compat() {
            0 => self.frame.unknown_loss_matters.map(|kind| ReadOnly::Section { kind }),
            bits => Some(ReadOnly::Features { bits }),
        }
    }

    /// Copies the optional sections that this crate does not know and that may be copied to a block of the same series
    /// with the same catalogue (LIFECYCLE.md, section 4). Returns `None` if there are none. Checks the checksums of the
    /// copies.
    ///
    /// # Errors
    /// `Corrupt` if a chunk is damaged.
    pub fn carried_sections(&self) -> Result<Option<CarriedSections>> {
        let file = self.frame.checked(self.bytes);
        let mut sections = Vec::new();
        // All that are not known are optional.
        let may_be_copied = |section: &Section| section.known().is_none() && section.kind & MAY_BE_COPIED != 0;
        for Section { kind, id, offset, length } in self.sections().filter(may_be_copied) {
            let bytes = file.copy(offset..offset.saturating_add(length))?;
            sections.push(SectionBytes { kind, id, bytes });
        }
        if sections.is_empty() {
            return Ok(None);
        }
        let fingerprint = Fingerprint::from_parts(self.meta()?.fingerprint());
        let fingerprint = fingerprint.ok_or_else(|| corrupt_at(Rule::Fingerprint, Place::Byte(16)))?;
        let catalogue = self.frame.section(self.bytes, SectionKind::Catalogue).to_vec();
        Ok(Some(CarriedSections { catalogue, fingerprint, sections }))
    }

    /// Checks that the block's id was derived from the block. Costs a hash of all sections, about a second per GB.
    ///
    /// # Errors
    /// `Corrupt` with rule `block-id` if the id is another one.
    pub fn check_id(&self) -> Result<()> {
        let words = self.bytes.get(8..24).and_then(|words| words.first_chunk()).copied().unwrap_or_default();
        let mut hasher = BlockIdHasher::new(words);
        for section in self.sections() {
            let mut bytes = SectionHasher::default();
            bytes.update(section.slice(self.bytes).unwrap_or_default());
            hasher.add(section.kind, section.id, &bytes);
        }
        let expected = hasher.finish(self.meta()?.time().map(|time| time.start));
        if self.block_id() != expected {
            return Err(corrupt(Rule::BlockId, Place::Byte(24), self.block_id().prefix(), expected.prefix()));
        }
        Ok(())
    }

    /// Returns the bytes of the header, which holds the checksums of all others. Of two files with one id and different
    /// headers, at least one is damaged (spec, section 11).
    #[must_use]
    pub fn header_bytes(&self) -> &'data [u8] {
        self.bytes.get(..size_of::<Header>()).unwrap_or_default()
    }

    /// Returns the view with only rules of class R to be verified.
    pub(crate) const fn only_reading(mut self) -> Self {
        self.only_reading = true;
        self
    }

    /// Returns true if rules of class C are verified too.
    pub(crate) const fn is_canonical_known(&self) -> bool {
        self.unknown_ro_compat() == 0 && !self.only_reading
    }

    /// Checks a rule of class C, if the block's canonical form is known.
    pub(crate) fn canonical(&self, check: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.is_canonical_known() { check() } else { Ok(()) }
    }

    /// Returns the form that the writer gave to rows, or `None` if it is unknown. No reader needs it.
    #[must_use]
    pub fn row_form(&self) -> Option<RowForm> {
        self.meta().ok().and_then(|meta| meta.row_form())
    }

    /// Returns the sections, in the order of the file.
    #[must_use]
    pub fn sections(&self) -> Sections<'data> {
        Sections { entries: frame::directory(self.bytes).iter() }
    }

    /// Returns the sections that this crate does not know, in the order of the file: packed metric
    /// metadata too if the block is not an archive.
    pub fn unknown_sections(&self) -> impl Iterator<Item = Section> + use<'data> {
        let is_archive = self.frame.has(SectionKind::PackedArena);
        self.sections().filter(move |section| match section.known() {
            Some(SectionKind::PackedMetricMetadata) => !is_archive,
            known => known.is_none(),
        })
    }

    /// Returns the bytes of the checks, which follow the last section and end the file.
    #[must_use]
    pub fn checks_len(&self) -> u64 {
        length(self.bytes.len()).saturating_sub(self.frame.grid().end)
    }

    /// Returns the block's metadata: counts, times, origin, external labels and annotations.
    ///
    /// # Errors
    /// `Corrupt` if the section is too short. Its checksum was checked when the block was opened.
    pub fn meta(&self) -> Result<Meta<'data>> {
        Meta::parse(self.meta)
    }

    /// Returns type, unit and description of the block's metrics; empty if the block has no such section. The section
    /// is opened and checked on each call, so that damage to it does not affect other calls. Only the frame of a packed
    /// one is checked when the archive is decoded.
    ///
    /// # Errors
    /// `Corrupt` if the beginning of the section is damaged, `PackedArena` if it is packed and was not decoded.
    pub fn metric_metadata(&self) -> Result<Metrics<'data>> {
        let kind = SectionKind::MetricMetadata;
        if self.frame.has(kind) {
            let proofs = self.proofs.map(|proofs| self.frame.proofs(self.bytes, kind, proofs));
            return Metrics::open(self.frame.section(self.bytes, kind), proofs);
        }
        if !self.frame.has(SectionKind::PackedMetricMetadata) {
            return Ok(Metrics::EMPTY);
        }
        self.symbols.expect_arena()?;
        Metrics::open(self.unpacked_metrics, None)
    }

    /// Returns the number of series columns.
    #[must_use]
    pub const fn column_count(&self) -> u32 {
        self.frame.columns.1
    }

    /// Returns the bytes of the section of a series column, and the record of its chunks; `None` if the block has
    /// fewer.
    pub(crate) fn column_section(&self, column: u32) -> Option<(&'data [u8], Option<SectionProofs<'data>>)> {
        let at = self.frame.column_extent(self.bytes, column)?;
        let proofs = self.proofs.map(|proofs| self.frame.proofs_at(self.bytes, at, proofs));
        Some((at.slice(self.bytes)?, proofs))
    }

    /// Returns the bytes of the metric metadata, decoded; empty if there are none.
    pub(crate) fn metrics_section(&self) -> &'data [u8] {
        match self.frame.has(SectionKind::MetricMetadata) {
            true => self.frame.section(self.bytes, SectionKind::MetricMetadata),
            false => self.unpacked_metrics,
        }
    }

    /// Returns the symbols.
    #[must_use]
    pub const fn symbols(&self) -> &Symbols<'data> {
        &self.symbols
    }

    /// Returns the bytes of symbol `id`.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged or the block does not have the symbol.
    #[inline(always)]
    pub fn symbol(&self, id: SymbolId) -> Result<&'data [u8]> {
        self.symbols.get(id)
    }

    /// Returns the id of a symbol, or `None` if the block does not have it. Costs a binary search.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn lookup_symbol(&self, symbol: impl AsRef<[u8]>) -> Result<Option<SymbolId>> {
        self.symbols.lookup(symbol)
    }

    /// Checks the arena's checksums, that it is UTF-8, and that its symbols begin and end between characters. One pass
    /// over it, at about 8 GB/s; if it is not ASCII, a look at each symbol besides.
    ///
    /// # Errors
    /// `Corrupt` if the arena is damaged.
    pub fn check_arena(&self) -> Result<&'data str> {
        self.symbols.expect_arena()?;
        let arena = self.frame.extent(SectionKind::Arena);
        self.frame.checked(self.bytes).check_range(arena.offset, arena.length)?;
        let arena = std::str::from_utf8(self.symbols.arena())
            .map_err(|error| corrupt_at(Rule::SymbolsUtf8, Place::Byte(length(error.valid_up_to()))))?;
        if !arena.is_ascii() {
            for symbol in 0..=self.symbols.count() {
                let start = usize::try_from(self.symbols.start(symbol)?).ok();
                if !start.is_some_and(|start| arena.is_char_boundary(start)) {
                    return Err(corrupt_at(Rule::SymbolsUtf8, Place::Symbol(symbol.into())));
                }
            }
        }
        Ok(arena)
    }

    /// Returns the number of tables: dictionaries, inner tables and keyset tables.
    #[must_use]
    pub const fn table_count(&self) -> u32 {
        self.frame.catalogue.table_count
    }

    /// Returns the tables, in order. After an error the iterator ends.
    #[must_use]
    pub fn tables(&self) -> impl FusedIterator<Item = Result<Table<'data, '_>>> {
        until_error(self.table_count(), |table| Table::open(self, table))
    }

    /// Returns table `table`, or `None` if it is out of range.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    pub fn table(&self, table: TableId) -> Result<Option<Table<'data, '_>>> {
        (table.0 < self.table_count()).then(|| Table::open(self, table.0)).transpose()
    }

    /// Returns the number of rows of a table, at least one, without opening it as a [`Table`].
    #[inline]
    pub(crate) fn row_count(&self, table: u32) -> Result<u32> {
        let catalogue = &self.frame.catalogue;
        let row_count = match table.checked_sub(catalogue.keys.count) {
            None => self.dictionary_entry(KeyId(table))?.row_count.into(),
            Some(number) => match catalogue.tables.get(&self.catalogue, number) {
                Some(record) => record?[0],
                None => 0,
            },
        };
        if row_count == 0 {
            return Err(corrupt(Rule::TableRows, Place::Table(table.into()), 0, 1));
        }
        Ok(low32(row_count))
    }

    /// Returns the number of list pools.
    #[must_use]
    pub const fn pool_count(&self) -> u32 {
        self.frame.catalogue.pools.count
    }

    /// Returns the pools, in order. After an error the iterator ends.
    #[must_use]
    pub fn pools(&self) -> impl FusedIterator<Item = Result<Pool<'data, '_>>> {
        until_error(self.pool_count(), |pool| Pool::open(self, pool))
    }

    /// Returns pool `pool`, or `None` if it is out of range.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    pub fn pool(&self, pool: PoolId) -> Result<Option<Pool<'data, '_>>> {
        (pool.0 < self.pool_count()).then(|| Pool::open(self, pool.0)).transpose()
    }

    /// Returns the number of keysets.
    #[must_use]
    pub const fn keyset_count(&self) -> u32 {
        self.frame.catalogue.keysets.count
    }

    /// Returns the keysets, in order. After an error the iterator ends.
    #[must_use]
    pub fn keysets(&self) -> impl FusedIterator<Item = Result<Keyset<'data, '_>>> {
        until_error(self.keyset_count(), |keyset| Keyset::open(self, keyset))
    }

    /// Returns keyset `keyset`, or `None` if it is out of range.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    pub fn keyset(&self, keyset: u32) -> Result<Option<Keyset<'data, '_>>> {
        (keyset < self.keyset_count()).then(|| Keyset::open(self, keyset)).transpose()
    }

    /// Returns the end of the series of each keyset, in order: the number of series up to it. Costs a fraction of
    /// opening the keysets. After an error the iterator ends.
    #[must_use]
    pub fn keyset_ends(&self) -> impl FusedIterator<Item = Result<SeriesRef>> {
        until_error(self.keyset_count(), |keyset| Ok(SeriesRef(low32(self.keyset_record(keyset)?[0]))))
    }

    /// Returns the table of keyset `keyset`, which the block must have.
    pub(crate) fn keyset_table(&self, keyset: u32) -> Result<Table<'data, '_>> {
        Table::open(self, self.frame.catalogue.inner_end().saturating_add(keyset))
    }

    pub(crate) fn keyset_record(&self, keyset: u32) -> Result<[u64; 2]> {
        let keysets = &self.frame.catalogue.keysets;
        keysets.get(&self.catalogue, keyset).unwrap_or_else(|| {
            Err(corrupt(Rule::KeysetSeries, Place::Keyset(keyset.into()), keyset.into(), keysets.count.into()))
        })
    }

    /// Returns the number of series.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    pub fn series_count(&self) -> Result<u32> {
        match self.keyset_count().checked_sub(1) {
            Some(last) => Ok(low32(self.keyset_record(last)?[0])),
            None => Ok(0),
        }
    }

    /// Returns the keyset that has this series, or `None` if the series is out of range. Costs a binary search.
    pub(crate) fn keyset_with(&self, series: SeriesRef) -> Result<Option<Keyset<'data, '_>>> {
        let number = self.keyset_number(series)?;
        if number == self.keyset_count() {
            return Ok(None);
        }
        let keyset = Keyset::open(self, number)?;
        match series.0.checked_sub(keyset.first().0) {
            Some(_) => Ok(Some(keyset)),
            None => {
                let (found, expected) = (series.0.into(), keyset.first().0.into());
                Err(corrupt(Rule::KeysetSeries, Place::Keyset(number.into()), found, expected))
            }
        }
    }

    /// Returns the number of the first keyset that ends after the series; that of keysets if the series is out of
    /// range. Costs a binary search.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    #[inline]
    pub fn keyset_number(&self, series: SeriesRef) -> Result<u32> {
        if let Some(ends) = self.kept().and_then(|kept| kept.series_ends()) {
            return Ok(low32(length(ends.partition_point(|&end| end <= series.0))));
        }
        let (mut low, mut high) = (0, self.keyset_count());
        while low < high {
            let middle = low + (high - low) / 2;
            let end = self.frame.catalogue.keysets.first(&self.catalogue, middle).unwrap_or(Ok(u64::MAX))?;
            if end <= u64::from(series.0) { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }
}

/// Reason why a block must neither be merged, hidden nor deleted (LIFECYCLE.md, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadOnly {
    /// Bits of `ro_compat` that this crate does not know.
    Features {
        /// The unknown bits.
        bits: u32,
    },
    /// An optional section that this crate does not know, and whose loss matters.
    Section {
        /// The kind of the section.
        kind: u32,
    },
}

impl fmt::Display for ReadOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Features { bits } => write!(f, "unknown ro_compat bits {bits:#x}"),
            Self::Section { kind } => write!(f, "an unknown section of kind {kind:#x}, whose loss matters"),
        }
    }
}

/// A section of a block, as listed in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Kind in the directory.
    pub kind: u32,
    /// Number that distinguishes sections of one kind.
    pub id: u32,
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

impl Section {
    /// Returns the section's bytes.
    fn slice<'a>(&self, block: &'a [u8]) -> Option<&'a [u8]> {
        let start = usize::try_from(self.offset).ok()?;
        block.get(start..)?.get(..usize::try_from(self.length).ok()?)
    }

    /// Returns the kind as an enum, or `None` if this crate does not know it.
    #[must_use]
    pub fn known(&self) -> Option<SectionKind> {
        SectionKind::from_code(self.kind)
    }
}

/// Iterator over the sections of a block, in the order of the file.
#[derive(Clone, Debug)]
pub struct Sections<'data> {
    entries: std::slice::Iter<'data, SectionEntry>,
}

impl Iterator for Sections<'_> {
    type Item = Section;

    fn next(&mut self) -> Option<Section> {
        let entry = self.entries.next()?;
        Some(Section {
            kind: entry.kind.get(),
            id: entry.id.get(),
            offset: entry.offset.get(),
            length: entry.length.get(),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl ExactSizeIterator for Sections<'_> {}

impl FusedIterator for Sections<'_> {}
