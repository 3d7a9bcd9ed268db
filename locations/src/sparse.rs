//! [`SparseBlock`]: a block whose chunks are read when they are needed.

use std::collections::BTreeSet;
use std::ops::Range;

use bytes::Bytes;
use chronoxide_format::checksum::{ChunkProofs, Owner};
use chronoxide_format::error::Place;
use chronoxide_format::layout::{CHUNK_LEN, Header, MAGIC, SectionEntry, SectionKind};
use chronoxide_format::view::{BlockView, Frame, Section};
use chronoxide_format::{Corruption, Error, ErrorKind, Rule};
use chronoxide_reader::{Block, Checks};
use zerocopy::FromBytes;

use crate::storage::{Object, RangedRead};
use crate::{Facts, Location, LocationError};

/// Lengths of the two reads that open a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// Bytes from the beginning.
    head_len: u64,
    /// Bytes of the end of the last section, before the checks.
    tail_len: u64,
}

impl Opening {
    /// Returns the range that states the facts of a block: it has what [`Opening::SHORT`] has of its beginning.
    pub(crate) fn facts(byte_len: u64) -> Range<u64> {
        0..Self::SHORT.head_len.min(byte_len)
    }

    /// Has the header, the directory, the meta section and the catalogue of most blocks.
    pub(crate) const SHORT: Self = Self { head_len: 64 << 10, tail_len: 16 << 10 };
    /// Has the names of the labels too, of most blocks of up to a million series.
    const LONG: Self = Self { head_len: 512 << 10, tail_len: 1 << 20 };

    /// Returns the ranges of a block of this length. An object that is too long is looked at once.
    pub(crate) fn ranges(self, byte_len: u64) -> Vec<Range<u64>> {
        if byte_len > MAX_LEN {
            return std::iter::once(0..self.head_len).collect();
        }
        let checks_len = 4 * (byte_len / CHUNK_LEN + 1);
        // Ranges begin and end where chunks do, so that no chunk is read in part.
        let tail = byte_len.saturating_sub(checks_len + self.tail_len) / CHUNK_LEN * CHUNK_LEN;
        if tail <= self.head_len {
            std::iter::once(0..byte_len).collect()
        } else {
            vec![0..self.head_len, tail..byte_len]
        }
    }
}

/// Length from which an object is not opened: its checks alone have 512 MiB. A block of a billion series has 2 GiB.
const MAX_LEN: u64 = 1 << 40;
/// Length that can be reserved without asking first.
const CERTAIN_LEN: u64 = 1 << 32;
/// Bytes that are read when a chunk is missing. The number doubles as long as a query reads on where it ended.
const FIRST_READ: u64 = 64 << 10;
const LAST_READ: u64 = 8 << 20;
/// Reads after which the rest of the block is read at once. A query that needs more would wait longer for answers than
/// for bytes.
const MAX_READS: u64 = 48;

/// A block in a location whose chunks are read when a query needs them.
///
/// The bytes are as long as the block; chunks that were not read are zero. A query runs on a view that checks the
/// checksum of each chunk when it is first read, so that a missing chunk looks like a damaged one. It is read then, and
/// the query runs again. If a query needs more than half of the block, the rest is read at once.
///
/// ```
/// use chronoxide_locations::{Location, SparseBlock};
///
/// # let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden");
/// let location = Location::open(golden)?;
/// let object = location.find("plain-bitpacked.cx")?.expect("it exists");
/// let mut block = SparseBlock::open(&location, &object)?;
/// assert!(block.query(|view| view.series_count())? > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SparseBlock {
    location: Location,
    object: Object,
    bytes: Vec<u8>,
    /// True for each chunk of 8 KiB of the file that was read.
    is_read: Vec<bool>,
    /// True if every unread chunk fails its checksum as zeros.
    are_zeros_read: bool,
    /// Chunks that were read twice, because they were damaged.
    read_twice: BTreeSet<u64>,
    /// Number of ranged reads, and of bytes that they read.
    reads: u64,
    read_bytes: u64,
    /// End of the last read that a query caused, and its length.
    last: Range<u64>,
}

