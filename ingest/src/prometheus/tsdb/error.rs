//! Errors of a block.

use std::io;
use std::path::PathBuf;

use crate::prometheus::chunk_lists::ChunkListError;

/// Error of reading a series. `E` is the error of the sink.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TsdbError<E> {
    /// The block cannot be read, or is damaged.
    #[error(transparent)]
    Block(#[from] TsdbBlockError),
    /// The sink did not take a part.
    #[error(transparent)]
    Sink(E),
}

/// Reason why a block cannot be read. Offsets count from the start of its index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TsdbBlockError {
    /// A file of the block cannot be opened.
    #[error("{}: cannot open", path.display())]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file that each block has is missing.
    #[error("damaged block: it has no {name}")]
    Missing {
        /// Name of the file.
        name: &'static str,
    },
    /// `meta.json` is malformed.
    #[error("damaged block: meta.json is not valid")]
    Meta(#[source] serde_json::Error),
    /// `meta.json` has an unsupported version.
    #[error("meta.json: unsupported block version {version}; only 1 is supported")]
    MetaVersion {
        /// Version of the file.
        version: u64,
    },
    /// The external labels in `meta.json` cannot be stored.
    #[error("damaged block: meta.json has external labels that cannot be stored: {reason}")]
    ExternalLabels {
        /// Reason.
        reason: &'static str,
    },
    /// The file of deletions is damaged.
    #[error("byte {offset} of the tombstones: {reason} (--ignore-deletions reads the block without them)")]
    Tombstones {
        /// Position of the error.
        offset: usize,
        /// Reason.
        reason: &'static str,
    },
    /// The index cannot be read.
    #[error("cannot read the index at byte {offset}")]
    Read {
        /// Position of the error.
        offset: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The index starts with other bytes than the magic number.
    #[error("not a block index: it starts with {found:#010x} instead of 0xbaaad700")]
    Magic {
        /// First four bytes.
        found: u32,
    },
    /// The index has an unsupported version.
    #[error("unsupported index version {version}; only 1, 2 and 3 are supported")]
    Version {
        /// Version of the file.
        version: u8,
    },
    /// A stored checksum does not match the bytes.
    #[error(
        "checksum mismatch of the {part} at byte {offset} of the index: {expected:#010x} stored, {found:#010x} computed"
    )]
    Checksum {
        /// Damaged part.
        part: &'static str,
        /// Start of the part.
        offset: u64,
        /// Stored checksum.
        expected: u32,
        /// Checksum of the bytes.
        found: u32,
    },
    /// The index is malformed.
    #[error("byte {offset} of the index: {reason}")]
    Damaged {
        /// Position of the error.
        offset: u64,
        /// Reason.
        reason: &'static str,
    },
    /// The chunk list of a series is too long.
    #[error("the series at byte {offset} of the index: {source}")]
    ChunkList {
        /// Start of the series.
        offset: u64,
        /// Reason.
        source: ChunkListError,
    },
    /// The id of the block is not valid, so that nothing can refer to its chunks.
    #[error("damaged block: meta.json has {found:?} for the id, which is not a ULID; chunk lists need one")]
    Id {
        /// Id in `meta.json`, empty without metadata.
        found: String,
    },
    /// The samples of the block were aggregated by Thanos, in chunks that Prometheus does not read.
    #[error("downsampled by Thanos: there are no chunk lists of such blocks")]
    Downsampled,
    /// A series refers to a symbol that does not exist.
    #[error("the series at byte {offset} of the index refers to symbol {symbol}, which does not exist")]
    SymbolRef {
        /// Start of the series.
        offset: u64,
        /// Number of the symbol.
        symbol: u64,
    },
    /// A series refers to a symbol that is not valid UTF-8.
    #[error("the series at byte {offset} of the index refers to symbol {symbol}, which is not valid UTF-8")]
    SymbolUtf8 {
        /// Start of the series.
        offset: u64,
        /// Number of the symbol.
        symbol: u64,
    },
}

impl TsdbBlockError {
    /// Returns true if the bytes of the block are damaged, and false if it cannot be read or is not supported.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        !matches!(
            self,
            Self::Open { .. }
                | Self::Read { .. }
                | Self::Version { .. }
                | Self::MetaVersion { .. }
                | Self::Downsampled
                | Self::ChunkList { source: ChunkListError::TooLong { .. }, .. }
        )
    }
}
