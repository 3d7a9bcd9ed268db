//! Merging ten blocks through owned labels, as a program would that has no compactor.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use byteview::ByteView;
use chronoxide_compactor::{CompactOptions, Compaction};
use chronoxide_format::view::BlockView;
use criterion::{Criterion, Throughput};

use super::constructing::{OwnedBytes, block};

const BLOCKS: u32 = 10;
const SERIES: u64 = 10_000;

/// Returns the distinct labelsets of all blocks, sorted.
fn merge<T: OwnedBytes>(blocks: &[BlockView<'_>]) -> BTreeSet<Vec<(T, T)>> {
    let mut merged = BTreeSet::new();
    for view in blocks {
        for series in view.series_iter() {
            let labels = series.expect("sound").labels();
            let owned = labels.map(|label| {
                let label = label.expect("sound");
                (T::copy(label.name), T::copy(label.value))
            });
            merged.insert(owned.collect());
        }
    }
    merged
}

fn bench<T: OwnedBytes>(allocator: &str, blocks: &[BlockView<'_>], criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group(format!("merge ten blocks/{allocator}"));
    group.throughput(Throughput::Elements(u64::from(BLOCKS) * SERIES)).sample_size(10);
    group.bench_function(T::NAME, |bencher| bencher.iter(|| merge::<T>(blocks).len()));
    group.finish();
}

/// Benchmarks merging under the allocator with this name.
pub fn benches(allocator: &str, criterion: &mut Criterion) {
    let bytes: Vec<Vec<u8>> = (0..BLOCKS).map(|window| block(SERIES, window)).collect();
    let blocks: Vec<BlockView<'_>> = bytes.iter().map(|bytes| BlockView::open(bytes).expect("sound")).collect();
    let options = CompactOptions::default();
    let compact = || Compaction::new(&blocks, &options).merge_to_memory().expect("sound blocks are merged");
    assert_eq!(merge::<ByteView>(&blocks).len() as u64, compact().summary.series_out);

    bench::<ByteView>(allocator, &blocks, criterion);
    bench::<Arc<[u8]>>(allocator, &blocks, criterion);
    bench::<Bytes>(allocator, &blocks, criterion);
    let mut group = criterion.benchmark_group(format!("merge ten blocks/{allocator}"));
    group.throughput(Throughput::Elements(u64::from(BLOCKS) * SERIES)).sample_size(10);
    group.bench_function("compactor", |bencher| bencher.iter(|| compact().summary.series_out));
    group.finish();
}
