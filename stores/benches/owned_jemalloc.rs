//! Benchmarks owned strings and bytes under jemalloc; see `owned/mod.rs`.

mod owned;

use criterion::{Criterion, criterion_group, criterion_main};
use tikv_jemalloc_ctl::{epoch, stats};
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static GLOBAL: Jemalloc = Jemalloc;

/// Returns jemalloc's `stats.mapped`: bytes in active extents.
fn mapped() -> Option<usize> {
    // Statistics are cached until the epoch advances.
    epoch::advance().ok()?;
    stats::mapped::read().ok()
}

fn benches(criterion: &mut Criterion) {
    owned::benches("jemalloc", mapped, criterion);
}

criterion_group!(all, benches);
criterion_main!(all);