/// Error of [`SparseBlock::query`].
enum Unanswered {
    Store(LocationError),
    Query(Error),
}

impl From<LocationError> for Unanswered {
    fn from(error: LocationError) -> Self {
        Self::Store(error)
    }
}

impl SparseBlock {
    /// Opens a block with two ranged reads, or one if it is short. Further reads follow if the directory, the meta
    /// section and the catalogue together are longer than 64 KiB, or if the arena is packed.
    ///
    /// # Errors
    /// Errors of reading, and [`LocationError::Block`] if it is not a valid block.
    pub fn open(location: &Location, object: &Object) -> Result<Self, LocationError> {
        Self::open_with(location, object, Opening::SHORT)
    }

    fn open_with(location: &Location, object: &Object, opening: Opening) -> Result<Self, LocationError> {
        let read = read_ranges(location, object, opening.ranges(object.byte_len))?;
        Self::from_reads(location, object, opening, read)
    }

    /// Opens the block of a URL or path, as [`SparseBlock::open`].
    ///
    /// # Errors
    /// As [`Location::open_object`] and [`SparseBlock::open`], and [`LocationError::Missing`] if it does not exist.
    pub fn open_url(url: &str) -> Result<Self, LocationError> {
        Self::open_url_with(url, &[])
    }

    /// Like [`SparseBlock::open_url`], with settings as [`Location::open_with`].
    ///
    /// # Errors
    /// As [`SparseBlock::open_url`].
    pub fn open_url_with(url: &str, settings: &[(String, String)]) -> Result<Self, LocationError> {
        Self::open_object(Location::open_object_with(url, settings)?, Opening::SHORT)
    }

    /// Opens the block of a URL or path as [`SparseBlock::open_url`], by two reads of up to 512 KiB and 1 MiB. They
    /// have all that a summary needs of most blocks of up to a million series.
    ///
    /// # Errors
    /// As [`SparseBlock::open_url`].
    pub fn open_url_for_summary(url: &str) -> Result<Self, LocationError> {
        Self::open_object(Location::open_object(url)?, Opening::LONG)
    }

    /// Opens the block of a location and a key.
    pub(crate) fn open_object((location, key): (Location, String), opening: Opening) -> Result<Self, LocationError> {
        let object = location.find(&key)?.ok_or_else(|| LocationError::Missing { object: location.name(&key) })?;
        Self::open_with(&location, &object, opening)
    }

    /// Opens a block after the ranges of `opening` were read.
    pub(crate) fn from_reads(
        location: &Location,
        object: &Object,
        opening: Opening,
        read: Vec<Bytes>,
    ) -> Result<Self, LocationError> {
        // Objects of any length may have the name of a block: look before memory is set aside.
        if read.first().is_some_and(|head| head.len() >= MAGIC.len() && !head.starts_with(&MAGIC)) {
            let source = ErrorKind::NotABlock.into();
            return Err(LocationError::Block { object: location.name(&object.key), source });
        }
        if let Some(Ok((header, _))) = read.first().map(|head| Header::ref_from_prefix(head))
            && header.file_len.get() != object.byte_len
        {
            let corruption = Corruption {
                section: None,
                found: Some(object.byte_len),
                expected: Some(header.file_len.get()),
                ..Corruption::new(Rule::FileLen, Place::Byte(40))
            };
            let source = corruption.into();
            return Err(LocationError::Block { object: location.name(&object.key), source });
        }
        let chunks = usize::try_from(object.byte_len.div_ceil(CHUNK_LEN)).unwrap_or(usize::MAX);
        let too_long = || LocationError::TooLong { object: location.name(&object.key), byte_len: object.byte_len };
        let mut block = Self {
            location: location.clone(),
            object: object.clone(),
            bytes: zeros(object.byte_len).ok_or_else(too_long)?,
            is_read: vec![false; chunks],
            are_zeros_read: false,
            read_twice: BTreeSet::new(),
            reads: 0,
            read_bytes: 0,
            last: 0..0,
        };
        for (range, bytes) in opening.ranges(object.byte_len).into_iter().zip(read) {
            block.store(range, &bytes);
        }
        block.open_frame()?;
        Ok(block)
    }

