//! Counts and warnings of Prometheus's TSDB.

use std::fmt;

use chronoxide_text::human::count_of;
use serde::Serialize;

/// Counts of blocks and heads of Prometheus's TSDB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TsdbCounts {
    /// Series that were left out because all of their samples are deleted.
    pub deleted_series: u64,
    /// Blocks that were skipped because they are marked as deleted.
    pub deleted_blocks: u64,
    /// Segments of write-ahead logs that are missing between others.
    pub missing_segments: u64,
}

/// Problem of a block or a head that does not stop the run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TsdbWarning {
    /// A block is marked as deleted.
    DeletedBlock {
        /// Folder of the block.
        input: String,
    },
    /// The folder of a block whose chunk lists are read has another name than the block's id.
    OtherFolder {
        /// Folder of the block.
        input: String,
        /// Id in the metadata.
        id: String,
    },
    /// The metadata of a block cannot be read.
    NoMeta {
        /// Folder of the block.
        input: String,
        /// Reason.
        reason: String,
    },
    /// The deletions of a block cannot be read.
    NoTombstones {
        /// Folder of the block.
        input: String,
        /// Reason.
        reason: String,
    },
    /// A damaged series of an index was skipped.
    SkippedSeries {
        /// Folder of the block.
        input: String,
        /// Reason.
        reason: String,
    },
    /// Damaged bytes of a write-ahead log, or of head chunks, were skipped.
    SkippedBytes {
        /// Path of the file.
        path: String,
        /// Start of the next record, or `None` if the rest of the file was skipped.
        next: Option<u64>,
        /// Reason.
        reason: String,
    },
    /// Series of a write-ahead log have labels that cannot be stored.
    SkippedLabels {
        /// Folder of the log.
        input: String,
        /// Number of series.
        count: u64,
    },
    /// Segments of a write-ahead log are missing.
    MissingSegments {
        /// Folder of the segments.
        folder: String,
        /// Number of the first missing segment.
        first: u64,
        /// Number of missing segments.
        count: u64,
    },
}

impl fmt::Display for TsdbWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeletedBlock { input } => {
                write!(f, "{input}: skipped: the block is marked as deleted (--ignore-deletions reads it)")
            }
            Self::OtherFolder { input, id } => {
                write!(f, "{input}: the id of the block is {id}: its samples are looked for in a folder of this name")
            }
            Self::NoMeta { input, reason } => {
                write!(f, "{input}: {reason}; read the series without the window and the external labels of the block")
            }
            Self::NoTombstones { input, reason } => write!(f, "{input}: {reason}; deleted series may be there"),
            Self::SkippedSeries { input, reason } => write!(f, "{input}: skipped a damaged series: {reason}"),
            Self::SkippedBytes { path, next: Some(next), reason } => {
                write!(f, "{path}: {reason}; skipped the bytes up to the next record, at byte {next}")
            }
            Self::SkippedBytes { path, next: None, reason } => {
                write!(f, "{path}: {reason}; skipped the rest of the file")
            }
            Self::SkippedLabels { input, count } => {
                write!(f, "{input}: skipped {} of series whose labels cannot be stored", count_of(*count, "definition"))
            }
            Self::MissingSegments { folder, first, count: 1 } => write!(f, "{folder}: segment {first:08} is missing"),
            Self::MissingSegments { folder, first, count } => {
                write!(f, "{folder}: {count} segments from {first:08} on are missing")
            }
        }
    }
}
