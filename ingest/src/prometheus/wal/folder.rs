//! Files of a head and their order: [`HeadFiles`].

use std::fs;
use std::path::{Path, PathBuf};

use chronoxide_publish::names_in;

use super::error::WalError;

/// Folder of the write-ahead log within a data folder.
pub const WAL_FOLDER: &str = "wal";

/// Folder of the log of out-of-order samples within a data folder.
pub const OUT_OF_ORDER_FOLDER: &str = "wbl";

/// Folder of head chunks within a data folder.
pub const CHUNKS_FOLDER: &str = "chunks_head";

/// Prefix of the name of a checkpoint, which is a folder within the log.
const CHECKPOINT: &str = "checkpoint.";

/// Minimum digits of the name of a segment.
const MIN_DIGITS: usize = 6;

/// File of a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Length of the file in bytes.
    pub len: u64,
    /// True if this is the last file that was written, so that it may end within a record.
    pub is_last: bool,
}

/// Segments that are missing before another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentGap {
    /// Folder of the segments.
    pub folder: PathBuf,
    /// Number of the first missing segment.
    pub first: u64,
    /// Number of missing segments.
    pub count: u64,
}

/// Files of a head, in reading order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadFiles {
    /// Segments of the newest checkpoint, of the log after it, and of the log of out-of-order samples.
    pub segments: Vec<HeadFile>,
    /// Files of head chunks.
    pub chunks: Vec<HeadFile>,
    /// Segments and files of head chunks that are missing.
    pub gaps: Vec<SegmentGap>,
}

impl HeadFiles {
    /// Finds the files of the head whose log is in `wal`. Sibling folders with the names that Prometheus uses,
    /// [`OUT_OF_ORDER_FOLDER`] and [`CHUNKS_FOLDER`], belong to the head.
    ///
    /// # Errors
    ///
    /// A folder cannot be listed.
    pub fn find(wal: &Path) -> Result<Self, WalError> {
        let mut found = Self::default();
        let checkpoint = newest_checkpoint(wal)?;
        if let Some((_, folder)) = &checkpoint {
            // A checkpoint is a log of its own.
            let mut files = numbered(folder, Some(0), &mut found.gaps)?;
            // A checkpoint gets its name after it is complete.
            files.iter_mut().for_each(|file| file.is_last = false);
            found.segments.append(&mut files);
        }
        let next = checkpoint.map(|(number, _)| number.saturating_add(1));
        found.segments.append(&mut numbered(wal, next, &mut found.gaps)?);
        // The path may be `.` or a link. Of a log that was deleted, head chunks may be left.
        let canonical = if wal.exists() { wal.canonicalize() } else { Ok(wal.to_owned()) };
        let parent = canonical.map_err(|source| WalError::Open { path: wal.to_owned(), source })?;
        if let Some(parent) = parent.parent() {
            let shown = if wal.ends_with(WAL_FOLDER) { wal.parent().unwrap_or(parent) } else { parent };
            found.segments.append(&mut numbered(&shown.join(OUT_OF_ORDER_FOLDER), None, &mut found.gaps)?);
            found.chunks = numbered(&shown.join(CHUNKS_FOLDER), None, &mut found.gaps)?;
        }
        Ok(found)
    }

    /// Returns the length of all files in bytes.
    #[must_use]
    pub fn total_len(&self) -> u64 {
        self.segments.iter().chain(&self.chunks).map(|file| file.len).sum()
    }
}

/// Returns true if a path is a folder with segments of a write-ahead log or a checkpoint, or has the name of a log
/// whose segments are gone and whose head chunks are left.
#[must_use]
pub fn is_wal(folder: &Path) -> bool {
    let is_chunks = folder.file_name().is_some_and(|name| name == CHUNKS_FOLDER || name == "chunks");
    !is_chunks && (has_segments(folder) || folder.ends_with(WAL_FOLDER) && has_head_chunks(folder))
}

fn has_segments(folder: &Path) -> bool {
    names_in(folder).unwrap_or_default().into_iter().any(|name| {
        let path = folder.join(&name);
        let name = name.to_str().unwrap_or_default();
        checkpoint_number(name).is_some() && path.is_dir()
            // Names of segments have eight digits, names of chunks six.
            || name.len() >= MIN_DIGITS + 2 && file_number(name).is_some() && path.is_file()
    })
}

fn has_head_chunks(wal: &Path) -> bool {
    let chunks = wal.parent().map(|data| data.join(CHUNKS_FOLDER));
    let names = chunks.and_then(|chunks| names_in(&chunks).ok()).unwrap_or_default();
    names.iter().any(|name| name.to_str().is_some_and(|name| file_number(name).is_some()))
}

fn checkpoint_number(name: &str) -> Option<u64> {
    file_number(name.strip_prefix(CHECKPOINT)?)
}

fn file_number(name: &str) -> Option<u64> {
    let is_number = name.len() >= MIN_DIGITS && name.bytes().all(|byte| byte.is_ascii_digit());
    name.parse().ok().filter(|_| is_number)
}

/// Returns names and paths in a folder, or none if it does not exist.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, WalError> {
    let unreadable = |source| WalError::Open { path: folder.to_owned(), source };
    if !folder.try_exists().map_err(unreadable)? {
        return Ok(Vec::new());
    }
    let mut entries = Vec::new();
    for name in names_in(folder).map_err(unreadable)? {
        entries.push((name.to_string_lossy().into_owned(), folder.join(name)));
    }
    Ok(entries)
}

/// Returns the checkpoint with the highest number. Incomplete ones end in `.tmp` and do not count.
fn newest_checkpoint(wal: &Path) -> Result<Option<(u64, PathBuf)>, WalError> {
    let checkpoints = entries(wal)?.into_iter().filter_map(|(name, path)| Some((checkpoint_number(&name)?, path)));
    Ok(checkpoints.max())
}

/// Returns the files whose names are numbers, in order, from the number `start` on. Adds missing numbers to `gaps`.
fn numbered(folder: &Path, start: Option<u64>, gaps: &mut Vec<SegmentGap>) -> Result<Vec<HeadFile>, WalError> {
    let files = entries(folder)?.into_iter().filter_map(|(name, path)| Some((file_number(&name)?, path)));
    let mut files: Vec<(u64, PathBuf)> =
        files.filter(|(number, _)| start.is_none_or(|start| *number >= start)).collect();
    files.sort();
    let mut expected = start;
    for &(number, _) in &files {
        if let Some(first) = expected
            && first < number
        {
            gaps.push(SegmentGap { folder: folder.to_owned(), first, count: number - first });
        }
        expected = Some(number.saturating_add(1));
    }
    let count = files.len();
    let with_len = |(place, (_, path)): (usize, (u64, PathBuf))| {
        let metadata = fs::metadata(&path).map_err(|source| WalError::Open { path: path.clone(), source })?;
        Ok(HeadFile { path, len: metadata.len(), is_last: place + 1 == count })
    };
    files.into_iter().enumerate().map(with_len).collect()
}
