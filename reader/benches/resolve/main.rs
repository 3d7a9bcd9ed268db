//! Benchmarks reading a block: opening it, resolving a million series in order and at random, step by step, finding
//! them again, and following them through a compaction.
//!
//! The baseline is what one would build without this crate: each series as a flat array of pairs of symbol ids, with
//! `u32` offsets, in memory ([`FlatPairs`]). Every function touches every byte of every label that it resolves.

mod follow;
mod ratios;
mod workload;

use std::hint::black_box;

use chronoxide_format::view::{BlockView, Paths};
use chronoxide_reader::{Block, Checks, Label, SeriesRef};
use chronoxide_testkit::flat::{FlatPairs, touch};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use workload::{SERIES, blocks, scatter};

/// Series that are resolved in one iteration.
const SAMPLE: u32 = 100_000;

fn touch_series(view: &BlockView<'_>, series: u32) -> u64 {
    let series = view.series(SeriesRef(series)).expect("sound").expect("a series");
    series.labels().map(|label| label.expect("sound")).map(|label| touch(label.name) + touch(label.value)).sum()
}

/// Like [`touch_series`], for many series through a [`Resolver`](chronoxide_format::view::Resolver).
fn touch_all(view: &BlockView<'_>, series: impl Iterator<Item = u32>) -> u64 {
    let mut resolver = view.resolver();
    let mut sum = 0;
    for series in series {
        let labels = resolver.labels(SeriesRef(series)).expect("sound").expect("a series");
        sum += labels.iter().map(|label| touch(label.name) + touch(label.value)).sum::<u64>();
    }
    sum
}

/// Like [`touch_all`], for refs that are sorted first.
fn touch_many(view: &BlockView<'_>, refs: &[SeriesRef]) -> u64 {
    let mut sum = 0;
    view.resolver().resolve_many(refs, |_, labels| {
        let labels = labels.expect("sound").expect("a series");
        sum += labels.iter().map(|label| touch(label.name) + touch(label.value)).sum::<u64>();
    });
    sum
}

fn in_order() -> impl Iterator<Item = u32> {
    (0..SAMPLE).map(|n| n + SERIES / 3)
}

fn at_random() -> impl Iterator<Item = u32> {
    (0..SAMPLE).map(|n| scatter(n) % SERIES)
}

fn open(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("open");
    for series in [10_000, 100_000, SERIES] {
        let [_, (_, bytes), _] = blocks(series);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("block.cx");
        std::fs::write(&path, &bytes).expect("a temporary file");
        for (name, checks) in [("map, lazy", Checks::Lazy), ("map, eager", Checks::Eager)] {
            // SAFETY: nothing changes the file, which lies in a folder of this bench.
            let open = || unsafe { Block::map(&path, checks) }.expect("sound");
            group.bench_function(format!("{name}/{series}"), |b| b.iter(open));
        }
        group.bench_function(format!("view/{series}"), |b| {
            b.iter(|| BlockView::open(&bytes).expect("sound").key_count())
        });
        group.bench_function(format!("verify/{series}"), |b| {
            b.iter(|| BlockView::open(&bytes).expect("sound").verify().is_ok())
        });
    }
    group.finish();
}

