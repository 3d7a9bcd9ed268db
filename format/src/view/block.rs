//! The view of a block.

use std::cmp::Ordering;
use std::fmt;

use super::symbol::binary_search;
use super::{AllSeries, Frame, Keyset, Meta, Metrics, Pool, Resolver, Series, Symbols, Table, Text, frame};
use crate::bits::Bits;
use crate::checksum::{ChunkProofs, SectionProofs};
use crate::error::{Place, corrupt};
use crate::identity::BlockId;
use crate::layout::{RowForm, SectionEntry, SectionKind};
use crate::number::length;
use crate::{KeyId, PoolId, Result, Rule, SeriesRef, SymbolId, TableId};

/// A block, read in place over any bytes.
///
/// Opening checks header, directory and the extent of each section; every access after that is checked against its section,
/// so that no bytes, however damaged, lead out of bounds, to a panic or to an endless loop. Nothing is allocated, from opening to the
/// last label.
#[derive(Clone, Copy)]
pub struct BlockView<'a> {
    pub(crate) frame: Frame,
    bytes: &'a [u8],
    pub(crate) catalogue: Bits<'a>,
    pub(crate) rows: Bits<'a>,
    pub(crate) members: Bits<'a>,
    symbols: Symbols<'a>,
    meta: &'a [u8],
    meta_proofs: Option<SectionProofs<'a>>,
    /// For sections whose proofs are put together when they are asked for.
    proofs: Option<&'a ChunkProofs>,
}

impl fmt::Debug for BlockView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockView").field("id", &self.block_id()).field("len", &self.bytes.len()).finish()
    }
}

