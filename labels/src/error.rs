//! Errors of labelsets and stores.

use std::fmt;

/// Error of a labelset, a label or a string. A store that returns an error is unchanged, except for strings and labels
/// that it may have interned before; they do not reach a block.
///
/// Positions count from 0 in the given labelset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// The labelset is empty. A block cannot store it, because a table has at least one column.
    #[error("a series needs at least one label")]
    NoLabels,
    /// The labelset has too many labels.
    #[error("a series has {count} labels; the limit is {}", crate::MAX_LABELS)]
    TooManyLabels {
        /// Number of labels.
        count: usize,
    },
    /// A label name is empty.
    #[error("label {position} has no name")]
    EmptyName {
        /// Position of the label.
        position: usize,
    },
    /// A label value is empty, which means that the label does not exist.
    #[error("label {position} has an empty value; leave the label out instead")]
    EmptyValue {
        /// Position of the label.
        position: usize,
    },
    /// A label name is longer than the format allows.
    #[error("the name of label {position} has {len} bytes; the limit is {}", crate::MAX_SYMBOL_LEN)]
    NameTooLong {
        /// Position of the label.
        position: usize,
        /// Length of the name, in bytes.
        len: usize,
    },
    /// A label value is longer than the format allows.
    #[error("the value of label {position} has {len} bytes; the limit is {}", crate::MAX_SYMBOL_LEN)]
    ValueTooLong {
        /// Position of the label.
        position: usize,
        /// Length of the value, in bytes.
        len: usize,
    },
    /// Label names are not sorted in byte order.
    #[error("label {position} is not sorted: its name must come after the name before it, in byte order")]
    NotSorted {
        /// Position of the label.
        position: usize,
    },
    /// Two labels have the same name.
    #[error("label {position} has the same name as the label before it")]
    DuplicateName {
        /// Position of the second label.
        position: usize,
    },
    /// A ref, key or label was not issued by this store.
    #[error("unknown {what} {number}: it was not issued by this store")]
    Unknown {
        /// Kind of the number.
        what: Counted,
        /// Number in question.
        number: u32,
    },
    /// A string is longer than the symbol table allows.
    #[error("a symbol of {len} bytes is too long for this table; the limit is {limit}")]
    SymbolTooLong {
        /// Length of the string in bytes.
        len: usize,
        /// Longest string in bytes.
        limit: usize,
    },
    /// The strings of a symbol table have as many bytes as it can address.
    #[error("symbol table is full: its strings have at most {limit} bytes; seal the store and start another")]
    ArenaFull {
        /// Largest number of bytes.
        limit: usize,
    },
    /// The store has no free numbers of this kind.
    #[error("store is full: at most 4,294,967,295 {what}s; seal it and start another")]
    Full {
        /// Kind of the number.
        what: Counted,
    },
}

/// Kinds of items that a store numbers with 32 bits.
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
    /// Returns the number of the item after `count` items.
    ///
    /// # Errors
    ///
    /// [`LabelError::Full`] if there are 2^32 - 1 items.
    pub fn next(self, count: usize) -> Result<u32, LabelError> {
        // The largest number stays free: there are at most 2^32 - 1 items (spec section 2).
        u32::try_from(count).ok().filter(|&number| number < self.limit()).ok_or(LabelError::Full { what: self })
    }

    #[cfg(not(test))]
    const fn limit(self) -> u32 {
        u32::MAX
    }

    /// Returns the limit, which a test can lower: no test can insert 2^32 series.
    #[cfg(test)]
    fn limit(self) -> u32 {
        tests::LOWERED.get().filter(|&(what, _)| what == self).map_or(u32::MAX, |(_, limit)| limit)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{KeysetStore, LabelSetStore, LabelSets, StoreRef};

    thread_local! {
        /// A kind with a lower limit than 2^32 - 1.
        pub(super) static LOWERED: Cell<Option<(Counted, u32)>> = const { Cell::new(None) };
    }

    /// A full store refuses what is new, has what it had, and takes what needs no number of the kind.
    #[test]
    fn a_full_store_is_an_error_and_keeps_its_series() {
        let first = [("a", "1"), ("b", "1")];
        // A series that needs one more of the kind than fits, and one that does not.
        type Labels<'l> = &'l [(&'l str, &'l str)];
        let cases: [(Counted, u32, Labels<'_>, Labels<'_>); 5] = [
            (Counted::Symbol, 3, &[("a", "2")], &[("b", "1")]),
            (Counted::Key, 2, &[("c", "1")], &[("b", "1")]),
            (Counted::Value, 1, &[("a", "2")], &[("b", "1")]),
            (Counted::Keyset, 1, &[("a", "1")], &[("a", "1"), ("b", "2")]),
            (Counted::Series, 1, &[("a", "1"), ("b", "2")], &first),
        ];
        for (what, limit, refused, accepted) in cases {
            let mut store = KeysetStore::new();
            store.insert(&first).expect("nothing is full");
            LOWERED.set(Some((what, limit)));
            assert_eq!(store.insert(refused), Err(LabelError::Full { what }));
            assert_eq!(store.len(), 1, "{what}");
            let (series, _) = store.insert(accepted).expect("needs no number of this kind");
            assert_eq!(store.insert(accepted), Ok((series, false)), "{what}");
            assert_eq!(store.insert(&first), Ok((StoreRef(0), false)), "{what}");
            LOWERED.set(None);
            let count = store.len() as u32;
            assert_eq!(store.insert(refused), Ok((StoreRef(count), true)), "{what}");
        }
    }

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
        assert_eq!(full.to_string(), "store is full: at most 4,294,967,295 symbols; seal it and start another");
        let long = LabelError::NameTooLong { position: 3, len: 70_000 };
        assert_eq!(long.to_string(), "the name of label 3 has 70000 bytes; the limit is 65535");
    }
}
