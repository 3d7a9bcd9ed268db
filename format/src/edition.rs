//! [`Edition`]: what the texts of a time define (`spec/COMPATIBILITY.md`).

use crate::layout::{EXPERIMENT, EXPERIMENTAL_FEATURES, PACKED_ARENA, PRIVATE, SectionKind};
use crate::view::BlockView;

/// Feature bits and kinds of sections that the texts of a time define. A reader of an edition reads files of it, and of
/// older ones, whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Edition {
    /// 1.0, November 2026.
    #[default]
    V1_0,
}

impl Edition {
    /// All editions, the oldest first.
    pub const ALL: [Self; 1] = [Self::V1_0];

    /// Returns the name, such as `1.0`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1_0 => "1.0",
        }
    }

    /// Returns the bits of incompat, ro_compat and compat that the edition defines.
    #[must_use]
    pub const fn features(self) -> [u32; 3] {
        match self {
            Self::V1_0 => [PACKED_ARENA, 0, 0],
        }
    }

    /// Returns the kinds of sections that the edition defines.
    #[must_use]
    pub const fn kinds(self) -> &'static [SectionKind] {
        match self {
            Self::V1_0 => &SectionKind::ALL,
        }
    }

    /// Returns the oldest edition that defines what a block uses, or `None` if it uses more than this crate knows.
    /// Private sections and experiments are not counted.
    #[must_use]
    pub fn needed_by(block: &BlockView<'_>) -> Option<Self> {
        let defines = |edition: &Self| {
            let kinds = block.sections().map(|section| section.kind);
            let mut kinds = kinds.filter(|kind| kind & (PRIVATE | EXPERIMENT) == 0);
            let mut features = block.features().into_iter().zip(edition.features());
            kinds.all(|kind| edition.kinds().iter().any(|defined| defined.code() == kind))
                && features.all(|(used, defined)| used & !(defined | EXPERIMENTAL_FEATURES) == 0)
        };
        Self::ALL.into_iter().find(defines)
    }
}
