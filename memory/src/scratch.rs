//! Allocations in a mapped file: [`Scratch`].
//!
//! The file is mapped once, much longer than it will ever get: it has holes. A large allocation takes the next range,
//! to which zeros are written, so that a full disk is an allocation that fails and not a signal later. A range that is
//! freed becomes a hole again, and is never used again. Small allocations are parts of such ranges, and are used again.
//! A long allocation of zeros stays a hole until it is written to: many are never written to as a whole.

use std::alloc::Layout;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use memmap2::{MmapOptions, MmapRaw};

use crate::class::{CLASSES, Class};
use crate::{HUGE, LARGE};

/// Lengths of the map, from what would be best to what is still useful. File systems and `ulimit -v` allow less.
const LENGTHS: [u64; 4] = [8 << 40, 1 << 40, 64 << 30, 4 << 30];

/// Unit of ranges: a multiple of the size of a page on all systems.
const UNIT: usize = 64 << 10;

/// Maximum alignment of an allocation.
const MAX_ALIGN: usize = 4096;

/// A mapped scratch file.
pub(crate) struct Scratch {
    file: File,
    map: MmapRaw,
    /// Start of the unused rest.
    next: AtomicUsize,
    held: AtomicUsize,
    peak: AtomicUsize,
    parts: [Mutex<Parts>; CLASSES],
}

/// Small allocations of one class. Places are offsets in the file.
struct Parts {
    /// The freed part that is used next. Its first bytes are the place of the one after it, or [`NONE`].
    freed: usize,
    /// Unused rest of a range.
    unused: std::ops::Range<usize>,
}

const NONE: usize = usize::MAX;

