//! Making owned bytes: from a reader, from a slice of a large value, and from the symbols of a block.

use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use byteview::ByteView;
use chronoxide_format::SymbolId;
use chronoxide_format::view::BlockView;
use chronoxide_labels::{KeysetStore, LabelSetStore, Layout};
use chronoxide_workload::{Options, Workload, visit_labelsets};
use criterion::{Criterion, Throughput};

/// Bytes that are read, in pieces.
const READ: usize = 1 << 20;

/// Immutable bytes that own their memory.
pub trait OwnedBytes: AsRef<[u8]> + Clone + Ord {
    const NAME: &'static str;

    fn copy(bytes: &[u8]) -> Self;

    fn read(reader: &mut &[u8], len: usize) -> Self;

    /// Returns a part; shares the memory if the type can.
    fn slice(&self, start: usize, end: usize) -> Self;
}

impl OwnedBytes for ByteView {
    const NAME: &'static str = "ByteView";

    fn copy(bytes: &[u8]) -> Self {
        Self::new(bytes)
    }

    fn read(reader: &mut &[u8], len: usize) -> Self {
        Self::from_reader(reader, len).expect("enough bytes")
    }

    fn slice(&self, start: usize, end: usize) -> Self {
        ByteView::slice(self, start..end)
    }
}

impl OwnedBytes for Arc<[u8]> {
    const NAME: &'static str = "Arc<[u8]>";

    fn copy(bytes: &[u8]) -> Self {
        bytes.into()
    }

    fn read(reader: &mut &[u8], len: usize) -> Self {
        // A length that is known at run time only: by way of a vector.
        let mut bytes = vec![0; len];
        std::io::Read::read_exact(reader, &mut bytes).expect("enough bytes");
        bytes.into()
    }

    fn slice(&self, start: usize, end: usize) -> Self {
        self[start..end].into()
    }
}

impl OwnedBytes for Bytes {
    const NAME: &'static str = "Bytes";

    fn copy(bytes: &[u8]) -> Self {
        Self::copy_from_slice(bytes)
    }

    fn read(reader: &mut &[u8], len: usize) -> Self {
        let mut bytes = vec![0; len];
        std::io::Read::read_exact(reader, &mut bytes).expect("enough bytes");
        bytes.into()
    }

    fn slice(&self, start: usize, end: usize) -> Self {
        Bytes::slice(self, start..end)
    }
}

/// Returns a block of the generated workload with this number of series.
pub fn block(series: u64, window: u32) -> Vec<u8> {
    let options = Options { series, windows: window..window + 1, ..Options::default() };
    let mut store = KeysetStore::new();
    for request in Workload::new(options).expect("a workload").requests() {
        visit_labelsets(&request, |labels| {
            let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (*name, &**value)).collect();
            store.insert(&labels).expect("the labels are valid");
        });
    }
    store.seal(Layout::Factored, &Default::default()).expect("the store fits into a block").block
}

fn bench<T: OwnedBytes>(allocator: &str, block: &[u8], criterion: &mut Criterion) {
    let source: Vec<u8> = (0..READ).map(|byte| byte as u8).collect();
    for (name, len) in [("empty", 0), ("inline", 16), ("heap", 128)] {
        let count = READ / 128;
        let mut group = criterion.benchmark_group(format!("read/{allocator}/{name}"));
        group.throughput(Throughput::Elements(count as u64)).sample_size(20);
        group.bench_function(T::NAME, |bencher| {
            bencher.iter(|| {
                let mut reader = &source[..];
                (0..count).map(|_| T::read(&mut reader, len).as_ref().len()).sum::<usize>()
            });
        });
        group.finish();
    }

    let large = T::copy(&source);
    let mut group = criterion.benchmark_group(format!("slice/{allocator}"));
    group.throughput(Throughput::Elements((READ / 64) as u64)).sample_size(20);
    group.bench_function(T::NAME, |bencher| {
        bencher.iter(|| {
            let slices = (0..READ / 64).map(|piece| large.slice(piece * 64, piece * 64 + 64));
            slices.map(|slice| usize::from(black_box(slice).as_ref()[0])).sum::<usize>()
        });
    });
    group.finish();

    let view = BlockView::open(block).expect("sound");
    let count = view.symbols().count();
    let mut group = criterion.benchmark_group(format!("symbols of a block/{allocator}"));
    group.throughput(Throughput::Elements(count.into())).sample_size(20);
    group.bench_function(T::NAME, |bencher| {
        bencher.iter(|| {
            let symbol = |id| T::copy(view.symbol(SymbolId(id)).expect("sound"));
            (0..count).map(symbol).collect::<Vec<T>>()
        });
    });
    group.finish();
}

/// Benchmarks construction under the allocator with this name.
pub fn benches(allocator: &str, criterion: &mut Criterion) {
    let block = block(100_000, 0);
    bench::<ByteView>(allocator, &block, criterion);
    bench::<Arc<[u8]>>(allocator, &block, criterion);
    bench::<Bytes>(allocator, &block, criterion);

    // The baseline reads the symbols and owns none.
    let view = BlockView::open(&block).expect("sound");
    let count = view.symbols().count();
    let mut group = criterion.benchmark_group(format!("symbols of a block/{allocator}"));
    group.throughput(Throughput::Elements(count.into())).sample_size(20);
    group.bench_function("borrowed", |bencher| {
        bencher.iter(|| {
            let symbol = |id| view.symbol(SymbolId(id)).expect("sound");
            (0..count).map(symbol).collect::<Vec<&[u8]>>()
        });
    });
    group.finish();
}
