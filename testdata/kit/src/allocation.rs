//! An allocator that counts, for tests which claim that nothing is allocated, or little.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

/// Counts what each thread allocates; the system's allocator does the work.
///
/// ```
/// use chronoxide_testkit::allocation::{Counting, Usage, measure};
///
/// #[global_allocator]
/// static ALLOCATOR: Counting = Counting;
///
/// let (length, usage) = measure(|| vec![0_u8; 1000].len());
/// assert_eq!(length, 1000);
/// assert_eq!(usage, Usage { calls: 1, peak: 1000 });
/// ```
#[derive(Debug)]
pub struct Counting;

/// Allocations of a piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Allocations and reallocations.
    pub calls: u64,
    /// The most bytes that were allocated at once, beyond those from before.
    pub peak: u64,
}

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// Counts of all threads.
static LIVE_OF_PROCESS: AtomicI64 = AtomicI64::new(0);
static PEAK_OF_PROCESS: AtomicI64 = AtomicI64::new(0);

fn count(calls: u64, bytes: i64) {
    let live = LIVE_OF_PROCESS.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK_OF_PROCESS.fetch_max(live, Ordering::Relaxed);
    // A thread that is being torn down has no counters any more.
    let _ = CALLS.try_with(|counter| counter.set(counter.get() + calls));
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call is passed on to the system's allocator with the same arguments, and its answer is returned
// unchanged; counting touches only cells of the thread, which are initialised without allocating, and atomics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller keeps the contract of this method, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        // SAFETY: as above; `block` came from `System`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        // SAFETY: as above; `block` came from `System`.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Runs a piece of work and says what this thread allocated meanwhile.
pub fn measure<T>(work: impl FnOnce() -> T) -> (T, Usage) {
    let (calls, live) = (CALLS.get(), LIVE.get());
    PEAK.set(live);
    let result = work();
    let usage = Usage { calls: CALLS.get() - calls, peak: (PEAK.get() - live) as u64 };
    (result, usage)
}

/// Runs a piece of work and says what all threads allocated meanwhile; calls are not counted.
pub fn measure_process<T>(work: impl FnOnce() -> T) -> (T, Usage) {
    let live = LIVE_OF_PROCESS.load(Ordering::Relaxed);
    PEAK_OF_PROCESS.store(live, Ordering::Relaxed);
    let result = work();
    let peak = PEAK_OF_PROCESS.load(Ordering::Relaxed) - live;
    (result, Usage { calls: 0, peak: peak as u64 })
}

/// Bytes that are allocated now, by all threads together.
pub fn live_of_process() -> u64 {
    LIVE_OF_PROCESS.load(Ordering::Relaxed) as u64
}
