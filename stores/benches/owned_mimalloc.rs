//! Benchmarks owned strings and bytes under mimalloc; see `owned/mod.rs`.

mod owned;

use criterion::{Criterion, criterion_group, criterion_main};
use mimalloc::MiMalloc;

#[global_allocator]
static GLOBAL: MiMalloc = MiMalloc;

fn benches(criterion: &mut Criterion) {
    owned::benches("mimalloc", || None, criterion);
}

criterion_group!(all, benches);
criterion_main!(all);
