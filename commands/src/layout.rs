//! The arguments `--layout` and `--format-version`.

use chronoxide_format::edition::Edition;
use clap::builder::PossibleValuesParser;

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

/// Edition of the format that outputs keep to, as an argument.
#[derive(Debug, clap::Args)]
pub(crate) struct FormatVersion {
    /// Write blocks of this version of the format, also when later releases write another one by default
    #[arg(
        long,
        value_name = "VERSION",
        value_parser = PossibleValuesParser::new(Edition::ALL.map(Edition::name)),
        default_value = Edition::default().name(),
        help_heading = "Outputs"
    )]
    // There is one edition: writers have nothing to choose yet.
    format_version: String,
}
