//! What can be wrong with a line.

/// Why a line was not taken. `E` is what the sink says.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError<E> {
    /// The line is broken. Nothing of it went to the sink.
    #[error(transparent)]
    Line(LineError),
    /// The sink did not take a part of it.
    #[error(transparent)]
    Sink(E),
}

/// What is wrong with a line. Offsets count bytes from the start of the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// Something else stands where the format asks for this.
    #[error("at byte {offset} of the line: expected {expected}, found {found}")]
    Expected {
        /// Where it should be.
        offset: usize,
        /// What should be there.
        expected: &'static str,
        /// What is there: a short piece of the line in quotes, or that it ends.
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
        /// Where the name of the second one starts.
        offset: usize,
        /// The name, cut if it is long.
        name: String,
    },
    /// The timestamp is not within the 64-bit nanoseconds around 1970.
    #[error("at byte {offset} of the line: the timestamp {text} is not between the years 1677 and 2262")]
    TimestampRange {
        /// Where it starts.
        offset: usize,
        /// What is written, cut if it is long.
        text: String,
    },
    /// A value in braces, as OpenMetrics 2 has for histograms and summaries.
    #[error("at byte {offset} of the line: values in braces (OpenMetrics 2) are not supported")]
    CompositeValue {
        /// Where it starts.
        offset: usize,
    },
    /// A line after `# EOF`.
    #[error("unexpected line after # EOF")]
    AfterEnd,
}