    /// Returns the number of ranged reads, and of bytes that they read.
    #[must_use]
    pub fn reads(&self) -> (u64, u64) {
        (self.reads, self.read_bytes)
    }

    /// Returns the location.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Returns the object.
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Returns what the block says about itself. Opening has read it.
    ///
    /// # Errors
    /// Errors of reading damaged chunks again, and [`LocationError::Block`] if it is not a valid block.
    pub fn facts(&mut self) -> Result<Facts, LocationError> {
        self.query_view(Facts::from_view)
    }

    /// Runs a query, and reads the chunks that it needs. The query is run again after each read, from its beginning.
    ///
    /// # Errors
    /// Errors of reading, and [`LocationError::Block`] with the error of the query.
    pub fn query<T>(&mut self, mut query: impl FnMut(&BlockView<'_>) -> Result<T, Error>) -> Result<T, LocationError> {
        // A block, not a view: the arena of an archive is decoded.
        let result = self.query_block(
            |block| query(&block.view()).map_err(Unanswered::Query),
            |error| match error {
                Unanswered::Query(error) => Some(error.clone()),
                Unanswered::Store(_) => None,
            },
        );
        result.map_err(|error| match error {
            Unanswered::Query(source) => self.damaged(source),
            Unanswered::Store(error) => error,
        })
    }

    /// Runs a query on a view as [`SparseBlock::query`], but takes missing chunks of zeros as read. The arena of an
    /// archive is not decoded.
    fn query_view<T>(&mut self, mut query: impl FnMut(&BlockView<'_>) -> Result<T, Error>) -> Result<T, LocationError> {
        loop {
            let frame = Frame::parse(&self.bytes).map_err(|source| self.damaged(source))?;
            let proofs = ChunkProofs::new(self.bytes.len());
            let view = BlockView::with_frame(&self.bytes, &frame, Some(&proofs));
            match view.prove_frame().and_then(|()| query(&view)) {
                Ok(value) => return Ok(value),
                Err(error) => self.read_missing(error)?,
            }
        }
    }

    /// Runs a query on an open block, as [`SparseBlock::query`]. `missing` returns the error of the block if an error
    /// of the query has one.
    ///
    /// # Errors
    /// Errors of reading, of opening, and of the query.
    pub fn query_block<T, E: From<LocationError>>(
        &mut self,
        mut query: impl FnMut(&Block) -> Result<T, E>,
        missing: impl Fn(&E) -> Option<Error>,
    ) -> Result<T, E> {
        self.read_zeros()?;
        loop {
            let error = match Block::try_from_vec(std::mem::take(&mut self.bytes), Checks::Lazy) {
                Err((error, bytes)) => {
                    self.bytes = bytes;
                    error
                }
                Ok(block) => {
                    let result = query(&block);
                    self.bytes = block.into_vec().unwrap_or_default();
                    match result {
                        Ok(value) => return Ok(value),
                        Err(error) => match missing(&error) {
                            Some(missing) if self.missing_chunk(&missing).is_some() => missing,
                            _ => return Err(error),
                        },
                    }
                }
            };
            self.read_missing(error)?;
        }
    }

    /// Reads all chunks that were not read.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn read_rest(&mut self) -> Result<(), LocationError> {
        self.ensure(0..self.object.byte_len)
    }

    /// Converts it into an open block. Chunks that were not read count as damaged: with lazy checks, other chunks can
    /// be read.
    ///
    /// # Errors
    /// Errors of reading, and [`LocationError::Block`] if it is not a valid block.
    pub fn into_block(mut self, checks: Checks) -> Result<Block, LocationError> {
        self.read_zeros()?;
        Block::from_vec(std::mem::take(&mut self.bytes), checks).map_err(|source| self.damaged(source))
    }

    /// Returns the chunk of an error that a read may mend.
    fn missing_chunk(&self, error: &Error) -> Option<u64> {
        let ErrorKind::Corrupt(Corruption { rule: Rule::ChunkChecksum, place: Place::Chunk(chunk), .. }) = error.kind()
        else {
            return None;
        };
        let is_known = self.is_read.get(usize::try_from(*chunk).ok()?)?;
        (!is_known || !self.read_twice.contains(chunk)).then_some(*chunk)
    }

    /// Reads the chunk that an error names, and more. Other errors are returned.
    fn read_missing(&mut self, error: Error) -> Result<(), LocationError> {
        let Some(chunk) = self.missing_chunk(&error) else { return Err(self.damaged(error)) };
        let start = chunk * CHUNK_LEN;
        if self.is_read[chunk as usize] {
            // Perhaps it was damaged on the way.
            self.read_twice.insert(chunk);
            self.is_read[chunk as usize] = false;
            return self.ensure(start..start + CHUNK_LEN);
        }
        let is_next = start == self.last.end;
        let len = if is_next { (2 * (self.last.end - self.last.start)).min(LAST_READ) } else { FIRST_READ };
        let len = len.max(FIRST_READ);
        if 2 * (self.read_bytes + len) > self.object.byte_len || self.reads >= MAX_READS {
            return self.ensure(0..self.object.byte_len);
        }
        self.last = start..start + len;
        self.ensure(start..start + len)
    }

    /// Reads header and directory, and everything that [`Frame::parse`] looks at.
    fn open_frame(&mut self) -> Result<(), LocationError> {
        let mut ranges = Vec::new();
        for entry in directory(&self.bytes) {
            let kind = SectionKind::from_code(entry.kind.get());
            ranges.push(needed_of_section(kind, entry.offset.get(), entry.length.get()));
        }
        for range in ranges.into_iter().filter(|range| !range.is_empty()) {
            self.ensure(range)?;
        }
        Frame::parse(&self.bytes).map(|_| ()).map_err(|source| self.damaged(source))
    }

    /// Reads the missing chunks whose checksum is that of zeros: a query would not miss them. It computes a checksum
    /// of each missing chunk, but only once.
    fn read_zeros(&mut self) -> Result<(), LocationError> {
        if self.are_zeros_read {
            return Ok(());
        }
        let frame = Frame::parse(&self.bytes).map_err(|source| self.damaged(source))?;
        let (grid, owner) = (frame.grid(), Owner::Block(BlockView::with_frame(&self.bytes, &frame, None).block_id()));
        let zeros = [0; CHUNK_LEN as usize];
        let checks = usize::try_from(grid.end).unwrap_or(usize::MAX);
        let mut alike: Vec<Range<u64>> = Vec::new();
        for chunk in (0..grid.chunk_count()).filter(|&chunk| !self.is_read[chunk as usize]) {
            let stored = self.bytes.get(checks..).and_then(|checks| checks.get(chunk as usize * 4..)?.first_chunk());
            let range = grid.chunk(chunk);
            let computed = owner.chunk_checksum(chunk, &zeros[..(range.end - range.start) as usize]);
            if stored.is_some_and(|stored| u32::from_le_bytes(*stored) == computed) {
                match alike.last_mut() {
                    // One longer read is faster than two.
                    Some(last) if range.start - last.end < FIRST_READ => last.end = range.end,
                    _ => alike.push(range),
                }
            }
        }
        if alike.len() as u64 > MAX_READS {
            self.ensure(0..self.object.byte_len)?;
        }
        alike.into_iter().try_for_each(|range| self.ensure(range))?;
        self.are_zeros_read = true;
        Ok(())
    }

    /// Reads the chunks of a range that were not read.
    fn ensure(&mut self, range: Range<u64>) -> Result<(), LocationError> {
        let end = range.end.min(self.object.byte_len).div_ceil(CHUNK_LEN);
        let missing = |chunk: &u64| !self.is_read[*chunk as usize];
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for chunk in (range.start / CHUNK_LEN..end).filter(missing) {
            let (start, end) = (chunk * CHUNK_LEN, ((chunk + 1) * CHUNK_LEN).min(self.object.byte_len));
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => ranges.push(start..end),
            }
        }
        if ranges.is_empty() {
            return Ok(());
        }
        let read = read_ranges(&self.location, &self.object, ranges.clone())?;
        for (range, bytes) in ranges.into_iter().zip(read) {
            self.store(range, &bytes);
        }
        Ok(())
    }

