//! Threads that a command can do without.

use std::thread;

/// Returns true if the system has room for one more thread.
///
/// A progress bar ticks on a thread of its own, and its library panics if that cannot be started: without room for it, leave the ticks out.
pub fn can_start_thread() -> bool {
    thread::Builder::new().spawn(|| ()).is_ok_and(|thread| thread.join().is_ok())
}
