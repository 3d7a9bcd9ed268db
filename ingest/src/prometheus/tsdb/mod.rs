//! Blocks of Prometheus's TSDB: a folder with `meta.json`, an `index` of series, and chunks, which are not read.
//!
//! | module | contents |
//! | --- | --- |
//! | `meta` | [`TsdbMeta`], the metadata of a block |
//! | `files` | [`TsdbFiles`], the files of a block, and [`is_block`] |
//! | `tombstones` | the file of deleted times |
//! | `input` | bytes of an index in order |
//! | `toc` | places of the sections of an index |
//! | `symbols` | strings to which series refer |
//! | `series` | one series |
//! | `writer` | [`IndexWriter`], an index from series and chunks |
//! | `error` | errors of a block |
//!
//! The index is read by [its format][format], in the versions 1, 2 and 3 that Prometheus reads. Symbols are kept in
//! memory, and series are read one by one. Checksums of the parts that are read are checked. Postings and label indices
//! are not read. The points of a series are the times of its chunks.
//!
//! Series whose chunks are all deleted are left out: `tombstones` has the deleted times until Prometheus compacts the
//! block.
//!
//! [format]: https://github.com/prometheus/prometheus/blob/main/tsdb/docs/format/index.md

mod error;
mod files;
mod input;
mod meta;
mod series;
mod symbols;
mod toc;
mod tombstones;
mod writer;

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

pub use error::{TsdbBlockError, TsdbError};
pub use files::{
    CHUNKS, DELETION_MARK, INDEX, MARKERS_FOLDER, MAX_JSON_LEN, MAX_TOMBSTONES_LEN, META, TOMBSTONES, TsdbFiles,
    is_block, is_block_id, is_deletion_mark,
};
use input::Input;
pub use meta::{TsdbMeta, TsdbStats};
use series::Entry;
use symbols::Symbols;
use toc::Toc;
pub use tombstones::parse_tombstones;
pub use writer::{IndexWriter, tombstones_file};

use crate::prometheus::chunk_lists::ChunkColumns;
use crate::prometheus::tombstones::Tombstones;
use crate::series::SeriesSink;

/// Block: its metadata and its index. Deletions are not applied.
pub struct TsdbBlock {
    meta: TsdbMeta,
    index: TsdbIndex<File>,
}

impl TsdbBlock {
    /// Opens the block in this folder and reads its symbols.
    ///
    /// # Errors
    ///
    /// A file is missing, cannot be opened or read, is damaged, or has an unsupported version.
    pub fn open(folder: &Path) -> Result<Self, TsdbBlockError> {
        let files = TsdbFiles::in_folder(folder)?;
        let meta = TsdbMeta::parse(files.meta.as_deref())?;
        let index = files.index.ok_or(TsdbBlockError::Missing { name: INDEX })?;
        Ok(Self { meta, index: TsdbIndex::open(index)? })
    }

    /// Returns the metadata of the block.
    #[must_use]
    pub fn meta(&self) -> &TsdbMeta {
        &self.meta
    }

    /// Returns the index of the block.
    pub fn index(&mut self) -> &mut TsdbIndex<File> {
        &mut self.index
    }

    /// Gives the next series to `sink`. Returns false at the end.
    ///
    /// # Errors
    ///
    /// Errors of [`TsdbIndex::next_series`].
    pub fn next_series<S: SeriesSink>(&mut self, sink: &mut S) -> Result<bool, TsdbError<S::Error>> {
        self.index.next_series(sink)
    }
}

/// Index of a block, which reads its series one by one.
pub struct TsdbIndex<R> {
    input: Input<R>,
    len: u64,
    toc: Toc,
    symbols: Symbols,
    entry: Entry,
    tombstones: Tombstones,
    deleted_series: u64,
    /// Columns of the chunk lists, if these are read.
    chunks: Option<ChunkColumns>,
    is_stopped: bool,
}

impl<R: Read + Seek> TsdbIndex<R> {
    /// Reads header, table of contents and symbols. Memory is that of the symbols.
    ///
    /// # Errors
    ///
    /// The index cannot be read, is damaged, or has an unsupported version.
    pub fn open(reader: R) -> Result<Self, TsdbBlockError> {
        let mut input = Input::new(reader);
        let toc = Toc::read(&mut input)?;
        let symbols = match &toc.symbols {
            Some(section) => Symbols::read(&mut input, section.clone(), toc.version)?,
            None => Symbols::default(),
        };
        let len = input.len()?;
        input.seek(toc.series.start)?;
        let (entry, tombstones) = (Entry::default(), Tombstones::default());
        Ok(Self { input, len, toc, symbols, entry, tombstones, deleted_series: 0, chunks: None, is_stopped: false })
    }

    /// Leaves out series whose chunks are all deleted.
    #[must_use]
    pub fn without_deleted(mut self, tombstones: Tombstones) -> Self {
        self.tombstones = tombstones;
        self
    }

    /// Gives the chunk lists of series, too, as values of the columns of CHUNKS.md, for the block of
    /// Prometheus with this id.
    ///
    /// # Errors
    ///
    /// The sink refuses a column.
    pub fn with_chunk_lists<S: SeriesSink>(mut self, id: &str, sink: &mut S) -> Result<Self, S::Error> {
        self.chunks = Some(ChunkColumns::new(id, !self.tombstones.is_empty(), sink)?);
        Ok(self)
    }

    /// Returns the number of series so far that were left out because all of their chunks are deleted.
    pub fn deleted_series(&self) -> u64 {
        self.deleted_series
    }

    /// Returns the length of the index in bytes.
    pub fn file_len(&self) -> u64 {
        self.len
    }

    /// Returns the offset of the next series in the index.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// Gives the next series to `sink`. Returns false at the end and after an error.
    ///
    /// # Errors
    ///
    /// The series cannot be read or is damaged, and nothing of it went to the sink. Or the sink refuses a part.
    pub fn next_series<S: SeriesSink>(&mut self, sink: &mut S) -> Result<bool, TsdbError<S::Error>> {
        if self.is_stopped {
            return Ok(false);
        }
        // Cleared on success.
        self.is_stopped = true;
        loop {
            if !self.entry.read(&mut self.input, self.toc.series.end, self.toc.version, &self.symbols)? {
                return Ok(false);
            }
            if !self.entry.is_deleted(self.toc.version, &self.tombstones) {
                break;
            }
            self.deleted_series += 1;
        }
        let mut columns = self.chunks.as_mut();
        if let Some(columns_of_series) = columns.take() {
            let has_chunks = self.entry.encode_chunks(self.toc.version, &self.tombstones, columns_of_series)?;
            columns = has_chunks.then_some(columns_of_series);
        }
        self.entry.give(&self.symbols, columns.as_deref(), sink).map_err(TsdbError::Sink)?;
        self.is_stopped = false;
        Ok(true)
    }

    /// Continues after a damaged series: the next call of [`next_series`](Self::next_series) gives the next series with
    /// a right checksum. In version 1, whose series are not aligned, it may be the end if the length of the damaged
    /// series is wrong.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    pub fn resume(&mut self) -> Result<(), TsdbBlockError> {
        self.entry.skip(&mut self.input, self.toc.series.end, self.toc.version)?;
        self.is_stopped = false;
        Ok(())
    }
}
