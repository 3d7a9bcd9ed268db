//! What can be wrong with the files of a head.

use chronoxide_cli::human::size;
use chronoxide_labels::LabelError;
use std::io;
use std::path::PathBuf;

/// Why the head of a TSDB was not read.
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
    /// Segments are missing between two others.
    #[error("{}: segment {missing:08} is missing before {}", folder.display(), next)]
    MissingSegment {
        /// The folder of the segments.
        folder: PathBuf,
        /// Number of the first missing segment.
        missing: u64,
        /// File name of the next segment.
        next: String,
    },
    /// The labels of the series of the head do not fit into the memory limit.
    #[error("the series of the log need {}, more than half of the memory limit (--memory-limit)", size(*used as u64))]
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
        /// Where reading failed.
        offset: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file ends within a record or chunk. This is normal for the last file of a log that was being written.
    #[error("the file ends within the record at byte {offset}")]
    Torn {
        /// Where the record or chunk starts.
        offset: u64,
    },
    /// A checksum does not match the bytes.
    #[error("checksum mismatch at byte {offset}: {expected:#010x} stored, {found:#010x} computed")]
    Checksum {
        /// Where the fragment or chunk starts.
        offset: u64,
        /// Stored checksum.
        expected: u32,
        /// Checksum of the bytes.
        found: u32,
    },
    /// A page, fragment or chunk is malformed.
    #[error("damaged at byte {offset}: {reason}")]
    Damaged {
        /// Where the fragment, record or chunk starts.
        offset: u64,
        /// Reason.
        reason: &'static str,
    },
    /// A record cannot be decompressed.
    #[error("the record at byte {offset} cannot be decompressed: {reason}")]
    Compression {
        /// Where the record starts.
        offset: u64,
        /// Error of the decompressor.
        reason: String,
    },
    /// A record is longer than allowed.
    #[error("the record at byte {offset} is longer than {} (--max-record-size)", size(*limit as u64))]
    TooLong {
        /// Where the record starts.
        offset: u64,
        /// Maximum length of a record, in bytes.
        limit: usize,
    },
    /// A record has a correct checksum and malformed content.
    #[error("the record at byte {offset} is malformed")]
    Record {
        /// Where the record starts.
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

/// What is wrong with the content of a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The record ends within a field, or a field is malformed. The offset counts from the start of the decompressed
    /// record.
    #[error("byte {offset} of the record: {reason}")]
    Field {
        /// Where the field is.
        offset: usize,
        /// Reason.
        reason: &'static str,
    },
    /// A time is not within the 64-bit nanoseconds around 1970.
    #[error("a sample of series {reference} is at {milliseconds} ms, which is not between the years 1677 and 2262")]
    TimeRange {
        /// The reference of the series.
        reference: u64,
        /// The time.
        milliseconds: i64,
    },
    /// The labels of a series are not a labelset.
    #[error("series {reference} has labels that cannot be stored")]
    Labels {
        /// The reference of the series.
        reference: u64,
        /// What is wrong with them.
        source: LabelError,
    },
}

/// Why a record or chunk was not taken. `E` is the error of the sink.
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
