//! Errors of the bytes of a remap.

use std::fmt;

use super::RemapRule;
use super::layout::{REMAP_MAJOR, REMAP_MINOR};

/// Rejection of a remap, or of a part of it.
///
/// It takes one word, as [`Error`](crate::Error) of blocks does, so that the field of each read is returned in
/// registers. [`RemapError::kind`] holds the reason, which is boxed in cold code when a read fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemapError(Box<RemapErrorKind>);

/// Reason why a remap, or a part of it, is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RemapErrorKind {
    /// The bytes do not begin as a remap does.
    #[error("not a Chronoxide remap: the magic bytes are missing")]
    NotARemap,
    /// The remap has another version than this reader.
    #[error("unsupported remap format version {major}.{minor}: this program reads {REMAP_MAJOR}.{REMAP_MINOR}")]
    UnsupportedVersion { major: u16, minor: u16 },
    /// The remap needs features that this reader does not have.
    #[error("unsupported remap features: unknown incompat bits {bits:#x}")]
    UnsupportedFeatures { bits: u32 },
    /// The remap breaks a rule of its spec.
    #[error("corrupt remap: {place}: {}(rule {}: {rule})", Values(*found, *expected), rule.id())]
    Corrupt {
        rule: RemapRule,
        place: RemapPlace,
        /// Value that was found, if the rule is about a number.
        found: Option<u64>,
        /// Value or bound that the rule requires, if it is about a number.
        expected: Option<u64>,
    },
}

impl RemapError {
    /// Returns the reason.
    #[must_use]
    pub const fn kind(&self) -> &RemapErrorKind {
        &self.0
    }

    /// Returns the rule that the remap breaks.
    #[must_use]
    pub const fn rule(&self) -> RemapRule {
        match self.kind() {
            RemapErrorKind::NotARemap => RemapRule::Magic,
            RemapErrorKind::UnsupportedVersion { .. } => RemapRule::Version,
            RemapErrorKind::UnsupportedFeatures { .. } => RemapRule::IncompatFeatures,
            RemapErrorKind::Corrupt { rule, .. } => *rule,
        }
    }
}

impl From<RemapErrorKind> for RemapError {
    #[cold]
    fn from(kind: RemapErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

impl fmt::Display for RemapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

impl std::error::Error for RemapError {}

/// The place of a corruption in a remap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemapPlace {
    /// A byte of the file.
    Byte(u64),
    /// A chunk of the file.
    Chunk(u64),
    /// An output, by number.
    Output(u64),
    /// A group record, by number.
    Group(u64),
    /// A keyset record, by number.
    Keyset(u64),
    /// A row of a keyset.
    Row(u64, u64),
    /// A part record, by number.
    Part(u64),
    /// A pattern, by number.
    Pattern(u64),
    /// A run, by number.
    Run(u64),
}

impl fmt::Display for RemapPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(n) => write!(f, "byte {n}"),
            Self::Chunk(n) => write!(f, "chunk {n}"),
            Self::Output(n) => write!(f, "output {n}"),
            Self::Group(n) => write!(f, "group {n}"),
            Self::Keyset(n) => write!(f, "keyset {n}"),
            Self::Row(keyset, row) => write!(f, "keyset {keyset}, row {row}"),
            Self::Part(n) => write!(f, "part {n}"),
            Self::Pattern(n) => write!(f, "pattern {n}"),
            Self::Run(n) => write!(f, "run {n}"),
        }
    }
}

/// The numbers of a violation, followed by a space; empty without numbers.
struct Values(Option<u64>, Option<u64>);

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(Some(found), Some(expected)) => write!(f, "found {found}, expected {expected} "),
            _ => Ok(()),
        }
    }
}

/// Returns the error of a rule that is about a number.
#[cold]
#[inline(never)]
pub(super) fn corrupt(rule: RemapRule, place: RemapPlace, found: u64, expected: u64) -> RemapError {
    RemapErrorKind::Corrupt { rule, place, found: Some(found), expected: Some(expected) }.into()
}

/// Returns the error of a rule that is about a number if it is broken.
#[inline]
pub(super) fn refuse_if(
    is_broken: bool,
    rule: RemapRule,
    place: RemapPlace,
    found: u64,
    expected: u64,
) -> Result<(), RemapError> {
    if is_broken { Err(corrupt(rule, place, found, expected)) } else { Ok(()) }
}

/// Returns the error of a rule that is not about a number, such as an order.
#[cold]
#[inline(never)]
pub(super) fn corrupt_at(rule: RemapRule, place: RemapPlace) -> RemapError {
    RemapErrorKind::Corrupt { rule, place, found: None, expected: None }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_takes_one_word_and_a_field_beside_it_another() {
        assert_eq!(size_of::<Option<RemapError>>(), size_of::<usize>());
        assert!(size_of::<Result<u64, RemapError>>() <= 16);
    }
}