    fn store(&mut self, range: Range<u64>, bytes: &[u8]) {
        let (start, end) = (range.start as usize, range.end as usize);
        if let Some(place) = self.bytes.get_mut(start..end).filter(|place| place.len() == bytes.len()) {
            place.copy_from_slice(bytes);
            let chunks = start / CHUNK_LEN as usize..end.div_ceil(CHUNK_LEN as usize);
            self.is_read[chunks].fill(true);
        }
        self.reads += 1;
        self.read_bytes += bytes.len() as u64;
    }

    fn damaged(&self, source: Error) -> LocationError {
        LocationError::Block { object: self.location.name(&self.object.key), source }
    }
}

/// Reads ranges of one object.
fn read_ranges(location: &Location, object: &Object, ranges: Vec<Range<u64>>) -> Result<Vec<Bytes>, LocationError> {
    // A storage calls its sink for each read.
    let mut read = Err(LocationError::Missing { object: location.name(&object.key) });
    location.read_ranges(vec![RangedRead { key: object.key.clone(), ranges }], &mut |_, result| {
        read = result;
        false
    });
    read
}

/// Returns a block of zeros of this length. Zero pages that are never written take no memory. Returns `None` if it is
/// too long: an allocation that fails would end the process.
fn zeros(byte_len: u64) -> Option<Vec<u8>> {
    let len = usize::try_from(byte_len).ok().filter(|_| byte_len <= MAX_LEN)?;
    if byte_len > CERTAIN_LEN {
        Vec::<u8>::new().try_reserve_exact(len).ok()?;
    }
    Some(vec![0; len])
}

