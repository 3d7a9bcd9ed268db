//! Blocks of Prometheus's TSDB: a folder with `meta.json`, an `index` of series, and chunks, which are not read.
//!
//! | module | contents |
//! | --- | --- |
//! | `meta` | [`TsdbMeta`], the metadata of a block |
//! | `input` | bytes of an index in order |
//! | `toc` | places of the sections of an index |
//! | `symbols` | strings to which series refer |
//! | `series` | one series |
//! | `error` | errors of a block |
//!
//! The index is read by [its format][format], in the versions 1, 2 and 3 that Prometheus reads. Symbols are kept in
//! memory, and series are read one by one. Checksums of the parts that are read are checked. Postings and label indices
//! are not read. The points of a series are the times of its chunks.
//!
//! Tombstones are ignored: deleted series are there until Prometheus compacts the block.
//!
//! [format]: https://github.com/prometheus/prometheus/blob/main/tsdb/docs/format/index.md

mod error;
mod input;
mod meta;
mod series;
mod symbols;
mod toc;

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

pub use error::{TsdbBlockError, TsdbError};
use input::Input;
pub use meta::{TsdbMeta, TsdbStats};
use series::Entry;
use symbols::Symbols;
use toc::Toc;

use crate::series::SeriesSink;

/// File name of the metadata of a block.
const META: &str = "meta.json";

/// File name of the index of a block.
const INDEX: &str = "index";

/// Returns true if a path is a folder with the files of a block.
#[must_use]
pub fn is_block(folder: &Path) -> bool {
    [META, INDEX].iter().all(|name| folder.join(name).is_file())
}

/// Block: its metadata and its index.
pub struct TsdbBlock {
    meta: TsdbMeta,
    index: TsdbIndex<File>,
}

impl TsdbBlock {
    /// Opens the block in this folder and reads its symbols.
    ///
    /// # Errors
    ///
    /// A file cannot be opened or read, is damaged, or has an unsupported version.
    pub fn open(folder: &Path) -> Result<Self, TsdbBlockError> {
        let meta = TsdbMeta::read(&folder.join(META))?;
        let path = folder.join(INDEX);
        let file = File::open(&path).map_err(|source| TsdbBlockError::Open { path, source })?;
        Ok(Self { meta, index: TsdbIndex::open(file)? })
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
        Ok(Self { input, len, toc, symbols, entry: Entry::default(), is_stopped: false })
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
        let has_series = self.entry.read(&mut self.input, self.toc.series.end, self.toc.version, &self.symbols)?;
        if has_series {
            self.entry.give(&self.symbols, sink).map_err(TsdbError::Sink)?;
            self.is_stopped = false;
        }
        Ok(has_series)
    }
}
