//! Errors of malformed requests.

use chronoxide_text::human::size;

use crate::protobuf::ProtoError;

/// Error of decoding a request. `E` is the error of the sink.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteWriteError<E> {
    /// The request is malformed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The sink refused a part.
    #[error(transparent)]
    Sink(E),
}

/// Reason why a request is malformed. Series count from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The body is not a snappy block.
    #[error("invalid snappy block")]
    Snappy(#[source] snap::Error),
    /// The request is longer than the limit.
    #[error("the request has {}, more than {} (--max-record-size)", size(*len as u64), size(*limit as u64))]
    TooLong {
        /// Uncompressed length that the body states.
        len: usize,
        /// Maximum length.
        limit: usize,
    },
    /// The body states a longer content than snappy can compress to it.
    #[error("{body_len} bytes of snappy cannot expand to {len} bytes")]
    Expansion {
        /// Uncompressed length that the body states.
        len: usize,
        /// Length of the body.
        body_len: usize,
    },
    /// The content is not a remote-write request.
    #[error("invalid remote-write request")]
    Message(#[source] ProtoError),
    /// The request has fields of both versions.
    #[error("the request has {v1_count} parts of version 1 and {v2_count} of version 2")]
    Mixed {
        /// Parts that version 1 alone has.
        v1_count: usize,
        /// Parts that version 2 alone has.
        v2_count: usize,
    },
    /// A part is malformed.
    #[error("{part} {number} of the request is malformed")]
    Part {
        /// Kind of the part.
        part: &'static str,
        /// Number of the part, from 0.
        number: usize,
        /// Reason.
        source: ProtoError,
    },
    /// The first symbol is not the empty string, to which unset references refer.
    #[error("symbol 0 has {len} bytes; it must be empty")]
    FirstSymbol {
        /// Length of the symbol.
        len: usize,
    },
    /// A symbol is not UTF-8.
    #[error("symbol {symbol} is not valid UTF-8 at its byte {offset}")]
    SymbolText {
        /// Number of the symbol, from 0.
        symbol: u32,
        /// Offset of the first invalid byte.
        offset: usize,
    },
    /// A series has a name without a value.
    #[error("series {series} has {count} references to names and values; the number must be even")]
    OddRefs {
        /// Number of the series.
        series: usize,
        /// Number of references.
        count: usize,
    },
    /// A series refers to a symbol that does not exist.
    #[error("series {series} refers to symbol {symbol}, but there are {symbol_count} symbols")]
    SymbolRef {
        /// Number of the series.
        series: usize,
        /// Number of the symbol.
        symbol: u32,
        /// Number of symbols.
        symbol_count: usize,
    },
}

impl RequestError {
    /// Returns true if a text is not valid UTF-8.
    pub(super) fn is_invalid_text(&self) -> bool {
        matches!(self, Self::SymbolText { .. } | Self::Part { source: ProtoError::Utf8 { .. }, .. })
    }

    /// Returns true if the body may be a truncated request: snappy needs more bytes.
    pub(crate) fn is_cut_off(&self) -> bool {
        match self {
            Self::Snappy(snap::Error::Literal { len, src_len, .. }) => len > src_len,
            Self::Snappy(snap::Error::HeaderMismatch { expected_len, got_len }) => got_len < expected_len,
            Self::Snappy(snap::Error::CopyRead { .. } | snap::Error::Empty | snap::Error::Header) => true,
            _ => false,
        }
    }
}
