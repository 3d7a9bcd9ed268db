//! What can be wrong with a block.

use std::io;
use std::path::PathBuf;

/// Why a series was not given. `E` is what the sink says.
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

/// What is wrong with a block. Offsets count from the start of its index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TsdbBlockError {
    /// A file of the block cannot be opened.
    #[error("{}: cannot open", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// `meta.json` is not what it should be.
    #[error("{}: no description of a block", path.display())]
    Meta {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// `meta.json` has another version.
    #[error("{}: version {version} of blocks, and only 1 is known", path.display())]
    MetaVersion {
        /// The file.
        path: PathBuf,
        /// The version that it has.
        version: u64,
    },
    /// The index cannot be read.
    #[error("cannot read the index at byte {offset}")]
    Read {
        /// Where reading failed.
        offset: u64,
        /// What the operating system says.
        source: io::Error,
    },
    /// The index starts with other bytes than an index does.
    #[error("no index of a block: it starts with {found:#010x}, not with 0xbaaad700")]
    Magic {
        /// The first four bytes.
        found: u32,
    },
    /// The index has a version that is not known.
    #[error("version {version} of the index, and only 1, 2 and 3 are known")]
    Version {
        /// The version that it has.
        version: u8,
    },
    /// A checksum is not that of the bytes.
    #[error("the {part} at byte {offset} of the index has the checksum {found:#010x}, and {expected:#010x} is written")]
    Checksum {
        /// What is damaged.
        part: &'static str,
        /// Where it starts.
        offset: u64,
        /// The checksum that is written.
        expected: u32,
        /// The checksum of the bytes.
        found: u32,
    },
    /// Something is not where or what it should be.
    #[error("byte {offset} of the index: {reason}")]
    Damaged {
        /// Where it is.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// A series refers to a symbol that is not there.
    #[error("the series at byte {offset} of the index refers to symbol {symbol}, which is not there")]
    SymbolRef {
        /// Where the series starts.
        offset: u64,
        /// The reference.
        symbol: u64,
    },
    /// A time is not within the 64-bit nanoseconds around 1970.
    #[error(
        "the series at byte {offset} of the index has a chunk at {milliseconds} ms, which is not between the years 1677 \
         and 2262"
    )]
    TimeRange {
        /// Where the series starts.
        offset: u64,
        /// The time.
        milliseconds: i64,
    },
}
