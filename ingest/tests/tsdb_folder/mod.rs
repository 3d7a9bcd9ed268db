//! Folders of blocks and logs that a test writes, and runs over them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use chronoxide_ingest::{Ingest, IngestError, IngestOptions, Report};

use crate::canonical::{Labels, block_series};
use crate::prometheus_tsdb::{Chunks, Labels as Pairs, Model, index};
use crate::tsdb_numbers::{crc, uvarint, varint};

/// Temporary folder with blocks and logs.
pub struct Data {
    folder: tempfile::TempDir,
}

/// Series of each block, and the report.
pub type Done = (Vec<BTreeSet<Labels>>, Report);

impl Data {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, and its folders.
    pub fn write(&self, name: &str, content: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes a block with the window from 0 to 1,000 ms. `thanos` is the content of this part of `meta.json`.
    pub fn block(&self, name: &str, model: &Model, version: u8, thanos: &str) {
        self.write(&format!("{name}/index"), &index(model, version));
        let meta = format!(
            r#"{{"version":1,"ulid":"{name}","minTime":0,"maxTime":1000,"stats":{{"numSamples":5}},"thanos":{thanos}}}"#
        );
        self.write(&format!("{name}/meta.json"), meta.as_bytes());
    }

    /// Reads one block.
    pub fn read_block(&self, name: &str, options: IngestOptions) -> Result<Done, IngestError> {
        let mut ingest = Ingest::new(options, Vec::new());
        ingest.read_tsdb_block(&self.path(name))?;
        done(ingest)
    }

    /// Reads the log in the folder `wal`.
    pub fn read_wal(&self, options: IngestOptions) -> Result<Done, IngestError> {
        let mut ingest = Ingest::new(options, Vec::new());
        ingest.read_wal(&self.path("wal"))?;
        done(ingest)
    }
}

/// Ends a run.
pub fn done(ingest: Ingest) -> Result<Done, IngestError> {
    let (report, blocks) = ingest.finish()?;
    Ok((blocks.iter().map(|block| block_series(block).into_iter().collect()).collect(), report))
}

/// Returns an error with its causes.
pub fn message(error: &IngestError) -> String {
    let (mut text, mut cause) = (error.to_string(), std::error::Error::source(error));
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

pub fn options() -> IngestOptions {
    IngestOptions::default()
}

pub fn skipping() -> IngestOptions {
    IngestOptions { skip_broken_records: true, ..options() }
}

/// A series that is called `name`, with chunks.
pub fn series(name: &str, chunks: &[(i64, i64)]) -> (Pairs, Chunks) {
    (vec![("__name__".to_owned(), name.to_owned())], chunks.to_vec())
}

/// Labelsets of series that have only a name.
pub fn named(names: &[&str]) -> BTreeSet<Labels> {
    names.iter().map(|name| Labels::from([("__name__".to_owned(), (*name).to_owned())])).collect()
}

/// The file of deletions, as its format describes it.
pub fn tombstones(all: &[(u64, i64, i64)]) -> Vec<u8> {
    let mut body = Vec::new();
    for &(reference, first, last) in all {
        uvarint(reference, &mut body);
        varint(first, &mut body);
        varint(last, &mut body);
    }
    let mut out = vec![0x01, 0x30, 0xba, 0x30, 1];
    out.extend(&body);
    out.extend(crc(&body).to_be_bytes());
    out
}

/// Returns the offset of each series of an index of version 2 or 3, and of the section after them.
pub fn series_offsets(index: &[u8]) -> Vec<usize> {
    let toc = index.len() - 52;
    let section = |number: usize| {
        let at = toc + 8 * number;
        u64::from_be_bytes(index[at..at + 8].try_into().unwrap()) as usize
    };
    let (mut at, end) = (section(1).next_multiple_of(16), section(4));
    let mut offsets = Vec::new();
    // All series of these tests are shorter than 128 bytes.
    while at < end && index[at] != 0 {
        assert!(index[at] < 128);
        offsets.push(at);
        at = (at + 1 + usize::from(index[at]) + 4).next_multiple_of(16);
    }
    offsets
}
