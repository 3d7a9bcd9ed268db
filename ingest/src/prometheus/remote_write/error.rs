//! Errors of malformed requests.

use crate::protobuf::ProtoError;

/// Why a request was not taken. `E` is what the sink says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteWriteError<E> {
    /// The request is broken.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The sink did not take a part.
    #[error(transparent)]
    Sink(E),
}

/// What is wrong with a request. Series count from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The body is no snappy block.
    #[error("no snappy block")]
    Snappy(#[source] snap::Error),
    /// The request has more bytes than it may have.
    #[error("the request has {len} bytes, and at most {limit} are allowed")]
    TooLong {
        /// Bytes that the body says it expands to.
        len: usize,
        /// The most that are allowed.
        limit: usize,
    },
    /// The body says that it expands to more than snappy can expand it to.
    #[error("{body_len} bytes of snappy cannot expand to {len}")]
    Expansion {
        /// Bytes that the body says it expands to.
        len: usize,
        /// Bytes of the body.
        body_len: usize,
    },
    /// What is compressed is no request.
    #[error("no request of remote write")]
    Message(#[source] ProtoError),
    /// It has fields of both versions.
    #[error("the request has {v1_count} parts of version 1 and {v2_count} of version 2")]
    Mixed {
        /// Parts that version 1 alone has.
        v1_count: usize,
        /// Parts that version 2 alone has.
        v2_count: usize,
    },
    /// A part cannot be read.
    #[error("{part} {number} of the request is broken")]
    Part {
        /// What it should be.
        part: &'static str,
        /// Which one it is, from 0.
        number: usize,
        /// What is wrong.
        source: ProtoError,
    },
    /// The first symbol is not the empty string, which refs that nobody set refer to.
    #[error("symbol 0 has {len} bytes, and must be empty")]
    FirstSymbol {
        /// Bytes of the symbol.
        len: usize,
    },
    /// A symbol is not UTF-8.
    #[error("symbol {symbol} is not UTF-8 from its byte {offset} on")]
    SymbolText {
        /// Which symbol, from 0.
        symbol: usize,
        /// The first byte of it that is not UTF-8.
        offset: usize,
    },
    /// A series has a name without a value.
    #[error("series {series} has {count} references to names and values, which must be an even number")]
    OddRefs {
        /// Which series.
        series: usize,
        /// References that it has.
        count: usize,
    },
    /// A series refers to a symbol that is not there.
    #[error("series {series} refers to symbol {symbol} of {symbol_count}")]
    SymbolRef {
        /// Which series.
        series: usize,
        /// The reference.
        symbol: u32,
        /// Symbols that are there.
        symbol_count: usize,
    },
    /// A time is not within the 64-bit nanoseconds around 1970.
    #[error("series {series} has a point at {milliseconds} ms, which is not between the years 1677 and 2262")]
    TimeRange {
        /// Which series.
        series: usize,
        /// The time.
        milliseconds: i64,
    },
}

impl RequestError {
    /// Returns true if the body may be the beginning of a request: snappy needs more bytes than are there.
    pub(crate) fn is_cut_off(&self) -> bool {
        match self {
            Self::Snappy(snap::Error::Literal { len, src_len, .. }) => len > src_len,
            Self::Snappy(snap::Error::HeaderMismatch { expected_len, got_len }) => got_len < expected_len,
            Self::Snappy(snap::Error::CopyRead { .. } | snap::Error::Empty | snap::Error::Header) => true,
            _ => false,
        }
    }
}
