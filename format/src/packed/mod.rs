//! The packed sections of an archive: the symbols' bytes and the metric metadata, a zstd frame each (ARCHIVE.md).
//!
//! | module | contents |
//! |---|---|
//! | `section` | [`Packed`]: lengths and decoding |
//! | `frame` | the form of the frame: features, window, blocks |
//! | `decode` | from a frame to its content |
//! | `encode` | from content to a section |
//! | `unsupported` | both without the feature `archive`: errors |

#[cfg(feature = "archive")]
mod decode;
#[cfg(feature = "archive")]
mod encode;
mod frame;
mod section;
#[cfg(any(test, not(feature = "archive")))]
mod unsupported;

#[cfg(feature = "archive")]
use decode::decode;
#[cfg(feature = "archive")]
pub(crate) use encode::encode;
pub use section::Packed;
#[cfg(not(feature = "archive"))]
use unsupported::decode;
#[cfg(not(feature = "archive"))]
pub(crate) use unsupported::encode;
