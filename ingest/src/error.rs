//! What can go wrong between a capture and a block.

use crate::assemble::AssembleError;
use crate::prometheus::proto::{ExpositionError, FamilyError};
use crate::prometheus::remote_write::{RemoteWriteError, RequestError};
use crate::prometheus::text::{LineError, TextError};
use crate::prometheus::tsdb::TsdbBlockError;
use crate::prometheus::wal::WalError;
use crate::protobuf::ProtoError;
use std::convert::Infallible;
use std::io;
use std::str::Utf8Error;

/// Why a record was not taken. `E` is what the sink says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError<E> {
    /// The record is not UTF-8, so it is no JSON.
    #[error("not UTF-8")]
    Utf8(#[from] Utf8Error),
    /// The record is no protobuf, or not the message that was expected.
    #[error(transparent)]
    Proto(#[from] ProtoError),
    /// The line is no exposition text.
    #[error(transparent)]
    Text(LineError),
    /// The record is no request of remote write.
    #[error(transparent)]
    RemoteWrite(RequestError),
    /// The record is not a metric family as protobuf.
    #[error(transparent)]
    Family(FamilyError),
    /// The record is no JSON, or not the JSON that was expected.
    #[error(transparent)]
    Json(serde_json::Error),
    /// The sink did not take a part of it.
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

impl<E> From<ExpositionError<E>> for DecodeError<E> {
    fn from(error: ExpositionError<E>) -> Self {
        match error {
            ExpositionError::Family(error) => Self::Family(error),
            ExpositionError::Sink(error) => Self::Sink(error),
        }
    }
}

impl<E> DecodeError<E> {
    /// What is wrong with the record, or what the sink says.
    pub(crate) fn split(self) -> Result<DecodeError<Infallible>, E> {
        Ok(match self {
            Self::Utf8(error) => DecodeError::Utf8(error),
            Self::Proto(error) => DecodeError::Proto(error),
            Self::Text(error) => DecodeError::Text(error),
            Self::RemoteWrite(error) => DecodeError::RemoteWrite(error),
            Self::Family(error) => DecodeError::Family(error),
            Self::Json(error) => DecodeError::Json(error),
            Self::Sink(error) => return Err(error),
        })
    }
}

/// Why a run stopped. Blocks that were given away before that stay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IngestError {
    /// An input cannot be opened.
    #[error("{input}: cannot open")]
    Open {
        /// The input's name.
        input: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// An input cannot be read.
    #[error("{input}: cannot read after byte {offset}")]
    Read {
        /// The input's name.
        input: String,
        /// Bytes that were read, after decompression.
        offset: u64,
        /// What the operating system says.
        source: io::Error,
    },
    /// A compressed input is damaged.
    #[error("{input}: damaged {compression} stream, after byte {offset} of its content")]
    Compression {
        /// The input's name.
        input: String,
        /// What compressed it.
        compression: &'static str,
        /// Bytes that were read, after decompression.
        offset: u64,
        /// What the decompressor says.
        source: io::Error,
    },
    /// The input's first bytes are of no format that is known.
    #[error("{input}: {found}; --help says what can be read, and --format which of it, if this is some of it")]
    UnknownFormat {
        /// The input's name.
        input: String,
        /// What it looks like.
        found: &'static str,
    },
    /// A record is broken.
    #[error("{input}: record {number}, at byte {offset}, is broken")]
    Record {
        /// The input's name.
        input: String,
        /// Which record of the input, from 1.
        number: u64,
        /// Where it starts, after decompression.
        offset: u64,
        /// What is wrong.
        source: BrokenRecord,
    },
    /// What stands around the series of a response of Prometheus's API is not what it should be.
    #[error("{input}: no response of the series API, at byte {offset}: {reason}")]
    Response {
        /// The input's name.
        input: String,
        /// Where the mistake is, after decompression.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// A block of Prometheus's TSDB cannot be read or is damaged.
    #[error("{input}")]
    TsdbBlock {
        /// Its folder.
        input: String,
        /// What is wrong.
        source: TsdbBlockError,
    },
    /// The thread that reads cannot be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// The head of a TSDB of Prometheus cannot be read, is damaged, or does not fit into memory.
    #[error("{input}")]
    Wal {
        /// The folder of its write-ahead log.
        input: String,
        /// What is wrong.
        source: WalError,
    },
    /// The thread that reads is gone.
    #[error("reading stopped without saying why")]
    ReaderStopped,
    /// Somebody stopped the run.
    #[error("interrupted")]
    Interrupted,
    /// The series cannot be collected, or a block is not taken.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
}

/// What is wrong with a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BrokenRecord {
    /// It cannot be read.
    #[error(transparent)]
    Decode(#[from] DecodeError<Infallible>),
    /// It cannot be decompressed.
    #[error("a zstd frame that cannot be decompressed: {reason}")]
    Compression {
        /// What the decompressor says.
        reason: String,
    },
    /// It has more bytes than a record may have.
    #[error("more than {limit} bytes (--max-record-size)")]
    TooLong {
        /// The most bytes that a record may have.
        limit: u64,
    },
}
