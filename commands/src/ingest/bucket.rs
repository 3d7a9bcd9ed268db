//! Blocks of Prometheus's TSDB in object stores: [`BucketBlock`].

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use chronoxide_ingest::prometheus::tsdb::{
    CHUNKS, DELETION_MARK, INDEX, MARKERS_FOLDER, MAX_JSON_LEN, MAX_TOMBSTONES_LEN, META, TOMBSTONES, TsdbBlockError,
    TsdbFiles, is_block_id, is_deletion_mark,
};
use chronoxide_ingest::{BlockSink, Ingest, IngestError};
use chronoxide_locations::{BLOCK_SUFFIX, Location, LocationError, RangedRead};

use crate::{Exit, Failure};

/// Bytes of an index per request.
const REQUEST_LEN: u64 = 4 << 20;

/// Block of Prometheus's TSDB in an object store.
#[derive(Debug, Clone)]
pub(crate) struct BucketBlock {
    location: Location,
    /// Key of the folder of the block: empty, or with a `/` at its end.
    folder: String,
    /// Content of `meta.json`, if there is one.
    pub(crate) meta: Option<Vec<u8>>,
    /// Length of the index, if there is one.
    index_len: Option<u64>,
    has_tombstones: bool,
    /// Key of the mark of deletion, if there is one.
    mark: Option<String>,
}

/// Blocks below a URL.
#[derive(Debug, Default)]
pub(crate) struct BucketBlocks {
    /// Blocks by their URLs, in order of keys.
    pub(crate) blocks: Vec<(String, BucketBlock)>,
    /// Number of other objects, which are not read.
    pub(crate) other_count: usize,
}

/// Finds the blocks below a URL, such as the bucket of Thanos, the folder of a tenant of Mimir, or one block, and reads
/// their metadata.
///
/// # Errors
///
/// The location cannot be opened or listed, or has no blocks.
pub(crate) fn find(url: &str) -> Result<BucketBlocks, Failure> {
    let location = Location::open(url)?;
    let objects = location.list("", true)?;
    if objects.is_empty() {
        return Err(no_objects(url));
    }
    let own_id = url.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    // Files of each folder that may be a block, with their lengths.
    let mut folders: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    let mut marks = BTreeSet::new();
    for object in &objects {
        let (folder, name) = split(&object.key);
        folders.entry(folder).or_default().insert(name, object.byte_len);
        if let Some(id) = name.strip_suffix(DELETION_MARK).and_then(|id| id.strip_suffix('-'))
            && let (tenant, MARKERS_FOLDER) = split(folder.trim_end_matches('/'))
        {
            marks.insert(format!("{tenant}{id}/"));
        }
        if let (block, CHUNKS) = split(folder.trim_end_matches('/')) {
            folders.entry(block).or_default();
        }
    }
    let mut found = BucketBlocks::default();
    for (folder, files) in &folders {
        let (parent, id) = split(folder.trim_end_matches('/'));
        let id = if folder.is_empty() { own_id } else { id };
        let has = |name: &str| files.contains_key(name);
        let is_block = is_block_id(id) || has(META) && has(INDEX);
        if !is_block {
            continue;
        }
        let mark = match has(DELETION_MARK) {
            true => Some(format!("{folder}{DELETION_MARK}")),
            false => marks.contains(*folder).then(|| format!("{parent}{MARKERS_FOLDER}/{id}-{DELETION_MARK}")),
        };
        let block = BucketBlock {
            location: location.clone(),
            folder: (*folder).to_owned(),
            meta: None,
            index_len: files.get(INDEX).copied(),
            has_tombstones: has(TOMBSTONES),
            mark,
        };
        found.blocks.push((location.name(folder), block));
    }
    if found.blocks.is_empty() {
        let message = format!(
            "{url}: no blocks of Prometheus's TSDB among the {} below this URL; other captures are files of this \
             machine: download them, or pipe them to `chronoxide-ingest -`",
            chronoxide_text::human::count_of(objects.len() as u64, "object")
        );
        return Err(Failure::new(Exit::Unsupported, message));
    }
    let is_of_block = |key: &str| {
        let (folder, name) = split(key);
        let (parent, last) = split(folder.trim_end_matches('/'));
        let is_block = |folder: &str| found.blocks.iter().any(|(_, block)| block.folder == folder);
        // Other marks, and copies of `meta.json` that Thanos keeps for debugging.
        name.ends_with("-mark.json") || last == "metas" || is_block(folder) || last == CHUNKS && is_block(parent)
    };
    found.other_count = objects.iter().filter(|object| !is_of_block(&object.key)).count();
    read_metas(&location, &folders, &mut found.blocks)?;
    Ok(found)
}

/// Reads `meta.json` of all blocks that have it, several at a time.
fn read_metas(
    location: &Location,
    folders: &BTreeMap<&str, BTreeMap<&str, u64>>,
    blocks: &mut [(String, BucketBlock)],
) -> Result<(), LocationError> {
    let (mut reads, mut places) = (Vec::new(), Vec::new());
    for (place, (_, block)) in blocks.iter_mut().enumerate() {
        match folders.get(block.folder.as_str()).and_then(|files| files.get(META)) {
            // A request for no bytes is an error.
            Some(0) => block.meta = Some(Vec::new()),
            Some(&len) => {
                let range = 0..len.min(MAX_JSON_LEN);
                reads.push(RangedRead { key: format!("{}{META}", block.folder), ranges: [range].into() });
                places.push(place);
            }
            None => {}
        }
    }
    let mut failed = None;
    location.read_ranges(reads, &mut |number, read| {
        match read {
            Ok(parts) => {
                if let Some((_, block)) = places.get(number).and_then(|&place| blocks.get_mut(place)) {
                    block.meta = Some(parts.concat());
                }
            }
            Err(error) => failed = Some(error),
        }
        failed.is_none()
    });
    failed.map_or(Ok(()), Err)
}