fn resolve(criterion: &mut Criterion) {
    let blocks = blocks(SERIES);
    let view = BlockView::open(&blocks[1].1).expect("sound");
    let flat = FlatPairs::from_view(&view);
    let per = |bytes: usize| bytes as f64 / f64::from(SERIES);
    println!(
        "bytes per series: flat pairs {:.1}, fixed {:.1}, bitpacked {:.1}, factored {:.1}",
        per(flat.bytes()),
        per(blocks[0].1.len()),
        per(blocks[1].1.len()),
        per(blocks[2].1.len())
    );
    assert_eq!(touch_series(&view, 12_345), flat.touch(12_345));
    // Layouts number series differently, so that only all of them are the same.
    let all: u64 = (0..SERIES).map(|series| flat.touch(series)).sum();
    for (name, bytes) in &blocks {
        assert_eq!(
            touch_all(&BlockView::open(bytes).expect("sound").with_paths(&Paths::new()), 0..SERIES),
            all,
            "{name}"
        );
    }

    let mut group = criterion.benchmark_group("resolve");
    group.throughput(Throughput::Elements(SAMPLE.into()));
    group.sample_size(10);
    group
        .bench_function("in order/flat pairs", |b| b.iter(|| in_order().map(|series| flat.touch(series)).sum::<u64>()));
    group.bench_function("at random/flat pairs", |b| {
        b.iter(|| at_random().map(|series| flat.touch(series)).sum::<u64>())
    });
    // The least that any layout can cost: labels that were resolved before.
    let resolved = |refs: &mut dyn Iterator<Item = u32>| -> Vec<Label<'_>> {
        refs.flat_map(|n| view.series(SeriesRef(n)).expect("sound").expect("a series").labels())
            .collect::<Result<_, _>>()
            .expect("sound")
    };
    for (order, labels) in [("in order", resolved(&mut in_order())), ("at random", resolved(&mut at_random()))] {
        group.bench_function(format!("{order}/labels resolved before"), |b| {
            b.iter(|| labels.iter().map(|label| touch(label.name) + touch(label.value)).sum::<u64>());
        });
    }
    let refs: Vec<SeriesRef> = at_random().map(SeriesRef).collect();
    for (name, bytes) in &blocks {
        let paths = Paths::new();
        let view = BlockView::open(bytes).expect("sound").with_paths(&paths);
        assert_eq!(touch_many(&view, &refs), touch_all(&view, at_random()), "{name}");
        let lazy = Block::from_vec(bytes.clone(), Checks::Lazy).expect("sound");
        lazy.keep_paths();
        let lazy = lazy.view();
        group.bench_function(format!("in order/{name}"), |b| {
            b.iter(|| in_order().map(|series| touch_series(&view, series)).sum::<u64>())
        });
        group.bench_function(format!("at random/{name}"), |b| {
            b.iter(|| at_random().map(|series| touch_series(&view, series)).sum::<u64>())
        });
        group.bench_function(format!("in order, resolver/{name}"), |b| b.iter(|| touch_all(&view, in_order())));
        group.bench_function(format!("at random, resolver/{name}"), |b| b.iter(|| touch_all(&view, at_random())));
        group.bench_function(format!("at random, many at once/{name}"), |b| b.iter(|| touch_many(&view, &refs)));
        group.bench_function(format!("at random, resolver, lazy checks/{name}"), |b| {
            b.iter(|| touch_all(&lazy, at_random()));
        });
        group.bench_function(format!("at random, lazy checks/{name}"), |b| {
            b.iter(|| at_random().map(|series| touch_series(&lazy, series)).sum::<u64>());
        });
        group.bench_function(format!("iterate/{name}"), |b| {
            b.iter(|| {
                let labels =
                    view.series_iter().take(SAMPLE as usize).flat_map(|series| series.expect("sound").labels());
                labels
                    .map(|label| label.expect("sound"))
                    .map(|label| touch(label.name) + touch(label.value))
                    .sum::<u64>()
            });
        });
    }
    group.finish();
}

