//! Optional threads.

use std::thread;

/// Returns true if the system has room for one more thread.
///
/// The ticks of a progress bar run on a thread, and its library panics if the thread cannot be started. Call this
/// first, and disable the ticks if it returns false.
#[must_use]
pub fn can_start_thread() -> bool {
    thread::Builder::new().spawn(|| ()).is_ok_and(|thread| thread.join().is_ok())
}
