//! Benchmarks types that own strings or bytes, under one allocator. Each allocator has a bench target of its own.

mod cloning;
mod constructing;
mod merging;

use criterion::Criterion;

/// Returns the bytes that the allocator has mapped, if it tells.
type Mapped = fn() -> Option<usize>;

/// Runs all benchmarks under the allocator with this name.
pub fn benches(allocator: &str, mapped: Mapped, criterion: &mut Criterion) {
    cloning::benches(allocator, mapped, criterion);
    constructing::benches(allocator, criterion);
    merging::benches(allocator, criterion);
}
