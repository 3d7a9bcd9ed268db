//! Verifies blocks on all threads.

use chronoxide_format::Result;
use chronoxide_format::verify::{ContentFingerprint, Join};
use chronoxide_format::view::BlockView;

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
