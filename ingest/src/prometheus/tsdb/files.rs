//! Files of a block: [`TsdbFiles`].

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use chronoxide_publish::names_in;

use super::error::TsdbBlockError;

/// File name of the metadata of a block.
pub const META: &str = "meta.json";

/// File name of the index of a block.
pub const INDEX: &str = "index";

/// File name of the deletions of a block.
pub const TOMBSTONES: &str = "tombstones";

/// File name of the mark of a deleted block of Thanos, Mimir or Cortex.
pub const DELETION_MARK: &str = "deletion-mark.json";

/// Folder of the marks of all blocks in a bucket of Mimir or Cortex. Their names begin with the id of the block.
pub const MARKERS_FOLDER: &str = "markers";

/// Folder of the chunks of a block.
pub const CHUNKS: &str = "chunks";

/// Magic number of an index.
pub(super) const MAGIC: [u8; 4] = 0xbaaa_d700_u32.to_be_bytes();

/// Maximum length of `meta.json` and of a mark in bytes.
pub const MAX_JSON_LEN: u64 = 64 << 20;

/// Maximum length of a file of tombstones in bytes. They take up to eight times as much memory.
pub const MAX_TOMBSTONES_LEN: u64 = 64 << 20;

/// Files of a block, from a folder or from another place.
#[derive(Debug)]
pub struct TsdbFiles<R> {
    /// Content of `meta.json`, if there is one.
    pub meta: Option<Vec<u8>>,
    /// The index, if there is one.
    pub index: Option<R>,
    /// Content of `tombstones`, if there is one.
    pub tombstones: Option<Vec<u8>>,
    /// True if the block is marked as deleted.
    pub has_deletion_mark: bool,
}

impl TsdbFiles<File> {
    /// Opens the files of the block in this folder.
    ///
    /// # Errors
    ///
    /// A file exists and cannot be read.
    pub fn in_folder(folder: &Path) -> Result<Self, TsdbBlockError> {
        let index = open(&folder.join(INDEX))?;
        Ok(Self {
            meta: read(&folder.join(META), MAX_JSON_LEN)?,
            index,
            // One byte more: the reader refuses a longer file.
            tombstones: read(&folder.join(TOMBSTONES), MAX_TOMBSTONES_LEN + 1)?,
            has_deletion_mark: has_deletion_mark(folder)?,
        })
    }
}

/// Returns true if a block has a mark of deletion, in its own folder or in that of all marks.
fn has_deletion_mark(folder: &Path) -> Result<bool, TsdbBlockError> {
    if let Some(mark) = read(&folder.join(DELETION_MARK), MAX_JSON_LEN)? {
        return Ok(is_deletion_mark(&mark));
    }
    let (Some(id), Some(parent)) = (folder.file_name(), folder.parent()) else { return Ok(false) };
    let name = format!("{}-{DELETION_MARK}", id.to_string_lossy());
    Ok(read(&parent.join(MARKERS_FOLDER).join(name), MAX_JSON_LEN)?.is_some_and(|mark| is_deletion_mark(&mark)))
}

/// Returns true if the content of a mark is whole. Thanos keeps a block whose mark was uploaded in part.
#[must_use]
pub fn is_deletion_mark(content: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(content).is_ok_and(|mark| mark.is_object())
}

/// Returns true if a path is a folder that is a block, whole or damaged. It has the name of a block and nothing that a
/// block does not have; or an index, `meta.json` or a folder of chunks, with the content that these have.
#[must_use]
pub fn is_block(folder: &Path) -> bool {
    if !folder.is_dir() {
        return false;
    }
    let has = |name: &str| folder.join(name).is_file();
    let has_name = folder.file_name().and_then(|name| name.to_str()).is_some_and(is_block_id);
    let has_chunks = folder.join(CHUNKS).is_dir();
    let parts = [has(META), has(INDEX), has_chunks, has(TOMBSTONES), has(DELETION_MARK)];
    match parts.iter().filter(|has_part| **has_part).count() {
        0 => {
            // Programs that export captures use such ids too.
            has_name && names_in(folder).is_ok_and(|names| names.is_empty())
        }
        1 if has_name => true,
        // A single one of these names may be another thing in a folder of captures.
        1 => {
            has(INDEX) && starts_with_magic(&folder.join(INDEX))
                || has(META) && is_block_meta(&folder.join(META))
                || has_chunks && has_segment(&folder.join(CHUNKS))
        }
        _ => true,
    }
}

/// Returns true if a name is a ULID, as the folders of blocks have: 26 digits in base 32.
#[must_use]
pub fn is_block_id(name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase() && !b"ILOU".contains(&byte);
    name.len() == 26 && name.starts_with(|first: char| ('0'..='7').contains(&first)) && name.bytes().all(is_digit)
}

fn starts_with_magic(index: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    File::open(index).and_then(|mut file| file.read_exact(&mut start)).is_ok_and(|()| start == MAGIC)
}

fn is_block_meta(meta: &Path) -> bool {
    let content = read(meta, MAX_JSON_LEN).ok().flatten();
    let meta = content.and_then(|content| serde_json::from_slice::<serde_json::Value>(&content).ok());
    meta.is_some_and(|meta| ["ulid", "minTime", "maxTime"].iter().all(|field| meta.get(field).is_some()))
}

/// Returns true if a folder has a segment of chunks, whose name is a number of six digits.
fn has_segment(chunks: &Path) -> bool {
    let is_segment = |name: &str| name.len() == 6 && name.bytes().all(|byte| byte.is_ascii_digit());
    names_in(chunks).is_ok_and(|names| names.iter().any(|name| name.to_str().is_some_and(is_segment)))
}

/// Opens a file, if it exists.
fn open(path: &Path) -> Result<Option<File>, TsdbBlockError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(TsdbBlockError::Open { path: path.to_owned(), source }),
    }
}

/// Reads a file up to a length, if it exists.
fn read(path: &Path, max_len: u64) -> Result<Option<Vec<u8>>, TsdbBlockError> {
    let Some(file) = open(path)? else { return Ok(None) };
    let mut content = Vec::new();
    match file.take(max_len).read_to_end(&mut content) {
        Ok(_) => Ok(Some(content)),
        Err(source) => Err(TsdbBlockError::Open { path: path.to_owned(), source }),
    }
}
