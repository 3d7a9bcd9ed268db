//! Fuzz targets that read blocks and remaps, and what other targets build on.
//!
//! A target is a function from bytes, which panics where a promise is broken. Targets are libraries and not in `fuzz/`,
//! so that the corpus runs again in ordinary tests, without a fuzzer and its toolchain. `testdata/fuzz-targets` lists
//! all targets.
//!
//! | module | contents |
//! |---|---|
//! | `block` | blocks: any bytes, mutated goldens with right checksums |
//! | `extremes` | every public function of a view, called with any numbers |
//! | [`mutation`] | goldens changed as a program of bytes says |
//! | [`program`] | bytes read as choices and numbers |
//! | [`rebuild`] | blocks built anew from what is read from them |
//! | `remap` | remaps: any bytes, and built ones that are changed, with right checksums |
//! | [`sound`] | what must hold for a block that verifies |

mod block;
mod extremes;
pub mod mutation;
pub mod program;
pub mod rebuild;
mod remap;
pub mod sound;

pub use block::{block_open, block_repaired, mutated_block};
pub use extremes::{CALLS, call_block, call_remap, extremes};
pub use remap::remap;
