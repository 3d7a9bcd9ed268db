//! Benchmarks owned strings and bytes under the system's allocator; see `owned/mod.rs`.

mod owned;

use criterion::{Criterion, criterion_group, criterion_main};

fn benches(criterion: &mut Criterion) {
    owned::benches("system", || None, criterion);
}

criterion_group!(all, benches);
criterion_main!(all);