impl Scratch {
    /// Maps a file, which must be empty, and which nothing else may read or write.
    ///
    /// # Errors
    /// The file system cannot reserve space or make holes, or the file cannot be mapped.
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let mut refused = io::Error::from(io::ErrorKind::FileTooLarge);
        // The heap needs addresses, too.
        // SAFETY: the limits are valid for writing.
        let file_size = limit(|limit| unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, limit) });
        // SAFETY: as above.
        let addresses = limit(|limit| unsafe { libc::getrlimit(libc::RLIMIT_AS, limit) });
        let longest = file_size.min(addresses / 4);
        for len in LENGTHS.into_iter().filter(|&len| len <= longest) {
            let mapped = file.set_len(len).and_then(|()| {
                let len = usize::try_from(len).map_err(io::Error::other)?;
                MmapOptions::new().len(len).map_raw(&file)
            });
            match mapped {
                Ok(map) => {
                    let parts = [const { Mutex::new(Parts { freed: NONE, unused: 0..0 }) }; CLASSES];
                    let scratch = Self { file, map, next: 0.into(), held: 0.into(), peak: 0.into(), parts };
                    scratch.reserve(0, UNIT)?;
                    scratch.punch(0, UNIT)?;
                    return Ok(scratch);
                }
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// Returns an allocation, or why there is none. A large one is zeros; of one that is to be zeros, the file system
    /// takes space later.
    pub(crate) fn allocate(&self, layout: Layout, are_zeros: bool) -> io::Result<*mut u8> {
        if layout.align() > MAX_ALIGN {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (place, len) = match Class::of(layout) {
            Some(class) => (self.part(class)?, class.len()),
            None => {
                let len = units(layout.size()).ok_or(io::ErrorKind::OutOfMemory)?;
                let is_hole = are_zeros && len >= HUGE;
                (if is_hole { self.hole(len)? } else { self.range(len)? }, len)
            }
        };
        self.add(len);
        Ok(self.map.as_mut_ptr().wrapping_add(place))
    }

    /// Returns true if an allocation is in the file.
    pub(crate) fn contains(&self, block: *mut u8) -> bool {
        self.offset(block) < self.map.len()
    }

    /// Frees an allocation.
    ///
    /// # Safety
    /// The block is one of this file with this layout, and is not used any more.
    pub(crate) unsafe fn free(&self, block: *mut u8, layout: Layout) {
        let place = self.offset(block);
        match Class::of(layout) {
            Some(class) => {
                self.held.fetch_sub(class.len(), Relaxed);
                let mut parts = self.lock(class);
                // SAFETY: parts are aligned to 16 bytes or more and as long, and the caller gave this one up.
                unsafe { block.cast::<usize>().write(parts.freed) };
                parts.freed = place;
            }
            None => {
                let len = units(layout.size()).unwrap_or(0);
                self.held.fetch_sub(len, Relaxed);
                // A range that stays takes space on the disk until the process ends, and nothing else.
                let _ = self.punch(place, len);
            }
        }
    }

    /// Changes the length of an allocation where it is. Returns false if it has to move.
    pub(crate) fn resize(&self, block: *mut u8, from: Layout, to: Layout) -> bool {
        match (Class::of(from), Class::of(to)) {
            (None, None) => self.resize_range(self.offset(block), from.size(), to.size()),
            (from, to) => from == to,
        }
    }

    /// Returns the bytes of all allocations.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Relaxed)
    }

    /// Returns the maximum of the bytes of all allocations.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }

    fn add(&self, len: usize) {
        let held = self.held.fetch_add(len, Relaxed) + len;
        self.peak.fetch_max(held, Relaxed);
    }

    fn lock(&self, class: Class) -> std::sync::MutexGuard<'_, Parts> {
        self.parts[class.number()].lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns the place of a small allocation.
    fn part(&self, class: Class) -> io::Result<usize> {
        let len = class.len();
        let mut parts = self.lock(class);
        if parts.freed != NONE {
            let place = parts.freed;
            let block = self.map.as_mut_ptr().wrapping_add(place).cast::<usize>();
            // SAFETY: a freed part is in the map, and has the place of the next one, which `free` has written.
            parts.freed = unsafe { block.read() };
            return Ok(place);
        }
        if parts.unused.len() < len {
            // Few of the longest, so that little is left over.
            let range = units((64 * len).min(LARGE.max(4 * len))).ok_or(io::ErrorKind::OutOfMemory)?;
            let start = self.range(range)?;
            parts.unused = start..start + range;
        }
        let place = parts.unused.start;
        parts.unused.start += len;
        Ok(place)
    }

    /// Returns the place of the next range, whose length is a multiple of [`UNIT`].
    fn range(&self, len: usize) -> io::Result<usize> {
        let start = self.hole(len)?;
        self.reserve(start, len)?;
        Ok(start)
    }

    /// Returns the place of the next range, without space of the file system.
    fn hole(&self, len: usize) -> io::Result<usize> {
        let end = |start: usize| start.checked_add(len).filter(|&end| end <= self.map.len());
        Ok(self.next.fetch_update(Relaxed, Relaxed, end).map_err(|_| io::ErrorKind::StorageFull)?)
    }

    fn resize_range(&self, start: usize, from: usize, to: usize) -> bool {
        let (Some(old), Some(new)) = (units(from), units(to)) else { return false };
        if new <= old {
            if new < old {
                self.held.fetch_sub(old - new, Relaxed);
                let _ = self.punch(start + new, old - new);
            }
            return true;
        }
        // The last range can take what follows it.
        let end = start + new;
        if end > self.map.len() || self.next.compare_exchange(start + old, end, Relaxed, Relaxed).is_err() {
            return false;
        }
        if self.reserve(start + old, new - old).is_err() {
            return false;
        }
        self.add(new - old);
        true
    }

    fn offset(&self, block: *mut u8) -> usize {
        block.addr().wrapping_sub(self.map.as_ptr().addr())
    }

    /// Writes zeros, so that the file system has taken space for all that belongs to a range. `fallocate` would not do:
    /// on a full disk ext4 can lack a block to note that a part of what it reserved is used, which is a signal.
    fn reserve(&self, start: usize, len: usize) -> io::Result<()> {
        for done in (0..len).step_by(ZEROS.len()) {
            let zeros = &ZEROS[..ZEROS.len().min(len - done)];
            if let Err(error) = self.file.write_all_at(zeros, (start + done) as u64) {
                let _ = self.punch(start, len);
                return Err(error);
            }
        }
        Ok(())
    }

    fn punch(&self, start: usize, len: usize) -> io::Result<()> {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        loop {
            // SAFETY: a call without pointers; the file is open as long as `self` lives.
            let done = unsafe { libc::fallocate(self.file.as_raw_fd(), mode, start as i64, len as i64) };
            if done == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

/// Returns the bytes that a length takes.
fn units(len: usize) -> Option<usize> {
    len.checked_next_multiple_of(UNIT)
}

/// Returns a soft limit of the process in bytes.
fn limit(get: impl FnOnce(*mut libc::rlimit) -> libc::c_int) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    if get(&raw mut limit) == 0 { limit.rlim_cur } else { 0 }
}

/// Addresses of the map, for the signal handler.
static START: AtomicUsize = AtomicUsize::new(0);
static LEN: AtomicUsize = AtomicUsize::new(0);

/// Ends the process with a message if a page of the file cannot be read or written.
extern "C" fn end_of_page(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the system passes valid information; all calls may be made in a signal handler.
    unsafe {
        if (*info).si_addr().addr().wrapping_sub(START.load(Relaxed)) < LEN.load(Relaxed) {
            let message = b"error: memory beyond the limit cannot be in the scratch file: the disk is full, or fails\n";
            libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len());
            libc::_exit(1);
        }
        // Not ours: the instruction runs again, and ends the process.
        libc::signal(signal, libc::SIG_DFL);
    }
}

/// Names the reason if a disk that is full, or fails, ends the process.
pub(crate) fn explain(scratch: &Scratch) {
    START.store(scratch.map.as_ptr().addr(), Relaxed);
    LEN.store(scratch.map.len(), Relaxed);
    // SAFETY: all bytes of the action may be zero, and the handler calls what a handler may call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = end_of_page as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}