/// The cost of each step of resolving at random: each bench does what the one before it does, and one thing more.
fn steps(criterion: &mut Criterion) {
    let [fixed, bitpacked, _] = blocks(SERIES);
    let mut group = criterion.benchmark_group("steps");
    group.throughput(Throughput::Elements(SAMPLE.into()));
    group.sample_size(10);
    // A factored keyset has no row of codes per series.
    for (name, bytes) in &[fixed, bitpacked] {
        let view = BlockView::open(bytes).expect("sound");
        let series = |series| view.series(SeriesRef(series)).expect("sound").expect("a series");
        group.bench_function(format!("1 ref to row/{name}"), |b| {
            b.iter(|| at_random().map(|n| u64::from(black_box(series(n)).label_count())).sum::<u64>());
        });
        group.bench_function(format!("2 row to codes/{name}"), |b| {
            b.iter(|| {
                let codes = |n| {
                    let series = series(n);
                    let keyset = view.keyset(series.keyset()).expect("sound").expect("a keyset of the block");
                    let row = n - keyset.first().0;
                    let table = keyset.table();
                    let code = |column| table.code(row, &table.column(column)?);
                    (0..series.label_count()).map(|column| u64::from(code(column).expect("sound"))).sum::<u64>()
                };
                at_random().map(codes).sum::<u64>()
            });
        });
        group.bench_function(format!("3 code to symbol/{name}"), |b| {
            b.iter(|| {
                let symbols = |n| series(n).label_ids().map(|ids| u64::from(ids.expect("sound").value.0)).sum::<u64>();
                at_random().map(symbols).sum::<u64>()
            });
        });
        group.bench_function(format!("4 symbol to bytes/{name}"), |b| {
            b.iter(|| {
                let lengths = |n| {
                    series(n)
                        .labels()
                        .map(|label| label.expect("sound"))
                        .map(|label| (label.name.len() + label.value.len()) as u64)
                        .sum::<u64>()
                };
                at_random().map(lengths).sum::<u64>()
            });
        });
        group.bench_function(format!("5 touch every byte/{name}"), |b| {
            b.iter(|| at_random().map(|n| touch_series(&view, n)).sum::<u64>())
        });
    }
    group.finish();
}

/// Benchmarks the bounds check of a field: reads the same fields with and without the check.
fn bounds_checks(criterion: &mut Criterion) {
    use chronoxide_format::Rule;
    use chronoxide_format::bits::Bits;
    let [_, (_, bytes), _] = blocks(100_000);
    let bits = Bits::new(&bytes, Rule::TableExtent);
    let places = || (0..SAMPLE).map(|n| u64::from(scatter(n)) % ((bytes.len() as u64 - 8) * 8));
    let checked = |bit| bits.get(bit, 11).expect("inside");
    let unchecked = |bit: u64| {
        // SAFETY: `places` leaves 8 bytes after each.
        let word = unsafe { bytes.as_ptr().add((bit / 8) as usize).cast::<u64>().read_unaligned() };
        (word >> (bit % 8)) & 0x7FF
    };
    assert!(places().all(|bit| checked(bit) == unchecked(bit)));
    let mut group = criterion.benchmark_group("a field of 11 bits at random");
    group.throughput(Throughput::Elements(SAMPLE.into()));
    group.bench_function("checked", |b| b.iter(|| places().map(checked).sum::<u64>()));
    group.bench_function("unchecked", |b| b.iter(|| places().map(unchecked).sum::<u64>()));
    group.finish();
}

fn find(criterion: &mut Criterion) {
    let blocks = blocks(SERIES);
    let mut group = criterion.benchmark_group("find");
    const FOUND: u32 = 1000;
    group.throughput(Throughput::Elements(FOUND.into()));
    for (name, bytes) in &blocks {
        let view = BlockView::open(bytes).expect("sound");
        let text = view.text().expect("sound");
        let wanted: Vec<Vec<(&str, &str)>> = (0..FOUND)
            .map(|n| {
                let series = view.series(SeriesRef(scatter(n) % SERIES)).expect("sound").expect("a series");
                text.labels(&series).map(|label| label.map(Into::into)).collect::<Result<_, _>>().expect("sound")
            })
            .collect();
        println!(
            "labels of a series to find: {:.1}",
            wanted.iter().map(Vec::len).sum::<usize>() as f64 / f64::from(FOUND)
        );
        group.bench_function(*name, |b| {
            b.iter(|| {
                for labels in &wanted {
                    assert!(view.find(labels.iter().copied()).expect("sound").is_some());
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, ratios::ratios, open, resolve, steps, bounds_checks, find, follow::follow);
criterion_main!(benches);
