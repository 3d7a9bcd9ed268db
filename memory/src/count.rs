//! Bytes of the heap, added up per thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Bytes that a thread may allocate or free before it tells the others. Without this, all threads would wait for one
/// counter.
const UNTOLD: i64 = 64 << 10;

static HEAP: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

thread_local! {
    static OWN: Cell<i64> = const { Cell::new(0) };
}

/// Adds bytes, or subtracts them if they are negative.
pub(crate) fn add(bytes: i64) {
    // A thread that ends has no counter any more.
    let untold = OWN.try_with(|own| {
        let sum = own.get() + bytes;
        let is_told = sum.abs() >= UNTOLD;
        own.set(if is_told { 0 } else { sum });
        if is_told { sum } else { 0 }
    });
    let told = untold.unwrap_or(bytes);
    if told != 0 {
        PEAK.fetch_max(HEAP.fetch_add(told, Relaxed) + told, Relaxed);
    }
}

/// Returns the bytes now, up to 64 KiB per thread too few or too many.
pub(crate) fn heap() -> usize {
    usize::try_from(HEAP.load(Relaxed)).unwrap_or(0)
}

/// Returns the maximum of the bytes.
pub(crate) fn peak() -> usize {
    usize::try_from(PEAK.load(Relaxed)).unwrap_or(0)
}
