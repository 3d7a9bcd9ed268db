//! Newtypes for the numbers of a block, and conversions between integer widths.

/// Widens a count or an index to `usize`.
///
/// Lossless on every target that this crate builds for: 16-bit pointers are a compile-time error.
#[inline]
#[expect(clippy::as_conversions, reason = "`usize: From<u32>` does not exist; the assertion makes the cast lossless")]
pub(crate) const fn index(n: u32) -> usize {
    const { assert!(usize::BITS >= 32, "pointers must have at least 32 bits") };
    n as usize
}

/// Widens a length to `u64`.
#[inline]
#[expect(clippy::as_conversions, reason = "`u64: From<usize>` does not exist; the assertion makes the cast lossless")]
pub(crate) const fn length(n: usize) -> u64 {
    const { assert!(usize::BITS <= 64, "pointers must have at most 64 bits") };
    n as u64
}

/// Returns the low 32 bits of `n`.
#[inline]
#[expect(clippy::as_conversions, reason = "truncation is the meaning")]
pub(crate) const fn low32(n: u64) -> u32 {
    n as u32
}

/// Returns the low 64 bits of `n`.
#[inline]
#[expect(clippy::as_conversions, reason = "truncation is the meaning")]
pub(crate) const fn low64(n: u128) -> u64 {
    n as u64
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<u32> for $name {
            fn from(number: u32) -> Self {
                Self(number)
            }
        }
    };
}

number! {
    /// A string's rank among the distinct strings of a block (spec, section 6). Ids compare as their strings do.
    SymbolId
}
number! {
    /// A label key's rank among the label names of a block; also the number of its value dictionary (spec, section 5).
    KeyId
}
number! {
    /// A table of a block (spec, section 7).
    TableId
}
number! {
    /// A list pool of a block (spec, section 8).
    PoolId
}
number! {
    /// A series of a block: dense, from 0, keyset after keyset (spec, section 9).
    SeriesRef
}
