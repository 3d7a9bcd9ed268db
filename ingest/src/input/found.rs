//! Results of reading a record: [`Found`].

/// Result of reading at the position of a record. The buffer of the reader holds the bytes of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A record that its delimiter or its length ends.
    Whole,
    /// A record that the end of the input ends, which may be cut off.
    Unterminated,
    /// Start of a record that is known to be cut off.
    Torn {
        /// Bytes that are there.
        len: u64,
        /// Length of the record, if its length prefix was read.
        expected: Option<u64>,
    },
    /// A record that is longer than the limit. It was skipped.
    TooLong,
    /// A record that cannot be decompressed. The buffer holds the reason.
    Damaged,
    /// A line of white space.
    Blank,
    /// End of the input.
    End,
}
