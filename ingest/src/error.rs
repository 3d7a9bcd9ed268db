//! Errors between a capture and a block.

use std::convert::Infallible;
use std::io;
use std::str::Utf8Error;

use chronoxide_text::human::size;

use crate::assemble::AssembleError;
use crate::columns::{ArrowFileError, ColumnsError, ParquetError, RowsError};
use crate::prometheus::proto::{ExpositionError, FamilyError};
use crate::prometheus::remote_write::{RemoteWriteError, RequestError};
use crate::prometheus::text::{LineError, TextError};
use crate::prometheus::tsdb::TsdbBlockError;
use crate::prometheus::wal::WalError;
use crate::protobuf::ProtoError;

/// Error of decoding a record. `E` is the error of the sink.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError<E> {
    /// The record is not valid UTF-8, and therefore not JSON.
    #[error("not valid UTF-8")]
    Utf8(#[from] Utf8Error),
    /// The record is not a valid protobuf message of the expected type.
    #[error(transparent)]
    Proto(#[from] ProtoError),
    /// The line is not valid exposition text.
    #[error(transparent)]
    Text(LineError),
    /// The record is not a valid remote-write request.
    #[error(transparent)]
    RemoteWrite(RequestError),
    /// The record is not a valid metric family.
    #[error(transparent)]
    Family(FamilyError),
    /// The record is not JSON of the expected structure.
    #[error(transparent)]
    Json(serde_json::Error),
    /// The record is not a valid message of Arrow IPC, or its columns are not labels.
    #[error(transparent)]
    Columns(ColumnsError),
    /// The sink refused a part of the record.
    #[error(transparent)]
    Sink(E),
}

impl<E> From<TextError<E>> for DecodeError<E> {
    fn from(error: TextError<E>) -> Self {
        match error {
            TextError::Line(error) => Self::Text(error),
            TextError::Sink(error) => Self::Sink(error),
        }
    }
}

impl<E> From<RemoteWriteError<E>> for DecodeError<E> {
    fn from(error: RemoteWriteError<E>) -> Self {
        match error {
            RemoteWriteError::Request(error) => Self::RemoteWrite(error),
            RemoteWriteError::Sink(error) => Self::Sink(error),
        }
    }
}

impl<E> From<RowsError<E>> for DecodeError<E> {
    fn from(error: RowsError<E>) -> Self {
        match error {
            RowsError::Columns(error) => Self::Columns(error),
            RowsError::Sink(error) => Self::Sink(error),
        }
    }
}

impl<E> From<ExpositionError<E>> for DecodeError<E> {
    fn from(error: ExpositionError<E>) -> Self {
        match error {
            ExpositionError::Family(error) => Self::Family(error),
            ExpositionError::Sink(error) => Self::Sink(error),
        }
    }
}

impl<E> DecodeError<E> {
    /// Separates errors of the record from the error of the sink.
    pub(crate) fn split(self) -> Result<DecodeError<Infallible>, E> {
        Ok(match self {
            Self::Utf8(error) => DecodeError::Utf8(error),
            Self::Proto(error) => DecodeError::Proto(error),
            Self::Text(error) => DecodeError::Text(error),
            Self::RemoteWrite(error) => DecodeError::RemoteWrite(error),
            Self::Family(error) => DecodeError::Family(error),
            Self::Json(error) => DecodeError::Json(error),
            Self::Columns(error) => DecodeError::Columns(error),
            Self::Sink(error) => return Err(error),
        })
    }
}

/// Error that stops a run. Blocks that were published before remain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IngestError {
    /// An input cannot be opened.
    #[error("{input}: cannot open")]
    Open {
        /// Name of the input.
        input: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// An input cannot be read.
    #[error("{input}: cannot read after byte {offset}")]
    Read {
        /// Name of the input.
        input: String,
        /// Bytes read so far, after decompression.
        offset: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A compressed input is damaged.
    #[error("{input}: damaged {compression} stream after {offset} bytes of content")]
    Compression {
        /// Name of the input.
        input: String,
        /// Compression format.
        compression: &'static str,
        /// Bytes read so far, after decompression.
        offset: u64,
        /// Error of the decompressor.
        source: io::Error,
    },
    /// The format of the input is not recognized or not supported.
    #[error("{input}: {found}; see --help for the supported formats, and --format to set one")]
    UnknownFormat {
        /// Name of the input.
        input: String,
        /// Description of the content.
        found: &'static str,
    },
    /// A record is malformed.
    #[error("{input}: record {number} at byte {offset} is malformed")]
    Record {
        /// Name of the input.
        input: String,
        /// Number of the record in the input, from 1.
        number: u64,
        /// Start of the record, after decompression.
        offset: u64,
        /// Reason.
        source: BrokenRecord,
    },
    /// A response of Prometheus's series API is malformed or reports an error.
    #[error("{input}: invalid response of the series API at byte {offset}: {reason}")]
    Response {
        /// Name of the input.
        input: String,
        /// Position of the error, after decompression.
        offset: u64,
        /// Reason.
        reason: String,
    },
    /// A block of Prometheus's TSDB cannot be read or is damaged.
    #[error("{input}")]
    TsdbBlock {
        /// Folder of the block.
        input: String,
        /// Reason.
        source: TsdbBlockError,
    },
    /// A tar archive is damaged.
    #[error("{input}: damaged archive: {reason}")]
    Archive {
        /// Path of the archive.
        input: String,
        /// Error of the unpacker.
        reason: String,
    },
    /// The reader thread cannot be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// The head of a TSDB of Prometheus cannot be read, is damaged, or does not fit into memory.
    #[error("{input}")]
    Wal {
        /// Folder of the write-ahead log.
        input: String,
        /// Reason.
        source: WalError,
    },
    /// An Arrow file cannot be read by its footer, or has no labels.
    #[error("{input}")]
    ArrowFile {
        /// Name of the input.
        input: String,
        /// Reason.
        source: ArrowFileError,
    },
    /// A Parquet file cannot be read, is damaged, or has no labels.
    #[error("{input}")]
    Parquet {
        /// Name of the input.
        input: String,
        /// Reason.
        source: ParquetError,
    },
    /// The reader thread ended without a result.
    #[error("reader thread ended unexpectedly")]
    ReaderStopped,
    /// The progress callback stopped the run.
    #[error("interrupted")]
    Interrupted,
    /// The series cannot be assembled into blocks, or a block was refused.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
}

impl IngestError {
    /// Returns true if another input may be readable: the error comes from the bytes of one input, or from reading
    /// them.
    #[must_use]
    pub fn is_of_input(&self) -> bool {
        match self {
            Self::Open { .. }
            | Self::Read { .. }
            | Self::Compression { .. }
            | Self::UnknownFormat { .. }
            | Self::Record { .. }
            | Self::Response { .. }
            | Self::Archive { .. }
            | Self::TsdbBlock { .. } => true,
            Self::Wal { source, .. } => !matches!(source, WalError::Memory { .. }),
            Self::ArrowFile { source, .. } => !matches!(source, ArrowFileError::Copy(_)),
            Self::Parquet { source, .. } => !matches!(source, ParquetError::Copy(_)),
            Self::Thread(_) | Self::ReaderStopped | Self::Interrupted | Self::Assemble(_) => false,
        }
    }
}

/// Reason why a record is malformed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BrokenRecord {
    /// The record cannot be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError<Infallible>),
    /// The record cannot be decompressed.
    #[error("cannot decompress the zstd frame: {reason}")]
    Compression {
        /// Error of the decompressor.
        reason: String,
    },
    /// The record is longer than the limit.
    #[error("longer than {} (--max-record-size)", size(*limit))]
    TooLong {
        /// Maximum length of a record, in bytes.
        limit: u64,
    },
}
