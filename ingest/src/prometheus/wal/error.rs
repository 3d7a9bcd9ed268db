//! Errors of the files of a head.

use std::io;
use std::path::PathBuf;

use chronoxide_labels::LabelError;
use chronoxide_text::human::size;

/// Error of reading the head of a TSDB.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WalError {
    /// A file or folder cannot be opened or listed.
    #[error("{}: cannot open", path.display())]
    Open {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file is damaged or cannot be read.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Reason.
        source: WalFileError,
    },
    /// Segments are missing before another one.
    #[error("{}: segment {first:08} is missing before {:08} (--skip-bad-records reads the others)", folder.display(), first.saturating_add(*count))]
    MissingSegment {
        /// Folder of the segments.
        folder: PathBuf,
        /// Number of the first missing segment.
        first: u64,
        /// Number of missing segments.
        count: u64,
    },
    /// The labels of the series of the head do not fit into the memory limit.
    #[error("the series of the log use more than half of the memory limit ({} so far): raise --memory-limit", size(*used as u64))]
    Memory {
        /// Bytes in use when reading stopped.
        used: usize,
    },
}

/// Reason why a file of a head cannot be read. Offsets count from its start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WalFileError {
    /// The file cannot be read.
    #[error("cannot read at byte {offset}")]
    Read {
        /// Position of the error.
        offset: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file ends within a record or chunk. This is normal for the last file of a log that was being written.
    #[error("the file ends within the record at byte {offset}")]
    Torn {
        /// Start of the record or chunk.
        offset: u64,
    },
    /// A checksum does not match the bytes.
    #[error("checksum mismatch at byte {offset}: {expected:#010x} stored, {found:#010x} computed")]
    Checksum {
        /// Start of the fragment or chunk.
        offset: u64,
        /// Stored checksum.
        expected: u32,
        /// Checksum of the bytes.
        found: u32,
    },
    /// A page, fragment or chunk is malformed.
    #[error("damaged at byte {offset}: {reason}")]
    Damaged {
        /// Start of the fragment, record or chunk.
        offset: u64,
        /// Reason.
        reason: &'static str,
    },
    /// A record cannot be decompressed.
    #[error("the record at byte {offset} cannot be decompressed: {reason}")]
    Compression {
        /// Start of the record.
        offset: u64,
        /// Error of the decompressor.
        reason: String,
    },
    /// A record is longer than allowed.
    #[error("the record at byte {offset} is longer than {} (--max-record-size)", size(*limit as u64))]
    TooLong {
        /// Start of the record.
        offset: u64,
        /// Maximum length of a record, in bytes.
        limit: usize,
    },
    /// A record has a correct checksum and malformed content.
    #[error("the record at byte {offset} is malformed")]
    Record {
        /// Start of the record.
        offset: u64,
        /// Reason.
        source: RecordError,
    },
    /// A file of head chunks has a version that is not supported.
    #[error("unsupported version {version} of head chunks; only 1 is supported")]
    Version {
        /// The version in the file.
        version: u8,
    },
}

/// Reason why the content of a record is malformed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The record ends within a field, or a field is malformed. The offset counts from the start of the decompressed
    /// record.
    #[error("byte {offset} of the record: {reason}")]
    Field {
        /// Position of the field.
        offset: usize,
        /// Reason.
        reason: &'static str,
    },
    /// The labels of a series are not a labelset.
    #[error("series {reference} has labels that cannot be stored")]
    Labels {
        /// The reference of the series.
        reference: u64,
        /// Reason.
        source: LabelError,
    },
}

/// Error of taking a record or chunk. `E` is the error of the sink.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeadError<E> {
    /// The record is malformed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The sink refused a part.
    #[error(transparent)]
    Sink(E),
}

impl WalFileError {
    /// Returns the position of the error.
    #[must_use]
    pub fn offset(&self) -> u64 {
        match *self {
            Self::Read { offset, .. }
            | Self::Torn { offset }
            | Self::Checksum { offset, .. }
            | Self::Damaged { offset, .. }
            | Self::Compression { offset, .. }
            | Self::TooLong { offset, .. }
            | Self::Record { offset, .. } => offset,
            Self::Version { .. } => 0,
        }
    }

    /// Returns true if the bytes of the file are damaged, and false if it cannot be read or is not supported.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        !matches!(self, Self::Read { .. } | Self::Version { .. })
    }
}
