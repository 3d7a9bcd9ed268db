//! What can be wrong with a labelset, and which counts can run out.

use std::fmt;

/// Why a labelset, a label or a string was not taken. A store that returns an error is unchanged but
/// for strings and labels that it may have interned on the way; they reach no block.
///
/// Positions count from 0 in the labelset as it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// A labelset without labels. A block cannot hold it, since a table has columns.
    #[error("a series needs at least one label")]
    NoLabels,
    /// More labels than a series may have.
    #[error("a series may have {} labels, this one has {count}", crate::MAX_LABELS)]
    TooManyLabels {
        /// Labels of the series.
        count: usize,
    },
    /// A label whose name is the empty string.
    #[error("label {position} has no name")]
    EmptyName {
        /// Which label.
        position: usize,
    },
    /// A label whose value is the empty string: an empty value is no label, so leave it out.
    #[error("label {position} has an empty value, which is no label")]
    EmptyValue {
        /// Which label.
        position: usize,
    },
    /// A name that the format cannot hold.
    #[error("the name of label {position} has {len} bytes, names have at most {}", crate::MAX_SYMBOL_LEN)]
    NameTooLong {
        /// Which label.
        position: usize,
        /// Bytes of the name.
        len: usize,
    },
    /// A value that the format cannot hold.
    #[error("the value of label {position} has {len} bytes, values have at most {}", crate::MAX_SYMBOL_LEN)]
    ValueTooLong {
        /// Which label.
        position: usize,
        /// Bytes of the value.
        len: usize,
    },
    /// A name that comes before the one to its left in byte order.
    #[error("label {position} comes before its predecessor in the byte order of names")]
    NotSorted {
        /// Which label.
        position: usize,
    },
    /// The same name twice in one labelset.
    #[error("label {position} has a name that the labelset has already")]
    DuplicateName {
        /// Which label is the second of that name.
        position: usize,
    },
    /// A ref, key or label that this store never gave out.
    #[error("this store never gave out {what} {number}")]
    Unknown {
        /// What the number was said to be.
        what: Counted,
        /// The number.
        number: u32,
    },
    /// One more than there are numbers for.
    #[error("there can be no more than 4294967295 {what}s in one store: seal it and go on with another")]
    Full {
        /// What there are too many of.
        what: Counted,
    },
}

/// The things that a store numbers with 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Counted {
    /// Distinct strings.
    Symbol,
    /// Distinct label names.
    Key,
    /// Distinct values of one label name.
    Value,
    /// Distinct lists of label names.
    Keyset,
    /// Distinct labelsets.
    Series,
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Symbol => "symbol",
            Self::Key => "key",
            Self::Value => "value code",
            Self::Keyset => "keyset",
            Self::Series => "series ref",
        })
    }
}

impl Counted {
    /// The number of the next thing where there are `count`.
    pub(crate) fn next(self, count: usize) -> Result<u32, LabelError> {
        // The largest number stays free: there are at most 2^32 - 1 things (spec section 2).
        u32::try_from(count).ok().filter(|&number| number < u32::MAX).ok_or(LabelError::Full { what: self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_is_two_below_the_power() {
        assert_eq!(Counted::Series.next(0), Ok(0));
        assert_eq!(Counted::Series.next(4_294_967_294), Ok(4_294_967_294));
        for count in [4_294_967_295, 4_294_967_296, usize::MAX] {
            assert_eq!(Counted::Symbol.next(count), Err(LabelError::Full { what: Counted::Symbol }));
        }
    }

    #[test]
    fn messages_say_what_to_do() {
        let full = LabelError::Full { what: Counted::Symbol };
        assert_eq!(
            full.to_string(),
            "there can be no more than 4294967295 symbols in one store: seal it and go on with another"
        );
        let long = LabelError::NameTooLong { position: 3, len: 70_000 };
        assert_eq!(long.to_string(), "the name of label 3 has 70000 bytes, names have at most 65535");
    }
}
