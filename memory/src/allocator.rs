//! The global allocator: [`SpillingAllocator`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::Relaxed};

use crate::scratch::{Scratch, explain};
use crate::{HUGE, LARGE, count};

static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Error of the first allocation that could not spill.
static REFUSED: AtomicI32 = AtomicI32::new(0);

/// True from the first allocation on that spills.
static IS_SPARING: AtomicBool = AtomicBool::new(false);

static SCRATCH: OnceLock<Scratch> = OnceLock::new();

/// Global allocator that counts the heap and keeps it below a [`limit`]: allocations that would exceed it are in a
/// mapped scratch file instead, whose pages the system writes and drops when it needs memory.
///
/// The system's allocator does the rest. Counting costs an addition per call, and another one of all threads per 64
/// KiB. An allocation of 256 KiB or more in the file costs calls of the system, a smaller one a lock. Without a limit
/// nothing spills.
///
/// A program exceeds the limit if the file cannot grow: long tasks call [`check`] from time to time. A page that the
/// disk cannot read or write ends the process with a message and exit code 1, by a handler of `SIGBUS`, and one that it
/// loses corrupts memory, as swap space would. Spilling works on Linux, on file systems with holes that can be made
/// later, such as ext4, XFS, Btrfs and tmpfs (whose files are memory).
#[derive(Clone, Copy, Debug, Default)]
pub struct SpillingAllocator;

/// Bytes of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// The heap.
    pub heap: usize,
    /// Maximum of `heap`.
    pub peak_heap: usize,
    /// Allocations in the scratch file.
    pub spilled: usize,
    /// Maximum of `spilled`.
    pub peak_spilled: usize,
}

/// The heap exceeds the limit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Exceeded {
    /// Nothing spills: [`spill_to`] was not called, or failed.
    #[error("{heap} bytes of memory are in use, the limit is {limit}, and there is no scratch file for more")]
    Heap {
        /// Bytes of the heap.
        heap: usize,
        /// The limit.
        limit: usize,
    },
    /// The disk is full, or fails.
    #[error("the scratch file cannot grow")]
    Scratch(#[source] io::Error),
}

/// Sets the limit of the heap in bytes.
pub fn limit(bytes: usize) {
    LIMIT.store(bytes, Relaxed);
}

/// Sets the file for allocations that exceed the limit: that of the first call, since a program has one. It must be
/// empty, and nothing else may open it: an unnamed one, such as that of `tempfile::tempfile_in`, disappears with the
/// process.
///
/// # Errors
/// The system or the file system cannot do it. Nothing spills then, and [`check`] fails beyond the limit.
pub fn spill_to(file: File) -> io::Result<()> {
    if SCRATCH.get().is_none() {
        let scratch = Scratch::new(file)?;
        explain(SCRATCH.get_or_init(|| scratch));
    }
    Ok(())
}

/// Returns true if allocations beyond the limit go to a scratch file.
#[must_use]
pub fn can_spill() -> bool {
    SCRATCH.get().is_some()
}

fn refuse(error: &io::Error) {
    let code = error.raw_os_error().unwrap_or(libc::ENOSPC);
    let _ = REFUSED.compare_exchange(0, code, Relaxed, Relaxed);
}

/// Returns the bytes of the program. All are 0 if [`SpillingAllocator`] is not the global allocator.
#[must_use]
pub fn usage() -> Usage {
    let (heap, peak_heap) = (count::heap(), count::peak());
    let (spilled, peak_spilled) = SCRATCH.get().map_or((0, 0), |scratch| (scratch.held(), scratch.peak()));
    Usage { heap, peak_heap, spilled, peak_spilled }
}

/// Checks that the heap is within a twentieth of the limit.
///
/// # Errors
/// It is not, or was not after the disk was full.
pub fn check() -> Result<(), Exceeded> {
    let (heap, limit) = (count::heap(), LIMIT.load(Relaxed));
    let is_within = |heap: usize| heap <= limit.saturating_add(limit / 20);
    match REFUSED.load(Relaxed) {
        0 if is_within(heap) => Ok(()),
        0 => Err(Exceeded::Heap { heap, limit }),
        _ if is_within(count::peak()) => Ok(()),
        code => Err(Exceeded::Scratch(io::Error::from_raw_os_error(code))),
    }
}

