//! The packed arena of an archive block: the symbols' bytes as one zstd frame (spec, section 6).
//!
//! | module | contents |
//! |---|---|
//! | `arena` | [`PackedArena`]: length and decoding |
//! | `frame` | the form of the frame: features, window, blocks |
//! | `decode` | from the frame to the arena |
//! | `encode` | from an arena to the section |
//! | `unsupported` | both without the feature `archive`: errors |

mod arena;
#[cfg(feature = "archive")]
mod decode;
#[cfg(feature = "archive")]
mod encode;
mod frame;
#[cfg(any(test, not(feature = "archive")))]
mod unsupported;

pub use arena::PackedArena;
#[cfg(feature = "archive")]
use decode::decode;
#[cfg(feature = "archive")]
pub(crate) use encode::encode;
#[cfg(not(feature = "archive"))]
use unsupported::decode;
#[cfg(not(feature = "archive"))]
pub(crate) use unsupported::encode;
