//! Errors of the bytes of a block.

use std::fmt;

use crate::Rule;
use crate::layout::{MAJOR, SectionKind};

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Rejection of a block, or of a part of it.
///
/// It takes one word: each field of a block is read by a function that may fail, and a result of a field and a word is
/// returned in registers. [`Error::kind`] holds the reason, which is boxed in cold code when a read fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<ErrorKind>);

/// Reason why a block, or a part of it, is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes do not begin as a block does.
    #[error("not a Chronoxide block: the magic bytes are missing")]
    NotABlock,
    /// The block has another version than this reader.
    #[error("unsupported block format version {major}.{minor}: this program reads version {MAJOR}{}", drafts(*major))]
    UnsupportedVersion {
        /// Major version in the header.
        major: u16,
        /// Minor version in the header.
        minor: u16,
    },
    /// The block needs features that this reader does not have.
    #[error("unsupported block features: unknown incompat bits {bits:#x}")]
    UnsupportedFeatures {
        /// The unknown bits of the header's `incompat` word.
        bits: u32,
    },
    /// The block has a required section that this reader does not know.
    #[error("unsupported block: unknown required section of kind {kind}")]
    UnsupportedSection {
        /// The section's kind in the directory.
        kind: u32,
    },
    /// The strings of an archive were asked for, and this crate was built without the feature `archive`.
    #[error("unsupported block: an archive, which chronoxide-format reads only with its feature `archive`")]
    UnsupportedArchive,
    /// The block is an archive, and the view was made without the decoded content of its packed sections.
    #[error("the block is an archive: decode its packed sections before symbols and metric metadata are read")]
    PackedArena,
    /// There is no memory for the decoded content of packed sections. The block may be sound.
    #[error("out of memory: the packed content of the block has {len} bytes")]
    OutOfMemory {
        /// Length of the content in bytes.
        len: u64,
    },
    /// The block breaks a rule of the spec.
    #[error(transparent)]
    Corrupt(#[from] Corruption),
}

impl Error {
    /// Returns the reason.
    #[must_use]
    pub const fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// Returns true for a block that another version or build of this crate may read.
    #[must_use]
    pub const fn is_unsupported(&self) -> bool {
        use ErrorKind::{UnsupportedArchive, UnsupportedFeatures, UnsupportedSection, UnsupportedVersion};
        matches!(
            self.kind(),
            UnsupportedVersion { .. } | UnsupportedFeatures { .. } | UnsupportedSection { .. } | UnsupportedArchive
        )
    }

    /// Returns the error with another section than the one that its rule is about.
    pub(crate) fn in_section(mut self, section: SectionKind) -> Self {
        if let ErrorKind::Corrupt(corruption) = &mut *self.0 {
            corruption.section = Some(section);
        }
        self
    }

    /// Returns the rule that the block breaks; for content that was not decoded, the rule of its frame.
    #[must_use]
    pub const fn rule(&self) -> Rule {
        match self.kind() {
            ErrorKind::NotABlock => Rule::Magic,
            ErrorKind::UnsupportedVersion { .. } => Rule::Version,
            ErrorKind::UnsupportedFeatures { .. } => Rule::IncompatFeatures,
            ErrorKind::UnsupportedSection { .. } => Rule::SectionUnknown,
            ErrorKind::UnsupportedArchive | ErrorKind::PackedArena | ErrorKind::OutOfMemory { .. } => Rule::PackedFrame,
            ErrorKind::Corrupt(corruption) => corruption.rule,
        }
    }
}

impl From<ErrorKind> for Error {
    #[cold]
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

impl From<Corruption> for Error {
    #[cold]
    fn from(corruption: Corruption) -> Self {
        ErrorKind::Corrupt(corruption).into()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.kind().source()
    }
}

/// A broken rule, where, and the values that break it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// The rule that is broken.
    pub rule: Rule,
    /// The section in which it is broken; none for header and directory.
    pub section: Option<SectionKind>,
    /// Place in the section (or in the file, if there is no section): a byte, or the number of a record, symbol, row,
    /// ...
    pub place: Place,
    /// Value that was found, if the rule is about a number.
    pub found: Option<u64>,
    /// Value or bound that the rule requires, if it is about a number.
    pub expected: Option<u64>,
}

