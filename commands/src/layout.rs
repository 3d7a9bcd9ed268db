//! The argument `--layout`.

/// Layout of a block, as an argument: `--layout factored|bitpacked|fixed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Layout {
    /// Values that many series share are stored once: the smallest
    Factored,
    /// One row per series, in fields of exactly the bits that are needed
    Bitpacked,
    /// One row per series, in fields of 0, 8, 16 or 32 bits
    Fixed,
}

impl From<Layout> for chronoxide_planner::Layout {
    fn from(layout: Layout) -> Self {
        match layout {
            Layout::Factored => Self::Factored,
            Layout::Bitpacked => Self::BitPacked,
            Layout::Fixed => Self::FixedWidth,
        }
    }
}
