//! Blocks of Prometheus's TSDB: a folder with `meta.json`, an `index` of series, and chunks, which are not read.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `meta` | [`TsdbMeta`], what a block says about itself |
//! | `input` | the bytes of an index in their order |
//! | `toc` | where the sections of an index are |
//! | `symbols` | the strings that series refer to |
//! | `series` | one series |
//! | `error` | what can be wrong with a block |
//!
//! The index is read as [its format][format] says, in the versions 1, 2 and 3 that Prometheus reads. Symbols are held in
//! memory, and series pass through it one after the other. The checksums of what is read are checked; postings and label
//! indices are not read. The points of a series are the times of its chunks.
//!
//! Tombstones are not looked at: series that were deleted are there until the block is compacted.
//!
//! [format]: https://github.com/prometheus/prometheus/blob/main/tsdb/docs/format/index.md

mod error;
mod input;
mod meta;
mod series;
mod symbols;
mod toc;

pub use error::{TsdbBlockError, TsdbError};
pub use meta::{TsdbMeta, TsdbStats};

use crate::series::SeriesSink;
use input::Input;
use series::Entry;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use symbols::Symbols;
use toc::Toc;

/// The name of the description of a block in its folder.
const META: &str = "meta.json";

/// The name of the index of a block in its folder.
const INDEX: &str = "index";

/// Whether a path is a folder that has the files of a block.
pub fn is_block(folder: &Path) -> bool {
    [META, INDEX].iter().all(|name| folder.join(name).is_file())
}

/// A block: what it says about itself, and its index.
pub struct TsdbBlock {
    meta: TsdbMeta,
    index: TsdbIndex<File>,
}

impl TsdbBlock {
    /// Opens the block in this folder and reads its symbols.
    ///
    /// # Errors
    ///
    /// A file cannot be opened or read, is damaged, or has a version that is not known.
    pub fn open(folder: &Path) -> Result<Self, TsdbBlockError> {
        let meta = TsdbMeta::read(&folder.join(META))?;
        let path = folder.join(INDEX);
        let file = File::open(&path).map_err(|source| TsdbBlockError::Open { path, source })?;
        Ok(Self { meta, index: TsdbIndex::open(file)? })
    }

    /// What the block says about itself.
    pub fn meta(&self) -> &TsdbMeta {
        &self.meta
    }

    /// The index of the block, which has the series.
    pub fn index(&mut self) -> &mut TsdbIndex<File> {
        &mut self.index
    }

    /// Gives the next series to `sink`. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// As [`TsdbIndex::next_series`].
    pub fn next_series<S: SeriesSink>(&mut self, sink: &mut S) -> Result<bool, TsdbError<S::Error>> {
        self.index.next_series(sink)
    }
}

/// The index of a block: its series, one after the other.
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
    /// The index cannot be read, is damaged, or has a version that is not known.
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

    /// How many bytes the index has.
    pub fn file_len(&self) -> u64 {
        self.len
    }

    /// How many bytes of the index lie before the next series.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// Gives the next series to `sink`. Returns whether there was one; after an error there is none.
    ///
    /// # Errors
    ///
    /// The series cannot be read or is damaged: nothing of it went to the sink. Or the sink did not take a part.
    pub fn next_series<S: SeriesSink>(&mut self, sink: &mut S) -> Result<bool, TsdbError<S::Error>> {
        if self.is_stopped {
            return Ok(false);
        }
        // Until it went well.
        self.is_stopped = true;
        let has_series = self.entry.read(&mut self.input, self.toc.series.end, self.toc.version, &self.symbols)?;
        if has_series {
            self.entry.give(&self.symbols, sink).map_err(TsdbError::Sink)?;
            self.is_stopped = false;
        }
        Ok(has_series)
    }
}
