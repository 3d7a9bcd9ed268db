//! Bound of the bytes between the reader and the assembler: [`Gate`].

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Counter of the bytes that were read and not assembled yet. One batch may always pass.
#[derive(Debug)]
pub(super) struct Gate {
    max_len: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    len: usize,
    is_closed: bool,
}

impl Gate {
    /// Creates a gate for this many bytes.
    pub(super) fn new(max_len: usize) -> Self {
        Self { max_len, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits until a batch fits. Returns false if the gate was closed.
    pub(super) fn enter(&self, len: usize) -> bool {
        let mut state = self.state();
        while !state.is_closed && state.len > 0 && state.len.saturating_add(len) > self.max_len {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.len = state.len.saturating_add(len);
        !state.is_closed
    }

    /// Makes room after a batch was assembled.
    pub(super) fn leave(&self, len: usize) {
        let mut state = self.state();
        state.len = state.len.saturating_sub(len);
        self.changed.notify_all();
    }

    /// Ends all waiting.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn one_long_batch_passes_and_the_next_waits_until_it_leaves() {
        let gate = Arc::new(Gate::new(10));
        assert!(gate.enter(100));
        let waiting = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.enter(1)
        });
        assert_eq!(gate.state().len, 100);
        gate.leave(100);
        assert!(waiting.join().unwrap());
        assert!(gate.enter(9));
        assert_eq!(gate.state().len, 10);
    }

    #[test]
    fn closing_ends_waiting() {
        let gate = Arc::new(Gate::new(10));
        assert!(gate.enter(10));
        let waiting = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.enter(1)
        });
        gate.close();
        assert!(!waiting.join().unwrap());
    }
}
