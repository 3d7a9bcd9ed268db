//! How a block's rows are laid out.

use chronoxide_format::layout::RowForm;

/// The layout of a block: what is chosen when it is written, and what any reader reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// A row of value codes per series, in fields of 0, 8, 16 or 32 bits.
    FixedWidth,
    /// The same in fields of exactly the bits that they need.
    BitPacked,
    /// Shared tables and lists, as the planner chooses them, in fields of exactly the bits that they need: the smallest.
    #[default]
    Factored,
}

impl Layout {
    /// All layouts, the smallest first.
    pub const ALL: [Self; 3] = [Self::Factored, Self::BitPacked, Self::FixedWidth];

    /// The form of the rows.
    #[must_use]
    pub const fn row_form(self) -> RowForm {
        match self {
            Self::FixedWidth => RowForm::FixedWidth,
            Self::BitPacked | Self::Factored => RowForm::BitPacked,
        }
    }

    /// The version of the planner that a block of this layout records; 0 for none.
    #[must_use]
    pub const fn planner_version(self) -> u32 {
        match self {
            Self::Factored => crate::VERSION,
            _ => 0,
        }
    }

    /// The name of the layout, as commands have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FixedWidth => "fixed",
            Self::BitPacked => "bitpacked",
            Self::Factored => "factored",
        }
    }
}
