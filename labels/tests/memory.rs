//! Sealing a store stays below its estimate of peak memory.

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use chronoxide_format::write::BlockMeta;
use chronoxide_labels::{KeysetStore, LabelSetStore, Layout};
use chronoxide_testkit::sweep;

/// Counts the bytes that are allocated, each allocation with what its bookkeeping takes.
struct Counting;

/// Bytes that an allocator keeps beside each allocation, at most.
const BOOKKEEPING: usize = 16;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// One measurement at a time.
static MEASURING: Mutex<()> = Mutex::new(());

fn grow(len: usize) {
    let live = LIVE.fetch_add(len + BOOKKEEPING, Relaxed) + len + BOOKKEEPING;
    PEAK.fetch_max(live, Relaxed);
}

// SAFETY: all calls go to the system's allocator as they are; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Memory) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Memory) {
        LIVE.fetch_sub(layout.size() + BOOKKEEPING, Relaxed);
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A shape of series: labels of series `number`.
type Shape = fn(usize) -> Vec<(String, String)>;

fn pairs(count: usize, pair: impl Fn(usize) -> (String, String)) -> Vec<(String, String)> {
    let mut pairs: Vec<_> = (0..count).map(pair).collect();
    pairs.sort();
    pairs
}

/// Shapes, each with the number of series that make some ten to a hundred megabytes.
const SHAPES: [(&str, usize, Shape); 12] = [
    ("one label each", 300_000, |n| vec![("pod".into(), format!("pod-{n}"))]),
    ("one key each", 100_000, |n| vec![(format!("key-{n}"), "v".into())]),
    ("one key and value each", 100_000, |n| vec![(format!("key-{n}"), format!("value-{n}"))]),
    ("500 keys each, distinct", 300, |n| pairs(500, |k| (format!("key-{n}-{k}"), format!("v{k}")))),
    ("500 keys, the same, distinct values", 600, |n| pairs(500, |k| (format!("key-{k:03}"), format!("v-{n}-{k}")))),
    ("500 keys, the same, repeated values", 4_000, |n| {
        pairs(500, |k| (format!("key-{k:03}"), format!("v{}", n * k % 7)))
    }),
    ("500 of 600 keys", 4_000, |n| {
        pairs(500, |k| (format!("key-{:03}", (n * 7 + k) % 600), format!("v{}", n * k % 3)))
    }),
    ("500 keys, the same, in runs", 3_000, |n| pairs(500, |k| (format!("key-{k:03}"), format!("v{}", n / (k + 1))))),
    ("8 of 40 keys", 40_000, |n| {
        let mut keys: Vec<usize> = (0..8).map(|k| (n * (k + 3) + n / 40 * k) % 40).collect();
        keys.sort_unstable();
        keys.dedup();
        pairs(keys.len(), |k| (format!("key-{:02}", keys[k]), format!("v{}", n % (5 + k))))
    }),
    ("20 keys, 3 values each", 60_000, |n| {
        pairs(20, |k| (format!("key-{k:02}"), format!("v{}", n / 3_usize.pow(k as u32 % 11) % 3)))
    }),
    ("long values", 1_000, |n| vec![("long".into(), format!("{n:04}").repeat(512 * 32 - 1))]),
    ("25 labels of pods", 100_000, |n| {
        pairs(25, |k| match k {
            0..8 => (format!("k8s-{k}"), format!("pod-{}-{k}", n / 50)),
            8..16 => (format!("cluster-{k}"), format!("zone-{}", n / 5_000)),
            _ => (format!("point-{k}"), format!("v{}", n % 50 / (k - 15))),
        })
    }),
];

fn stored(count: usize, shape: Shape) -> KeysetStore {
    let mut store = KeysetStore::new();
    for number in 0..count {
        let labels = shape(number);
        let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        store.insert(&labels).unwrap();
    }
    store
}

#[test]
fn sealing_takes_no_more_memory_than_the_store_says() {
    let _measuring = MEASURING.lock();
    for (name, most, shape) in SHAPES {
        let counts = [most / 50, most / 2, most / 3, most * 4 / 5, most];
        for &count in &counts[..sweep::cases(2, counts.len())] {
            let before = LIVE.load(Relaxed);
            PEAK.store(before, Relaxed);
            let store = stored(count, shape);
            let collecting = PEAK.load(Relaxed) - before;
            let held = LIVE.load(Relaxed) - before;
            for layout in Layout::ALL {
                PEAK.store(LIVE.load(Relaxed), Relaxed);
                let sealed = store.seal(layout, &BlockMeta::default()).unwrap();
                let peak = PEAK.load(Relaxed) - before;
                let (estimate, block) = (store.peak_memory(layout), sealed.block.len());
                println!(
                    "{name:36} {count:7} {:10} store {:5.1} peak {:6.1} estimate {:6.1} block {:5.1} MiB",
                    layout.name(),
                    mib(held),
                    mib(peak),
                    mib(estimate),
                    mib(block),
                );
                assert!(peak <= estimate && collecting <= estimate, "{name}, {count}");
                assert!(held + 2 * block <= estimate, "{name}, {count}: there is room to read the block again");
                assert!(estimate <= 2 * peak + (2 << 20), "{name}, {count}: the estimate is near the peak");
            }
        }
    }
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
