//! The memory map of a block.

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a whole file to be read.
///
/// # Safety
/// For as long as the map lives, the file must not be truncated and its bytes must not be changed, by this process or
/// any other: the map is handed out as `&[u8]`, whose bytes must not change, and a page beyond the end of a truncated
/// file ends the process with SIGBUS. Blocks that were published and are only ever deleted or replaced by renaming keep
/// this contract: a map keeps the content of a deleted file.
pub(crate) unsafe fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the caller keeps the contract of `Mmap::map`, which is the one stated above.
    unsafe { Mmap::map(file) }
}