/// Returns the failure for a URL below which there is nothing.
fn no_objects(url: &str) -> Failure {
    let object = Location::open_object(url).and_then(|(location, key)| location.find(&key));
    if matches!(object, Ok(Some(_))) {
        let reason = match url.ends_with(BLOCK_SUFFIX) {
            true => "this is a block, not a capture (use chronoxide-compact to merge blocks)",
            false => "captures are files of this machine; download it, or pipe it to `chronoxide-ingest -`",
        };
        return Failure::new(Exit::Usage, format!("{url}: {reason}"));
    }
    Failure::new(Exit::Io, format!("{url}: no objects below this URL"))
}

/// Divides a key into the key of its folder, which is empty or ends in `/`, and its name.
fn split(key: &str) -> (&str, &str) {
    key.split_at(key.rfind('/').map_or(0, |slash| slash + 1))
}

impl BucketBlock {
    /// Reads the series of the block: of the index, only the parts that have them.
    ///
    /// # Errors
    ///
    /// As [`Ingest::read_tsdb_files`].
    pub(crate) fn read<B: BlockSink>(&self, ingest: &mut Ingest<B>, name: &str) -> Result<(), IngestError> {
        let unreadable = |file: &str, source: io::Error| IngestError::TsdbBlock {
            input: name.to_owned(),
            source: TsdbBlockError::Open { path: PathBuf::from(file), source },
        };
        let mark = self.mark.as_deref().map_or(Ok(None), |key| self.read_object(key, MAX_JSON_LEN));
        let mark = mark.map_err(|error| unreadable(DELETION_MARK, error))?;
        let tombstones = match self.has_tombstones {
            // One byte more: the reader refuses a longer file.
            true => self.read_object(&format!("{}{TOMBSTONES}", self.folder), MAX_TOMBSTONES_LEN + 1),
            false => Ok(None),
        };
        let tombstones = tombstones.map_err(|error| unreadable(TOMBSTONES, error))?;
        let files = TsdbFiles {
            meta: self.meta.clone(),
            index: self.index_len.map(|len| ObjectReader::new(&self.location, format!("{}{INDEX}", self.folder), len)),
            tombstones,
            has_deletion_mark: mark.is_some_and(|mark| is_deletion_mark(&mark)),
        };
        ingest.read_tsdb_files(name, files)
    }

    /// Reads an object up to a length. Returns `None` if a compactor deleted it since it was listed.
    fn read_object(&self, key: &str, max_len: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(object) = self.location.find(key).map_err(io::Error::other)? else { return Ok(None) };
        let mut content = Vec::new();
        ObjectReader::new(&self.location, key.to_owned(), object.byte_len).take(max_len).read_to_end(&mut content)?;
        Ok(Some(content))
    }
}

/// Reader of an object by ranges.
struct ObjectReader<'a> {
    location: &'a Location,
    key: String,
    len: u64,
    offset: u64,
    /// Bytes of the last request, and their start.
    bytes: Vec<u8>,
    start: u64,
}

impl<'a> ObjectReader<'a> {
    fn new(location: &'a Location, key: String, len: u64) -> Self {
        Self { location, key, len, offset: 0, bytes: Vec::new(), start: 0 }
    }

    /// Returns the bytes at the offset, empty at the end. Requests more if there are none.
    fn fill(&mut self) -> Result<&[u8], LocationError> {
        let is_there = (self.start..self.start + self.bytes.len() as u64).contains(&self.offset);
        if !is_there && self.offset < self.len {
            let range = self.offset..self.len.min(self.offset + REQUEST_LEN);
            let read = RangedRead { key: self.key.clone(), ranges: [range].into() };
            let mut done = None;
            self.location.read_ranges([read].into(), &mut |_, read| {
                done = Some(read);
                true
            });
            self.bytes.clear();
            match done {
                Some(read) => self.bytes = read?.concat(),
                None => return Err(LocationError::Missing { object: self.location.name(&self.key) }),
            }
            self.start = self.offset;
        }
        let skipped = self.offset.checked_sub(self.start).and_then(|skipped| usize::try_from(skipped).ok());
        Ok(skipped.and_then(|skipped| self.bytes.get(skipped..)).unwrap_or_default())
    }
}

impl Read for ObjectReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill().map_err(io::Error::other)?;
        let len = bytes.len().min(out.len());
        if let (Some(out), Some(bytes)) = (out.get_mut(..len), bytes.get(..len)) {
            out.copy_from_slice(bytes);
        }
        self.offset += len as u64;
        Ok(len)
    }
}

impl Seek for ObjectReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let offset = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(distance) => self.len.checked_add_signed(distance),
            SeekFrom::Current(distance) => self.offset.checked_add_signed(distance),
        };
        self.offset = offset.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.offset)
    }
}
