//! Benchmarks owned strings and bytes under mimalloc; see `owned/mod.rs`.

mod owned;

use criterion::{Criterion, criterion_group, criterion_main};
use mimalloc::MiMalloc;

#[global_allocator]
static GLOBAL: MiMalloc = MiMalloc;

const ALLOCATOR: &str = "mimalloc";

fn benches(criterion: &mut Criterion) {
    owned::cloning(ALLOCATOR, || None, criterion);
    owned::constructing(ALLOCATOR, criterion);
    owned::merging(ALLOCATOR, criterion);
}

criterion_group!(all, benches);
criterion_main!(all);