/// The place of a corruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A byte of the section, or of the file where no section is named.
    Byte(u64),
    /// A chunk of the file, by number.
    Chunk(u64),
    /// A symbol, by id.
    Symbol(u64),
    /// A key, by number.
    Key(u64),
    /// A table, by number.
    Table(u64),
    /// A row of a table.
    Row(u32, u32),
    /// A pool, by number.
    Pool(u64),
    /// A list of a pool.
    List(u32, u32),
    /// A keyset, by number.
    Keyset(u64),
    /// A row of the metric metadata.
    Metric(u64),
    /// A text of the metric metadata.
    MetricText(u64),
    /// A series column, by the id of its section.
    SeriesColumn(u32),
    /// A group of a series column.
    ValueGroup(u32, u32),
    /// A value of a series column, by series ref.
    Value(u32, u32),
    /// A text of a series column.
    ValueText(u32, u32),
    /// The block as a whole.
    Block,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(n) => write!(f, "byte {n}"),
            Self::Chunk(n) => write!(f, "chunk {n}"),
            Self::Symbol(n) => write!(f, "symbol {n}"),
            Self::Key(n) => write!(f, "key {n}"),
            Self::Table(n) => write!(f, "table {n}"),
            Self::Row(table, row) => write!(f, "table {table}, row {row}"),
            Self::Pool(n) => write!(f, "pool {n}"),
            Self::List(pool, list) => write!(f, "pool {pool}, list {list}"),
            Self::Keyset(n) => write!(f, "keyset {n}"),
            Self::Metric(n) => write!(f, "row {n}"),
            Self::MetricText(n) => write!(f, "text {n}"),
            Self::SeriesColumn(column) => write!(f, "column {column}"),
            Self::ValueGroup(column, group) => write!(f, "column {column}, group {group}"),
            Self::Value(column, series) => write!(f, "column {column}, series {series}"),
            Self::ValueText(column, text) => write!(f, "column {column}, text {text}"),
            Self::Block => write!(f, "the block as a whole"),
        }
    }
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "corrupt block: ")?;
        if let Some(section) = self.section {
            write!(f, "section {}, ", section.name())?;
        }
        write!(f, "{}: ", self.place)?;
        if let (Some(found), Some(expected)) = (self.found, self.expected) {
            write!(f, "found {found}, expected {expected} ")?;
        }
        write!(f, "(rule {}: {})", self.rule.id(), self.rule)
    }
}

impl std::error::Error for Corruption {}

impl Corruption {
    /// Returns a violated rule without values, in the section that the rule is about.
    #[must_use]
    pub const fn new(rule: Rule, place: Place) -> Self {
        Self { rule, section: rule.section(), place, found: None, expected: None }
    }
}

/// Returns what to do with a block of a draft.
const fn drafts(major: u16) -> &'static str {
    if major == 0 { "; version 0.1.0 of the programs exports the series of drafts" } else { "" }
}

/// Returns the error of a rule that is about a number.
#[cold]
#[inline(never)]
pub(crate) fn corrupt(rule: Rule, place: Place, found: u64, expected: u64) -> Error {
    Corruption { found: Some(found), expected: Some(expected), ..Corruption::new(rule, place) }.into()
}

/// Returns the error of a rule that is not about a number, such as an order.
#[cold]
#[inline(never)]
pub(crate) fn corrupt_at(rule: Rule, place: Place) -> Error {
    Corruption::new(rule, place).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_takes_one_word_and_a_field_beside_it_another() {
        assert_eq!(size_of::<Option<Error>>(), size_of::<usize>());
        assert!(size_of::<Result<u64>>() <= 16);
    }

    #[test]
    fn a_draft_says_what_reads_it() {
        let error = |major| Error::from(ErrorKind::UnsupportedVersion { major, minor: 6 }).to_string();
        assert!(error(0).contains("version 0.6: this program reads version 1; version 0.1.0 of the programs"));
        assert!(error(2).ends_with("version 2.6: this program reads version 1"));
    }

    #[test]
    fn errors_name_what_was_found_first() {
        let text = corrupt(Rule::TableRows, Place::Table(3), 7, 9).to_string();
        assert!(text.contains("table 3: found 7, expected 9 (rule "), "{text}");
        assert!(!corrupt_at(Rule::SymbolsUtf8, Place::Byte(1)).to_string().contains("found"));
    }
}
