//! Benchmarks types that own strings or bytes, under one allocator. Each allocator has a bench target of its own.

mod cloning;
mod constructing;
mod merging;

pub use cloning::benches as cloning;
pub use constructing::benches as constructing;
pub use merging::benches as merging;

/// Returns the bytes that the allocator has mapped, if it tells.
pub type Mapped = fn() -> Option<usize>;