/// Returns the part of a section that [`Frame::parse`] and [`Facts::from_view`] look at, as a range of the file.
fn needed_of_section(kind: Option<SectionKind>, offset: u64, len: u64) -> Range<u64> {
    let needed = match kind {
        Some(SectionKind::Meta | SectionKind::Catalogue) => len,
        Some(SectionKind::Symbols | SectionKind::PackedArena | SectionKind::PackedMetricMetadata) => len.min(64),
        _ => 0,
    };
    offset..offset.saturating_add(needed)
}

/// Returns what a block says about itself, from its beginning. Returns `None` if more of it must be read: for damage,
/// for an archive, whose lengths stand further behind, and if the catalogue is long.
///
/// The front has a checksum of its own. The counts come from the catalogue, whose checksums stand at the end of the
/// file: they are estimates, and are read without.
pub(crate) fn facts_of_head(object: &Object, head: &[u8]) -> Option<Facts> {
    let (header, _) = Header::ref_from_prefix(head).ok()?;
    if header.magic != MAGIC || header.file_len.get() != object.byte_len {
        return None;
    }
    let mut bytes = zeros(object.byte_len)?;
    bytes.get_mut(..head.len())?.copy_from_slice(head);
    let frame = Frame::parse(&bytes).ok()?;
    let view = BlockView::with_frame(&bytes, &frame, None);
    let is_read = |section: Section| {
        let needed = needed_of_section(section.known(), section.offset, section.length);
        needed.is_empty() || needed.end <= head.len() as u64
    };
    if view.sections().all(is_read) { Facts::from_view(&view).ok() } else { None }
}

/// Returns the entries of the directory, as far as they were read. [`Frame::parse`] checks them.
fn directory(bytes: &[u8]) -> Vec<SectionEntry> {
    let Ok((header, rest)) = Header::ref_from_prefix(bytes) else { return Vec::new() };
    let count = header.section_count.get() as usize;
    <[SectionEntry]>::ref_from_prefix_with_elems(rest, count)
        .map_or_else(|_| Vec::new(), |(entries, _)| entries.to_vec())
}