impl<'a> BlockView<'a> {
    /// Opens a block: O(sections), whatever its size. Checksums of sections are not checked; [`BlockView::verify`] does, and so does
    /// a view with proofs as it touches them.
    ///
    /// # Errors
    /// Bytes that are no block, a version or feature that is not known, and damage to what was looked at.
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        Ok(Self::with_frame(bytes, &Frame::parse(bytes)?, None))
    }

    /// Puts a block's bytes and the frame that was parsed from them together. With `proofs`, each chunk is checked when it is first touched,
    /// and nothing is yielded from a damaged one. A frame of other bytes gives errors or nonsense, never anything worse.
    pub fn with_frame(bytes: &'a [u8], frame: &Frame, proofs: Option<&'a ChunkProofs>) -> Self {
        let section = |kind| frame.section(bytes, kind);
        let proofs_of = |kind: SectionKind| {
            let extent = frame.extent(kind);
            let section = frame.checked(bytes, extent, kind.code(), 0);
            proofs.map(|proofs| SectionProofs { section, proofs, first_chunk: extent.first_chunk })
        };
        let bits = |kind, rule| Bits::with_proofs(section(kind), rule, proofs_of(kind));
        let symbols = Symbols {
            starts: frame.starts,
            bits: bits(SectionKind::Symbols, Rule::SymbolsLength),
            arena: section(SectionKind::Arena),
            proofs: proofs_of(SectionKind::Arena),
        };
        Self {
            frame: *frame,
            bytes,
            catalogue: bits(SectionKind::Catalogue, Rule::CatalogueLength),
            rows: bits(SectionKind::Rows, Rule::TableExtent),
            members: bits(SectionKind::Members, Rule::MembersExtent),
            symbols,
            meta: section(SectionKind::Meta),
            meta_proofs: proofs_of(SectionKind::Meta),
            proofs,
        }
    }

    /// Checks what [`Frame::parse`] looked at in the sections against its checksums; for views with proofs.
    ///
    /// # Errors
    /// A damaged chunk.
    pub fn prove_frame(&self) -> Result<()> {
        let frame = &self.frame;
        for kind in [SectionKind::Catalogue, SectionKind::Symbols] {
            frame.checked(self.bytes, frame.extent(kind), kind.code(), 0).check(0)?;
        }
        self.meta().map(|_| ())
    }

    /// The bytes of the block.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where everything lies.
    pub const fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The id of the block.
    pub const fn block_id(&self) -> BlockId {
        self.frame.block_id
    }

    /// The header's feature words: incompat, ro_compat, compat.
    pub const fn features(&self) -> [u32; 3] {
        self.frame.features
    }

    /// Whether the block is well enough understood to be rewritten: it has no feature in `ro_compat` that is not known.
    pub const fn may_be_compacted(&self) -> bool {
        self.frame.features[1] == 0
    }

    /// The form of the block's rows.
    pub const fn row_form(&self) -> RowForm {
        self.frame.row_form
    }

    /// The sections, in the order of the file.
    pub fn sections(&self) -> Sections<'a> {
        Sections { entries: frame::directory(self.bytes).iter() }
    }

    /// What the block says of itself.
    ///
    /// # Errors
    /// Damage to the meta section, for a view with proofs.
    pub fn meta(&self) -> Result<Meta<'a>> {
        if let Some(proofs) = self.meta_proofs {
            proofs.touch(0, length(self.meta.len()))?;
        }
        Meta::parse(self.meta)
    }

    /// What the block says of its metrics beside their labels; empty if it says nothing. Opened and checked when asked for, so that damage to
    /// it hinders nothing else.
    ///
    /// # Errors
    /// Damage to the beginning of the section.
    pub fn metric_metadata(&self) -> Result<Metrics<'a>> {
        if !self.frame.has(SectionKind::MetricMetadata) {
            return Ok(Metrics::EMPTY);
        }
        let kind = SectionKind::MetricMetadata;
        let extent = self.frame.extent(kind);
        let section = self.frame.checked(self.bytes, extent, kind.code(), 0);
        let proofs = self.proofs.map(|proofs| SectionProofs { section, proofs, first_chunk: extent.first_chunk });
        Metrics::open(section.bytes, proofs)
    }

    /// The symbols.
    pub const fn symbols(&self) -> &Symbols<'a> {
        &self.symbols
    }

    /// The bytes of symbol `id`; nothing if there are not so many symbols.
    ///
    /// # Errors
    /// Damage to what was touched.
    #[inline]
    pub fn symbol(&self, id: SymbolId) -> Result<Option<&'a [u8]>> {
        self.symbols.get(id)
    }

    /// The id of a symbol, if the block has it: a binary search.
    ///
    /// # Errors
    /// Damage to what was touched.
    pub fn lookup_symbol(&self, symbol: &[u8]) -> Result<Option<SymbolId>> {
        self.symbols.lookup(symbol)
    }

    /// A symbol that something in the block refers to.
    #[inline(always)]
    pub(crate) fn symbol_of(&self, id: SymbolId) -> Result<&'a [u8]> {
        match self.symbols.get(id)? {
            Some(symbol) => Ok(symbol),
            None => {
                Err(corrupt(Rule::ColumnCode, Place::Symbol(id.0.into()), id.0.into(), self.symbols.count().into()))
            }
        }
    }

    /// All symbols as text, after [`BlockView::check_arena`].
    ///
    /// # Errors
    /// A damaged arena.
    pub fn text(&'a self) -> Result<Text<'a>> {
        Ok(Text::of_checked(self, self.check_arena()?))
    }

    /// Checks the arena's checksums and that it is UTF-8 throughout: one pass over it, 8 GB/s.
    ///
    /// # Errors
    /// A damaged arena.
    pub fn check_arena(&self) -> Result<&'a str> {
        let kind = SectionKind::Arena;
        self.frame.checked(self.bytes, self.frame.extent(kind), kind.code(), 0).check_all()?;
        std::str::from_utf8(self.symbols.arena())
            .map_err(|error| corrupt(Rule::SymbolsUtf8, Place::Byte(length(error.valid_up_to())), 0, 0))
    }

    /// How many label keys there are.
    pub const fn key_count(&self) -> u32 {
        self.frame.catalogue.keys.count
    }

    /// The symbol of a key's name.
    ///
    /// # Errors
    /// Damage to the catalogue, or a key that the block does not have.
    #[inline]
    pub fn key_symbol(&self, key: KeyId) -> Result<SymbolId> {
        let [name, ..] = self.key_record(key)?;
        Ok(SymbolId(crate::number::low32(name)))
    }

    /// `name`, `row_count`, `rows_offset`, `base` and `width` of a key and its dictionary.
    #[inline(always)]
    pub(crate) fn key_record(&self, key: KeyId) -> Result<[u64; 5]> {
        let keys = &self.frame.catalogue.keys;
        keys.get(&self.catalogue, key.0)
            .unwrap_or_else(|| Err(corrupt(Rule::KeysOrder, Place::Key(key.0.into()), key.0.into(), keys.count.into())))
    }

    /// The name of a key.
    ///
    /// # Errors
    /// Damage to what was touched, or a key that the block does not have.
    #[inline]
    pub fn key_name(&self, key: KeyId) -> Result<&'a [u8]> {
        self.symbol_of(self.key_symbol(key)?)
    }

    /// The key with this name, if the block has it: a binary search.
    ///
    /// # Errors
    /// Damage to what was touched.
    pub fn key(&self, name: &[u8]) -> Result<Option<KeyId>> {
        let found = binary_search(self.key_count(), |key| Ok(self.key_name(KeyId(key))?.cmp(name)))?;
        Ok(found.ok().map(KeyId))
    }

    /// The same, from a guess on: whoever looks for sorted names finds the next one among the keys soon after the last. Steps double
    /// until the name is passed; what is left is searched by halves.
    pub(crate) fn key_from(&self, name: &[u8], guess: u32) -> Result<Option<KeyId>> {
        let compare = |key: u32| Ok(self.key_name(KeyId(key))?.cmp(name));
        let (mut low, mut step) = (guess, 1);
        let high = loop {
            let probe = low.saturating_add(step - 1);
            if probe >= self.key_count() {
                break self.key_count();
            }
            match compare(probe)? {
                Ordering::Less => low = probe + 1,
                Ordering::Equal => return Ok(Some(KeyId(probe))),
                // Names that are not sorted are looked for among all keys.
                Ordering::Greater if probe == guess => return self.key(name),
                Ordering::Greater => break probe,
            }
            step *= 2;
        };
        let found = binary_search(high.saturating_sub(low), |key| compare(low + key))?;
        match found {
            Ok(key) => Ok(Some(KeyId(low + key))),
            Err(_) if guess > 0 && high == self.key_count() => self.key(name),
            Err(_) => Ok(None),
        }
    }

    /// The label names, in order.
    pub fn label_names(&self) -> impl Iterator<Item = Result<&'a [u8]>> + use<'_, 'a> {
        let mut stopped = false;
        (0..self.key_count()).map_while(move |key| {
            let name = (!stopped).then(|| self.key_name(KeyId(key)));
            stopped = !matches!(name, Some(Ok(_)));
            name
        })
    }

    /// How many values a key has.
    ///
    /// # Errors
    /// Damage to the catalogue, or a key that the block does not have.
    pub fn cardinality(&'a self, key: KeyId) -> Result<u32> {
        Ok(self.dictionary(key)?.row_count())
    }

    /// The values of a key, in order.
    ///
    /// # Errors
    /// Damage to the catalogue, or a key that the block does not have.
    pub fn label_values(&'a self, key: KeyId) -> Result<impl Iterator<Item = Result<&'a [u8]>> + use<'a>> {
        let dictionary = self.dictionary(key)?;
        let column = dictionary.column(0)?;
        let mut stopped = false;
        Ok((0..dictionary.row_count()).map_while(move |code| {
            let value = (!stopped).then(|| self.symbol_of(SymbolId(dictionary.code(code, &column)?)));
            stopped = !matches!(value, Some(Ok(_)));
            value
        }))
    }

    /// The place of a value in its key's dictionary, if it is there: a binary search.
    ///
    /// # Errors
    /// Damage to what was touched, or a key that the block does not have.
    pub fn value_code(&self, key: KeyId, value: &[u8]) -> Result<Option<u32>> {
        let dictionary = self.dictionary(key)?;
        let column = dictionary.column(0)?;
        let found = binary_search(dictionary.row_count(), |code| {
            Ok(self.symbol_of(SymbolId(dictionary.code(code, &column)?))?.cmp(value))
        })?;
        Ok(found.ok())
    }

    /// The value dictionary of a key.
    ///
    /// # Errors
    /// Damage to the catalogue, or a key that the block does not have.
    pub fn dictionary(&self, key: KeyId) -> Result<Table<'_>> {
        if key.0 >= self.key_count() {
            return Err(corrupt(Rule::KeysOrder, Place::Key(key.0.into()), key.0.into(), self.key_count().into()));
        }
        Table::open(self, key.0)
    }

    /// The value at place `code` of a key's dictionary: what [`BlockView::dictionary`] would say, without looking at the table as a whole.
    #[inline(always)]
    pub(crate) fn dictionary_value(&self, key: KeyId, code: u32) -> Result<SymbolId> {
        let [_, row_count, rows_offset, base, width] = self.key_record(key)?;
        if u64::from(code) >= row_count || width > 32 {
            return Err(corrupt(Rule::ColumnCode, Place::Table(key.0.into()), code.into(), row_count));
        }
        let field = self.rows.get(rows_offset * 8 + u64::from(code) * width, crate::number::low32(width))?;
        u32::try_from(base + field)
            .map(SymbolId)
            .map_err(|_| corrupt(Rule::ColumnCode, Place::Row(key.0, code), base + field, u32::MAX.into()))
    }

    /// The key, and the value's place in its dictionary, that a row of a map stands for. Nothing if the table is anything else or damaged; see
    /// [`Bits::peek`].
    #[inline]
    pub(crate) fn try_mapped_value(&self, table: u64, row: u32) -> Option<(u32, u32)> {
        let catalogue = &self.frame.catalogue;
        let number = u32::try_from(table.checked_sub(catalogue.keys.count.into())?).ok()?;
        let [row_count, rows_offset, shape] = catalogue.tables.get(&self.catalogue, number)?.ok()?;
        let shape = catalogue.shapes.get(&self.catalogue, 0, shape).ok()?;
        let [domain, base, width] = shape.walk()?.next(&self.catalogue)?;
        let key = domain.checked_sub(1).filter(|&key| key < catalogue.keys.count.into())?;
        if shape.column_count > 1 || u64::from(row) >= row_count || width > 32 {
            return None;
        }
        let width = crate::number::low32(width);
        let bit = rows_offset * 8 + u64::from(row) * u64::from(width);
        let field = self.rows.peek_field(bit, width)?;
        Some((u32::try_from(key).ok()?, u32::try_from(base + field).ok()?))
    }

    /// How many tables there are: dictionaries, inner tables, keyset tables.
    pub const fn table_count(&self) -> u32 {
        self.frame.catalogue.table_count
    }

    /// Table `table`.
    ///
    /// # Errors
    /// Damage to the catalogue, or a table that the block does not have.
    pub fn table(&self, table: TableId) -> Result<Table<'_>> {
        Table::open(self, table.0)
    }

    /// How many rows a table has, at least one. What [`Table::row_count`] would say, without looking at the table as a whole.
    #[inline]
    pub(crate) fn row_count(&self, table: u32) -> Result<u32> {
        let catalogue = &self.frame.catalogue;
        let row_count = match table.checked_sub(catalogue.keys.count) {
            None => self.key_record(KeyId(table))?[1],
            Some(number) => match catalogue.tables.get(&self.catalogue, number) {
                Some(record) => record?[0],
                None => 0,
            },
        };
        if row_count == 0 {
            return Err(corrupt(Rule::TableRows, Place::Table(table.into()), 0, 1));
        }
        Ok(crate::number::low32(row_count))
    }

    /// How many list pools there are.
    pub const fn pool_count(&self) -> u32 {
        self.frame.catalogue.pools.count
    }

    /// Pool `pool`.
    ///
    /// # Errors
    /// Damage to the catalogue, or a pool that the block does not have.
    pub fn pool(&self, pool: PoolId) -> Result<Pool<'_>> {
        Pool::open(self, pool.0)
    }

    /// How many keysets there are.
    pub const fn keyset_count(&self) -> u32 {
        self.frame.catalogue.keysets.count
    }

    /// Keyset `keyset`.
    ///
    /// # Errors
    /// Damage to the catalogue, or a keyset that the block does not have.
    pub fn keyset(&self, keyset: u32) -> Result<Keyset<'_>> {
        Keyset::open(self, keyset)
    }

    pub(crate) fn keyset_record(&self, keyset: u32) -> Result<[u64; 2]> {
        let keysets = &self.frame.catalogue.keysets;
        keysets.get(&self.catalogue, keyset).unwrap_or_else(|| {
            Err(corrupt(Rule::KeysetSeries, Place::Keyset(keyset.into()), keyset.into(), keysets.count.into()))
        })
    }

    /// How many series there are.
    ///
    /// # Errors
    /// Damage to the catalogue.
    pub fn series_count(&self) -> Result<u32> {
        match self.keyset_count().checked_sub(1) {
            Some(last) => Ok(crate::number::low32(self.keyset_record(last)?[0])),
            None => Ok(0),
        }
    }

    /// The series with this ref; nothing if there are not so many. A binary search over keysets, and over anchors where
    /// the keyset has lists.
    ///
    /// # Errors
    /// Damage to what was touched.
    pub fn series(&self, series: SeriesRef) -> Result<Option<Series<'_>>> {
        let Some(keyset) = self.keyset_of(series)? else { return Ok(None) };
        let place = series.0 - keyset.first().0;
        let (row, in_list) = keyset.locate(place)?;
        Series::open(&keyset, series, row, in_list, keyset.table().leaf_count()?).map(Some)
    }

    /// The keyset that has this series; nothing if there are not so many series. A binary search.
    pub(crate) fn keyset_of(&self, series: SeriesRef) -> Result<Option<Keyset<'_>>> {
        // The first keyset that ends after the series.
        let (mut low, mut high) = (0, self.keyset_count());
        while low < high {
            let middle = low + (high - low) / 2;
            let end = match self.frame.catalogue.keysets.peek_first(&self.catalogue, middle) {
                Some(end) => end,
                None => self.keyset_record(middle)?[0],
            };
            if end <= u64::from(series.0) { low = middle + 1 } else { high = middle }
        }
        if low == self.keyset_count() {
            return Ok(None);
        }
        let keyset = self.keyset(low)?;
        match series.0.checked_sub(keyset.first().0) {
            Some(_) => Ok(Some(keyset)),
            None => {
                Err(corrupt(Rule::KeysetSeries, Place::Keyset(low.into()), series.0.into(), keyset.first().0.into()))
            }
        }
    }

    /// What resolves many series, faster than [`BlockView::series`] does one by one.
    pub const fn resolver(&'a self) -> Resolver<'a> {
        Resolver::new(self)
    }

    /// All series, in the order of their refs: faster than one by one, since a keyset is looked at once.
    pub const fn all_series(&'a self) -> AllSeries<'a> {
        AllSeries::new(self)
    }
}

/// A section of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its number in the directory.
    pub kind: u32,
    /// Tells sections of one kind apart.
    pub id: u32,
    /// File position of its first byte.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

impl Section {
    /// Its kind, if this crate knows it.
    pub fn known(&self) -> Option<SectionKind> {
        SectionKind::from_code(self.kind)
    }
}

/// The sections of a block, in the order of the file.
#[derive(Clone, Debug)]
pub struct Sections<'a> {
    entries: std::slice::Iter<'a, SectionEntry>,
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
}
