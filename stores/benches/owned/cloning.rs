//! Cloning a string of 64 bytes while other threads clone the same one.
//!
//! One thread is measured; the others do the same work all the time. `dropping` frees each clone at once, `keeping`
//! keeps all clones of an iteration until it is over. Reference-counted clones share one counter, so that threads wait
//! for each other's cache lines; owned copies share nothing but the allocator.

use std::fs;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use byteview::StrView;
use criterion::{BenchmarkId, Criterion, Throughput};
use smol_str::SmolStr;

use super::Mapped;

/// Clones per iteration.
const CLONES: usize = 1 << 16;

const TEXT: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

#[derive(Clone, Copy)]
enum Clones {
    Dropped,
    Kept,
}

impl Clones {
    fn name(self) -> &'static str {
        match self {
            Self::Dropped => "dropping",
            Self::Kept => "keeping",
        }
    }

    fn make<T: Clone>(self, text: &T, kept: &mut Vec<T>) {
        for _ in 0..CLONES {
            let clone = black_box(text).clone();
            match self {
                Self::Dropped => drop(black_box(clone)),
                Self::Kept => kept.push(clone),
            }
        }
    }
}

/// Memory of the process while clones are kept.
#[derive(Default)]
struct Peak {
    mapped: AtomicUsize,
    anonymous_maps: AtomicUsize,
}

impl Peak {
    fn sample(&self, mapped: Mapped) {
        self.mapped.fetch_max(mapped().unwrap_or(0), Relaxed);
        self.anonymous_maps.fetch_max(anonymous_maps(), Relaxed);
    }
}

/// Returns the number of maps of this process that no file backs, or 0 where the system does not tell.
fn anonymous_maps() -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    // Address, permissions, offset, device, inode, and for a file its path.
    maps.lines().filter(|line| line.split_whitespace().count() == 5).count()
}

/// Runs `iterations` on this thread while `others` threads clone the same text. Returns the time of this thread.
fn contended<T: Clone + Send + Sync>(
    text: &T,
    clones: Clones,
    others: usize,
    iterations: u64,
    (peak, mapped): (&Peak, Mapped),
) -> Duration {
    let is_over = AtomicBool::new(false);
    let running = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(|| {
                let mut kept = Vec::with_capacity(CLONES);
                running.fetch_add(1, Relaxed);
                while !is_over.load(Relaxed) {
                    clones.make(text, &mut kept);
                    kept.clear();
                }
            });
        }
        while running.load(Relaxed) < others {
            thread::yield_now();
        }
        let time = measured(text, clones, iterations, || peak.sample(mapped));
        is_over.store(true, Relaxed);
        time
    })
}

/// Returns the time of `iterations` on this thread. Calls `sample` when the clones of an iteration exist.
fn measured<T: Clone>(text: &T, clones: Clones, iterations: u64, sample: impl Fn()) -> Duration {
    let mut time = Duration::ZERO;
    let mut kept = Vec::with_capacity(CLONES);
    for iteration in 0..iterations {
        let start = Instant::now();
        clones.make(text, &mut kept);
        time += start.elapsed();
        if iteration == 0 {
            sample();
        }
        kept.clear();
    }
    time
}

fn bench<T: Clone + Send + Sync>(name: &str, text: &T, allocator: &str, mapped: Mapped, criterion: &mut Criterion) {
    for clones in [Clones::Dropped, Clones::Kept] {
        let mut group = criterion.benchmark_group(format!("clone/{allocator}/{}", clones.name()));
        group.throughput(Throughput::Elements(CLONES as u64)).sample_size(10);
        for threads in [1, 2, 4, 8] {
            let peak = Peak::default();
            group.bench_function(BenchmarkId::new(name, format!("{threads} threads")), |bencher| {
                bencher.iter_custom(|iterations| contended(text, clones, threads - 1, iterations, (&peak, mapped)));
            });
            println!(
                "memory: clone/{allocator}/{}/{name}/{threads} threads: {} bytes mapped, {} anonymous maps",
                clones.name(),
                peak.mapped.into_inner(),
                peak.anonymous_maps.into_inner()
            );
        }
        group.finish();
    }
}

/// Benchmarks cloning under the allocator with this name.
pub fn benches(allocator: &str, mapped: Mapped, criterion: &mut Criterion) {
    assert_eq!(TEXT.len(), 64);
    bench::<Arc<str>>("Arc<str>", &TEXT.into(), allocator, mapped, criterion);
    bench("String", &TEXT.to_owned(), allocator, mapped, criterion);
    bench("ByteView", &StrView::new(TEXT), allocator, mapped, criterion);
    bench("SmolStr", &SmolStr::new(TEXT), allocator, mapped, criterion);
    let text: Rc<str> = TEXT.into();
    for clones in [Clones::Dropped, Clones::Kept] {
        let mut group = criterion.benchmark_group(format!("clone/{allocator}/{}", clones.name()));
        group.throughput(Throughput::Elements(CLONES as u64)).sample_size(10);
        group.bench_function(BenchmarkId::new("Rc<str>", "1 threads"), |bencher| {
            bencher.iter_custom(|iterations| measured(&text, clones, iterations, || ()));
        });
        group.finish();
    }
}
