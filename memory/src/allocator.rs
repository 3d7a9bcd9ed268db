//! The global allocator: [`SpillingAllocator`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed};

use crate::count;
#[cfg(target_os = "linux")]
use crate::scratch::Scratch;

/// Minimum bytes of an allocation that can spill. Each costs two calls of the system.
const LARGE: usize = 256 << 10;

/// Minimum bytes of an allocation that spills early. It lives long, as a rule, and is read in order.
const HUGE: usize = 4 << 20;

static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Error of the first allocation that could not spill.
static REFUSED: AtomicI32 = AtomicI32::new(0);

#[cfg(target_os = "linux")]
static SCRATCH: OnceLock<Scratch> = OnceLock::new();

/// Global allocator that counts the heap and keeps it below a [`limit`]: large allocations that would exceed it are
/// ranges of a mapped scratch file instead, whose pages the system writes and drops when it needs memory.
///
/// The system's allocator does the rest. Counting costs an addition per call, and another one of all threads per
/// 64 KiB. Without a limit nothing spills.
///
/// Allocations below 256 KiB never spill, so a program whose memory is in small ones can exceed the limit: long tasks
/// call [`check`] from time to time. A scratch file on a disk that loses what was written to it corrupts memory, as
/// swap space would. Spilling works on Linux, on file systems with `fallocate` and holes, such as ext4, XFS, Btrfs and
/// tmpfs (whose files are memory).
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
    /// Small allocations alone exceed the limit.
    #[error("small allocations took {heap} bytes of memory, and the limit is {limit}")]
    Heap {
        /// Bytes of the heap.
        heap: usize,
        /// The limit.
        limit: usize,
    },
    /// Large allocations cannot spill.
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
    #[cfg(target_os = "linux")]
    {
        if SCRATCH.get().is_none() {
            let scratch = Scratch::new(file).inspect_err(refuse)?;
            let _ = SCRATCH.set(scratch);
        }
        Ok(())
    }
    #[cfg(not(target_os = "linux"))]
    {
        drop(file);
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(target_os = "linux")]
fn refuse(error: &io::Error) {
    let code = error.raw_os_error().unwrap_or(libc::ENOSPC);
    let _ = REFUSED.compare_exchange(0, code, Relaxed, Relaxed);
}

/// Returns the bytes of the program. All are 0 if [`SpillingAllocator`] is not the global allocator.
#[must_use]
pub fn usage() -> Usage {
    let (heap, peak_heap) = (count::heap(), count::peak());
    #[cfg(target_os = "linux")]
    let (spilled, peak_spilled) = SCRATCH.get().map_or((0, 0), |scratch| (scratch.held(), scratch.peak()));
    #[cfg(not(target_os = "linux"))]
    let (spilled, peak_spilled) = (0, 0);
    Usage { heap, peak_heap, spilled, peak_spilled }
}

/// Checks that the heap is within a twentieth of the limit.
///
/// # Errors
/// It is not.
pub fn check() -> Result<(), Exceeded> {
    let (heap, limit) = (count::heap(), LIMIT.load(Relaxed));
    match REFUSED.load(Relaxed) {
        _ if heap <= limit.saturating_add(limit / 20) => Ok(()),
        0 => Err(Exceeded::Heap { heap, limit }),
        code => Err(Exceeded::Scratch(io::Error::from_raw_os_error(code))),
    }
}

/// Returns the heap that an allocation of this size may fill. The largest spill first, so that small ones have room.
fn share(size: usize, limit: usize) -> usize {
    match size {
        0..LARGE => usize::MAX,
        LARGE..HUGE => limit - limit / 8,
        _ => limit - limit / 8 * 3,
    }
}

/// Returns an allocation in the scratch file, if the heap has no room for `added` bytes, and null otherwise.
#[cfg(target_os = "linux")]
fn spill(layout: Layout, added: usize) -> *mut u8 {
    let share = share(layout.size(), LIMIT.load(Relaxed));
    let has_room = || count::heap().saturating_add(added) <= share;
    if share == usize::MAX || layout.align() > 4096 || has_room() {
        return std::ptr::null_mut();
    }
    let Some(scratch) = SCRATCH.get() else { return std::ptr::null_mut() };
    scratch.allocate(layout.size()).unwrap_or_else(|error| {
        refuse(&error);
        std::ptr::null_mut()
    })
}

#[cfg(not(target_os = "linux"))]
fn spill(_layout: Layout, _added: usize) -> *mut u8 {
    std::ptr::null_mut()
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

// SAFETY: a block is one of the system's allocator, to which each call about it is passed on, or a range of the scratch
// file, which is mapped as long as the process lives, is as long as the block, and is handed out once. Addresses tell
// which. Neither counting nor the scratch file allocates.
unsafe impl GlobalAlloc for SpillingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let spilled = spill(layout, layout.size());
        if !spilled.is_null() {
            return spilled;
        }
        // SAFETY: the caller keeps the contract of this method, which is the same.
        counted(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // Unused ranges of the file are zeros.
        let spilled = spill(layout, layout.size());
        if !spilled.is_null() {
            return spilled;
        }
        // SAFETY: as above.
        counted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        #[cfg(target_os = "linux")]
        if let Some(scratch) = SCRATCH.get().filter(|scratch| scratch.contains(block)) {
            return scratch.free(block, layout.size());
        }
        count::add(-taken(layout.size()));
        // SAFETY: a block outside of the file comes from `System`, with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size does not overflow when it is rounded up to the alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let is_spilled;
        #[cfg(target_os = "linux")]
        {
            let scratch = SCRATCH.get().filter(|scratch| scratch.contains(block));
            if scratch.is_some_and(|scratch| scratch.resize(block, layout.size(), size)) {
                return block;
            }
            is_spilled = scratch.is_some();
        }
        #[cfg(not(target_os = "linux"))]
        {
            is_spilled = false;
        }
        let mut moved = spill(new, size.saturating_sub(layout.size()));
        if moved.is_null() && !is_spilled {
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