/// Returns the heap that an allocation of this size may fill. The largest spill first, so that small ones have room:
/// they are read more often.
fn share(size: usize, limit: usize) -> usize {
    match size {
        0..1024 => limit - limit / 32,
        1024..LARGE => limit - limit / 8,
        LARGE..HUGE => limit - limit / 4,
        _ => limit / 2,
    }
}

/// Returns an allocation in the scratch file, if the heap has no room for `added` bytes, and null otherwise.
fn spill(layout: Layout, added: usize, are_zeros: bool) -> *mut u8 {
    let limit = LIMIT.load(Relaxed);
    // A disk that was full once would be asked at each allocation.
    if limit == usize::MAX
        || REFUSED.load(Relaxed) != 0
        || count::heap().saturating_add(added) <= share(layout.size(), limit)
    {
        return std::ptr::null_mut();
    }
    let Some(scratch) = SCRATCH.get() else { return std::ptr::null_mut() };
    if !IS_SPARING.load(Relaxed) && !IS_SPARING.swap(true, Relaxed) {
        spare();
    }
    scratch.allocate(layout, are_zeros).unwrap_or_else(|error| {
        refuse(&error);
        std::ptr::null_mut()
    })
}

/// Makes the system's allocator give back what is freed. By default it keeps up to 64 MiB, which is faster as long as
/// there is enough.
fn spare() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: calls without pointers, which any thread may make.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE as libc::c_int);
        libc::mallopt(libc::M_TRIM_THRESHOLD, HUGE as libc::c_int);
        libc::malloc_trim(0);
    }
}

/// Returns the bytes that the system's allocator takes for a size, by and large.
fn taken(size: usize) -> i64 {
    (size.saturating_add(23) & !15) as i64
}

fn counted(block: *mut u8, size: usize) -> *mut u8 {
    if !block.is_null() {
        count::add(taken(size));
    }
    block
}

// SAFETY: a block is one of the system's allocator, to which each call about it is passed on, or one of the scratch
// file, which is mapped as long as the process lives, is as long as the block, and is handed out to one caller until it
// is freed. Addresses tell which. Neither counting nor the scratch file allocates.
unsafe impl GlobalAlloc for SpillingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let spilled = spill(layout, layout.size(), false);
        if !spilled.is_null() {
            return spilled;
        }
        // SAFETY: the caller keeps the contract of this method, which is the same.
        counted(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let spilled = spill(layout, layout.size(), true);
        if !spilled.is_null() {
            if layout.size() < LARGE {
                // SAFETY: the block is new, and has that many bytes.
                unsafe { spilled.write_bytes(0, layout.size()) };
            }
            return spilled;
        }
        // SAFETY: as above.
        counted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(scratch) = SCRATCH.get().filter(|scratch| scratch.contains(block)) {
            // SAFETY: the address tells that the block is one of the file, and the caller gives it up.
            return unsafe { scratch.free(block, layout) };
        }
        count::add(-taken(layout.size()));
        // SAFETY: a block outside of the file comes from `System`, with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size does not overflow when it is rounded up to the alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let scratch = SCRATCH.get().filter(|scratch| scratch.contains(block));
        if scratch.is_some_and(|scratch| scratch.resize(block, layout, new)) {
            return block;
        }
        let added = if scratch.is_some() { size } else { size.saturating_sub(layout.size()) };
        let mut moved = spill(new, added, false);
        if moved.is_null() && scratch.is_none() {
            // SAFETY: a block outside of the file comes from `System`, with this layout.
            moved = unsafe { System.realloc(block, layout, size) };
            if !moved.is_null() {
                count::add(taken(size) - taken(layout.size()));
            }
            return moved;
        }
        if moved.is_null() {
            // SAFETY: the size is not zero, by the contract of this method.
            moved = counted(unsafe { System.alloc(new) }, size);
        }
        if !moved.is_null() {
            // SAFETY: both blocks have that many bytes, and the new one is not the old one.
            unsafe { std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size)) };
            // SAFETY: the caller passes a live block with its layout, and does not use it any more.
            unsafe { self.dealloc(block, layout) };
        }
        moved
    }
}
