//! Benchmarks owned strings and bytes under the system's allocator; see `owned/mod.rs`.

mod owned;

use criterion::{Criterion, criterion_group, criterion_main};

const ALLOCATOR: &str = "system";

fn benches(criterion: &mut Criterion) {
    owned::cloning(ALLOCATOR, || None, criterion);
    owned::constructing(ALLOCATOR, criterion);
    owned::merging(ALLOCATOR, criterion);
}

criterion_group!(all, benches);
criterion_main!(all);
