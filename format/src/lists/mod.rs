//! Coding of lists, common to reading and writing (spec, section 8).
//!
//! | module | contents |
//! |---|---|
//! | `coding` | `Coding`, the bits of a member and of a list, and the choice among codings |
//! | `upper` | `Upper`, the upper bits of a split list |

mod coding;
mod upper;

pub(crate) use coding::Coding;
pub use coding::ListSizes;
pub(crate) use upper::Upper;
