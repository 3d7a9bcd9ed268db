//! Errors of malformed lines.

/// Error of decoding a line. `E` is the error of the sink.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError<E> {
    /// The line is malformed. Nothing of it went to the sink.
    #[error(transparent)]
    Line(LineError),
    /// The sink did not take a part of it.
    #[error(transparent)]
    Sink(E),
}

/// Reason why a line is malformed. Offsets count bytes from the start of the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// Something else stands where the format asks for this.
    #[error("at byte {offset} of the line: expected {expected}, found {found}")]
    Expected {
        /// Position of the expected part.
        offset: usize,
        /// Expected part.
        expected: &'static str,
        /// Start of the rest of the line in quotes, or its end.
        found: String,
    },
    /// A name, a label value or a text is not UTF-8.
    #[error("at byte {offset} of the line: not valid UTF-8")]
    Utf8 {
        /// The first byte that is not.
        offset: usize,
    },
    /// A label stands twice, or `__name__` stands beside the name of the metric.
    #[error("at byte {offset} of the line: duplicate label {name:?}")]
    DuplicateLabel {
        /// Start of the second name.
        offset: usize,
        /// The name, cut if it is long.
        name: String,
    },
    /// A line after `# EOF`.
    #[error("unexpected line after # EOF")]
    AfterEnd,
}
