//! Benchmarks following a ref through a remap against resolving its labels: an engine that stores samples by ref needs
//! only the former after a compaction.

use std::hint::black_box;
use std::time::Instant;

use chronoxide_format::identity::BlockId;
use chronoxide_format::remap::{KeysetTargets, RemapBuilder, RemapOutput, RemapView};
use chronoxide_format::view::BlockView;
use chronoxide_reader::{Block, Checks, Remap, SeriesRef};
use criterion::{Criterion, Throughput};

use crate::workload::{SERIES, blocks};
use crate::{SAMPLE, at_random, in_order, touch_series};

/// The remap of a block whose series stayed in order: before every seventh row some of another input came, and every
/// thirteenth lost its first series.
fn remap(view: &BlockView<'_>) -> (Vec<u8>, Vec<Option<u32>>) {
    let (mut next, mut all, mut ends) = (0, Vec::new(), Vec::new());
    for keyset in 0..view.keyset_count() {
        let keyset = view.keyset(keyset).expect("sound").expect("a keyset of the block");
        let mut rows = Vec::new();
        for row in 0..keyset.table().row_count() {
            let len = keyset.list(row).expect("sound").map_or(1, |list| list.len());
            next += if row % 7 == 0 { 1 + row % 30 } else { 0 };
            let first = all.len();
            all.extend((0..len).map(|member| (row % 13 > 0 || member > 0).then_some(next + member)));
            rows.push(first..all.len());
            next += len;
        }
        ends.push(rows);
    }
    let outputs = [RemapOutput { block_id: BlockId([1; 16]), series_count: next.into(), shard: 0 }];
    let mut builder = RemapBuilder::new(view.block_id(), [0; 16], &outputs).expect("few outputs");
    let mut targets = KeysetTargets::default();
    for rows in ends {
        targets.clear();
        rows.into_iter().for_each(|row| targets.push_row(all[row].iter().map(|target| target.map(u64::from))));
        builder.push_keyset(&targets).expect("targets are in the output");
    }
    (builder.finish().expect("few patterns"), all)
}

fn follow_one(view: &RemapView<'_>, series: u32) -> u64 {
    view.get(SeriesRef(series)).expect("sound").map_or(1, |target| u64::from(target.series.0))
}

/// Nanoseconds for each series: the best of ten passes.
fn nanos(mut pass: impl FnMut() -> u64) -> f64 {
    let time = |_| {
        let start = Instant::now();
        black_box(pass());
        start.elapsed().as_secs_f64()
    };
    let best = (0..10).map(time).fold(f64::INFINITY, f64::min);
    best * 1e9 / f64::from(SAMPLE)
}

pub fn follow(criterion: &mut Criterion) {
    let [_, _, (_, bytes)] = blocks(SERIES);
    let block = Block::from_vec(bytes, Checks::Never).expect("sound");
    let block = block.view();
    let (bytes, expected) = remap(&block);
    println!("bytes per series of the remap: {:.3}", bytes.len() as f64 / f64::from(SERIES));
    let eager = Remap::from_vec(bytes.clone(), Checks::Eager).expect("sound");
    let lazy = Remap::from_vec(bytes.clone(), Checks::Lazy).expect("sound");
    eager.verify().expect("sound");
    let (view, lazy) = (eager.view(), lazy.view());
    for (series, target) in (0..).zip(&expected) {
        let found = view.get(SeriesRef(series)).expect("sound").map(|target| target.series.0);
        assert_eq!(found, *target, "series {series}");
    }

    let mut group = criterion.benchmark_group("follow");
    group.throughput(Throughput::Elements(SAMPLE.into()));
    group.sample_size(10);
    for (name, view) in [("remap", &view), ("remap, lazy checks", &lazy)] {
        group.bench_function(format!("in order/{name}"), |b| {
            b.iter(|| in_order().map(|series| follow_one(view, series)).sum::<u64>())
        });
        group.bench_function(format!("at random/{name}"), |b| {
            b.iter(|| at_random().map(|series| follow_one(view, series)).sum::<u64>())
        });
    }
    group.bench_function("iterate/remap", |b| {
        b.iter(|| {
            let targets = view.targets().expect("sound").take(SAMPLE as usize).map(|target| target.expect("sound"));
            targets.map(|target| target.map_or(1, |target| u64::from(target.series.0))).sum::<u64>()
        });
    });
    group.bench_function("in order/resolve", |b| {
        b.iter(|| in_order().map(|series| touch_series(&block, series)).sum::<u64>())
    });
    group.bench_function("at random/resolve", |b| {
        b.iter(|| at_random().map(|series| touch_series(&block, series)).sum::<u64>())
    });
    for checks in [Checks::Lazy, Checks::Eager] {
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        // From a file: copying bytes in memory would cost more than opening them.
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("remap.cxr");
        std::fs::write(&path, &bytes).expect("a temporary file");
        // SAFETY: nothing changes the file, which lies in a folder of this bench.
        let open = || unsafe { Remap::map(&path, checks) }.expect("sound");
        group.bench_function(format!("open, {checks:?}"), |b| b.iter(open));
    }
    group.finish();

    for (order, follow, resolve) in [
        (
            "in order",
            nanos(|| in_order().map(|series| follow_one(&view, series)).sum()),
            nanos(|| in_order().map(|series| touch_series(&block, series)).sum()),
        ),
        (
            "at random",
            nanos(|| at_random().map(|series| follow_one(&view, series)).sum()),
            nanos(|| at_random().map(|series| touch_series(&block, series)).sum()),
        ),
    ] {
        println!(
            "{order}: to follow {follow:.0} ns, to resolve {resolve:.0} ns, {:.1} times as much",
            resolve / follow
        );
    }
}
