//! The packed arena of an archive block: the symbols' bytes as one zstd frame (spec, section 6).
//!
//! | module | contents |
//! |---|---|
//! | `arena` | [`PackedArena`]: length and decoding |
//! | `frame` | the form of the frame: features, window, blocks |
//! | `encode` | from an arena to the section |

mod arena;
mod encode;
mod frame;

pub use arena::PackedArena;
pub(crate) use encode::encode;
