//! Text output of the command.

pub(crate) mod cardinality;
pub(crate) mod difference;
pub(crate) mod folder;
mod list;
pub(crate) mod plan;
pub(crate) mod remap;
pub(crate) mod shares;
pub(crate) mod summary;
pub(crate) mod tables;
pub(crate) mod usage;

use list::List;

/// Maximum items of a list in a line on a terminal. Pipes and files get all of them.
const MAX_ON_TERMINAL: usize = 8;

/// Returns the maximum number of items of a list in a line.
pub(crate) const fn most(is_terminal: bool) -> usize {
    if is_terminal { MAX_ON_TERMINAL } else { usize::MAX }
}
