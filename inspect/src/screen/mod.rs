//! What the command shows, as a person reads it.

mod list;
pub(crate) mod plan;
pub(crate) mod remap;
pub(crate) mod summary;
pub(crate) mod tables;

use list::List;

/// How many names, columns and the like of one thing a line shows on a terminal. Into a pipe or a file it goes whole.
const MAX_ON_TERMINAL: usize = 8;

/// Returns the most items of a list in a line.
pub(crate) const fn most(is_terminal: bool) -> usize {
    if is_terminal { MAX_ON_TERMINAL } else { usize::MAX }
}
