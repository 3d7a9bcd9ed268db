//! Times of making and reading blocks.

use std::time::Duration;

use chronoxide_format::view::{BlockView, Paths};
use chronoxide_testkit::flat::{FlatPairs, touch};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};

use crate::blocks::Blocks;

/// Times of one set: `seal/<set>/<layout>` and `resolve/<set>/<order>/<what>`.
pub fn measure(criterion: &mut Criterion, blocks: &Blocks) {
    let name = &blocks.set.name;
    let mut group = criterion.benchmark_group(format!("seal/{name}"));
    keep_short(&mut group, blocks.series);
    for (layout, block) in &blocks.of_layouts {
        assert!(blocks.set.seal(*layout) == *block, "{name}, {}: the same store is the same block", layout.name());
        group.bench_function(layout.name(), |bencher| bencher.iter(|| blocks.set.seal(*layout)));
    }
    group.finish();

    let mut group = criterion.benchmark_group(format!("resolve/{name}"));
    keep_short(&mut group, blocks.series);
    let orders = [("in order", (0..blocks.series).collect()), ("at random", shuffled(blocks.series))];
    let with_paths = blocks.of_layouts.each_ref().map(|layout| (layout, Paths::new()));
    let views = with_paths
        .each_ref()
        .map(|((layout, block), paths)| (layout.name(), BlockView::open(block).expect("sound").with_paths(paths)));
    let flat = FlatPairs::from_view(&views[0].1);
    let expected = sorted((0..blocks.series).map(|series| flat.touch(series)));
    for (order, refs) in &orders {
        let touched = || refs.iter().map(|&series| flat.touch(series));
        assert_eq!(touched().sum::<u64>(), expected.iter().sum::<u64>(), "{name}, {order}");
        group.bench_function(format!("{order}/flat pairs"), |bencher| bencher.iter(|| touched().sum::<u64>()));
    }
    for (layout, view) in &views {
        for (order, refs) in &orders {
            // Layouts number series differently: they have the same ones, in another order.
            let mut touched = Vec::new();
            resolve(view, refs, |series| touched.push(series));
            assert!(sorted(touched.into_iter()) == expected, "{name}, {layout}, {order}: the series of the baseline");
            group.bench_function(format!("{order}/{layout}"), |bencher| {
                bencher.iter(|| {
                    let mut sum = 0;
                    resolve(view, refs, |series| sum += series);
                    sum
                });
            });
        }
    }
    group.finish();
}

/// There are many sets: few samples of each, which for the large ones take longer.
fn keep_short(group: &mut BenchmarkGroup<'_, WallTime>, series: u32) {
    group.throughput(Throughput::Elements(series.into()));
    group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
}

/// Touches every byte of each label of each of these series.
fn resolve(view: &BlockView<'_>, refs: &[u32], mut each: impl FnMut(u64)) {
    let mut resolver = view.resolver();
    for &series in refs {
        let labels = resolver.labels(series.into()).expect("sound").expect("a series");
        each(labels.iter().map(|label| touch(label.name) + touch(label.value)).sum());
    }
}

fn sorted(touched: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut touched: Vec<u64> = touched.collect();
    touched.sort_unstable();
    touched
}

/// All refs in an order without sense, the same everywhere: each once, so that every sum is that of all series.
fn shuffled(series: u32) -> Vec<u32> {
    let mut refs: Vec<u32> = (0..series).collect();
    refs.sort_unstable_by_key(|&series| {
        // The finalizer of SplitMix64, which maps no two numbers to the same one.
        let mut key = u64::from(series).wrapping_add(0x9e37_79b9_7f4a_7c15);
        key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        key ^ (key >> 31)
    });
    refs
}
