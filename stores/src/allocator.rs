//! [`TrackingAllocator`]: counts what a program allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Global allocator that counts calls and bytes of all threads. The system's allocator does the work.
///
/// Counting costs a few atomic additions per call: measure memory with it, and time without it. For tests that run in
/// parallel, `chronoxide_testkit::allocation::Counting` counts per thread.
///
/// ```
/// use chronoxide_stores::{Allocations, TrackingAllocator};
///
/// #[global_allocator]
/// static ALLOCATOR: TrackingAllocator = TrackingAllocator;
///
/// let (bytes, allocations) = TrackingAllocator::measure(|| vec![0_u8; 1000]);
/// assert_eq!(bytes.len(), 1000);
/// assert_eq!((allocations.allocations, allocations.reallocations), (1, 0));
/// assert_eq!((allocations.requested, allocations.peak_requested), (1000, 1000));
/// assert!(allocations.usable >= 1000);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct TrackingAllocator;

/// Calls and bytes of all threads, since the start of the process or during a piece of work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocations {
    /// Number of allocations.
    pub allocations: u64,
    /// Number of reallocations.
    pub reallocations: u64,
    /// Number of deallocations.
    pub deallocations: u64,
    /// Requested bytes of live allocations. Negative if a measured piece of work freed more than it allocated.
    pub requested: i64,
    /// Usable bytes of live allocations: the allocator rounds sizes up. Equal to `requested` outside Linux.
    pub usable: i64,
    /// Maximum of `requested`.
    pub peak_requested: i64,
}

impl Allocations {
    /// Returns the share of usable bytes that was not requested, from 0 to 1: internal fragmentation.
    #[must_use]
    pub fn fragmentation(&self) -> f64 {
        if self.usable == 0 {
            return 0.0;
        }
        1.0 - self.requested as f64 / self.usable as f64
    }
}

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static REALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static DEALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static REQUESTED: AtomicI64 = AtomicI64::new(0);
static USABLE: AtomicI64 = AtomicI64::new(0);
static PEAK_REQUESTED: AtomicI64 = AtomicI64::new(0);

impl TrackingAllocator {
    /// Returns the counts since the start of the process. All are 0 if this is not the global allocator.
    #[must_use]
    pub fn allocations() -> Allocations {
        Allocations {
            allocations: ALLOCATIONS.load(Relaxed),
            reallocations: REALLOCATIONS.load(Relaxed),
            deallocations: DEALLOCATIONS.load(Relaxed),
            requested: REQUESTED.load(Relaxed),
            usable: USABLE.load(Relaxed),
            peak_requested: PEAK_REQUESTED.load(Relaxed),
        }
    }

    /// Runs `work`. Returns its result and what all threads allocated meanwhile: bytes that `work` freed again do not
    /// count as requested or usable, those of its result do. Only one measurement can run at a time.
    pub fn measure<T>(work: impl FnOnce() -> T) -> (T, Allocations) {
        let before = Self::allocations();
        PEAK_REQUESTED.store(before.requested, Relaxed);
        let result = work();
        let after = Self::allocations();
        let difference = Allocations {
            allocations: after.allocations - before.allocations,
            reallocations: after.reallocations - before.reallocations,
            deallocations: after.deallocations - before.deallocations,
            requested: after.requested - before.requested,
            usable: after.usable - before.usable,
            peak_requested: after.peak_requested - before.requested,
        };
        (result, difference)
    }
}

fn add(requested: usize, usable: usize) {
    // No block is larger than `isize::MAX` bytes.
    let live = REQUESTED.fetch_add(requested as i64, Relaxed) + requested as i64;
    PEAK_REQUESTED.fetch_max(live, Relaxed);
    USABLE.fetch_add(usable as i64, Relaxed);
}

fn subtract(requested: usize, usable: usize) {
    REQUESTED.fetch_sub(requested as i64, Relaxed);
    USABLE.fetch_sub(usable as i64, Relaxed);
}

/// Returns the bytes that a block can hold.
///
/// # Safety
/// `block` is null, or a live block of the system's allocator with this size.
#[cfg(target_os = "linux")]
unsafe fn usable_size(block: *mut u8, _size: usize) -> usize {
    // SAFETY: the caller passes null or a live block of `System`, which allocates with `malloc` and its siblings.
    unsafe { libc::malloc_usable_size(block.cast()) }
}

/// Returns the bytes that a block was requested with.
///
/// # Safety
/// Always safe. Declared unsafe to match the version for Linux.
#[cfg(not(target_os = "linux"))]
unsafe fn usable_size(block: *mut u8, size: usize) -> usize {
    if block.is_null() { 0 } else { size }
}

// SAFETY: every call is passed on to the system's allocator with the same arguments, and its result is returned
// unchanged. Counting touches only atomics, and never allocates.
unsafe impl GlobalAlloc for TrackingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of this method, which is the same.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            ALLOCATIONS.fetch_add(1, Relaxed);
            // SAFETY: `block` was just allocated by `System` with this size.
            add(layout.size(), unsafe { usable_size(block, layout.size()) });
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            ALLOCATIONS.fetch_add(1, Relaxed);
            // SAFETY: as above.
            add(layout.size(), unsafe { usable_size(block, layout.size()) });
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        DEALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller passes a live block of this allocator, which is one of `System`, with its layout.
        subtract(layout.size(), unsafe { usable_size(block, layout.size()) });
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; the block is still alive here.
        let usable = unsafe { usable_size(block, layout.size()) };
        // SAFETY: as above.
        let moved = unsafe { System.realloc(block, layout, size) };
        // If it fails, the old block stays as it is.
        if !moved.is_null() {
            REALLOCATIONS.fetch_add(1, Relaxed);
            subtract(layout.size(), usable);
            // SAFETY: `moved` was just allocated by `System` with this size.
            add(size, unsafe { usable_size(moved, size) });
        }
        moved
    }
}
