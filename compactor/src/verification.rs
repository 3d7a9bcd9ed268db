//! Verifies blocks on all threads.

use std::path::Path;

use chronoxide_format::Result;
use chronoxide_format::verify::{ContentFingerprint, Join};
use chronoxide_format::view::BlockView;
use chronoxide_locations::Facts;
use chronoxide_reader::{Block, Checks, OpenError};

use crate::engine::Refused;

/// Verifies a block like [`BlockView::verify`], on all threads.
///
/// # Errors
/// The first broken rule.
pub fn verify(view: &BlockView<'_>) -> Result<ContentFingerprint> {
    view.verify_on(&AllThreads)
}

/// Threads of the current rayon pool.
struct AllThreads;

impl Join for AllThreads {
    fn join<A: Send, B: Send>(&self, first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
        rayon::join(first, second)
    }

    fn pieces(&self) -> usize {
        // More pieces than threads, since keysets differ in size.
        match rayon::current_num_threads() {
            1 => 1,
            threads => threads * 8,
        }
    }
}

/// Opens a written block, verifies it on all threads, and returns what it states. Archives need not be decoded by
/// `open`.
///
/// # Errors
/// The file cannot be read, or breaks a rule.
pub fn verify_file(
    path: &Path,
    open: &dyn Fn(&Path) -> std::result::Result<Block, OpenError>,
) -> std::result::Result<Facts, Refused> {
    let damaged = |source| OpenError::Block { path: path.to_owned(), source };
    let block = open(path)?;
    block.unpack().map_err(damaged)?;
    verify(&block.view()).map_err(damaged)?;
    Ok(Facts::from_view(&block.view()).map_err(damaged)?)
}

/// Reads a block into memory and verifies it as [`verify_file`].
///
/// # Errors
/// As [`verify_file`].
pub fn verify_block(path: &Path) -> std::result::Result<Facts, Refused> {
    verify_file(path, &|path| Block::read(path, Checks::Never))
}
