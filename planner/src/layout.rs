//! Layouts of a block: [`Layout`].

use chronoxide_format::layout::RowForm;

/// Layout of a block. The writer chooses it; readers read all layouts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// One row of value codes per series, in fields of 0, 8, 16 or 32 bits.
    FixedWidth,
    /// One row of value codes per series, in fields of exactly the bits that are needed.
    BitPacked,
    /// Shared tables and lists as the planner chooses them, in fields of exactly the bits that are needed: the
    /// smallest.
    #[default]
    Factored,
}

impl Layout {
    /// All layouts, the smallest first.
    pub const ALL: [Self; 3] = [Self::Factored, Self::BitPacked, Self::FixedWidth];

    /// Returns the form of the rows.
    #[must_use]
    pub const fn row_form(self) -> RowForm {
        match self {
            Self::FixedWidth => RowForm::FixedWidth,
            Self::BitPacked | Self::Factored => RowForm::BitPacked,
        }
    }

    /// Returns the planner version that a block of this layout records, 0 for layouts without planning.
    #[must_use]
    pub const fn planner_version(self) -> u32 {
        match self {
            Self::Factored => crate::VERSION,
            _ => 0,
        }
    }

    /// Returns the name of the layout in commands.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FixedWidth => "fixed",
            Self::BitPacked => "bitpacked",
            Self::Factored => "factored",
        }
    }
}
