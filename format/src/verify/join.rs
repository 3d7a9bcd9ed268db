//! [`Join`]: parallel execution, provided by the caller.

/// Runs two closures, in sequence or in parallel. This crate starts no threads.
pub trait Join: Sync {
    /// Runs both and returns their results.
    fn join<A: Send, B: Send>(&self, first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B);

    /// Returns the number of pieces to cut work into, at least 1. Results do not depend on it.
    fn pieces(&self) -> usize;
}

/// Runs closures in sequence.
#[derive(Clone, Copy, Debug)]
pub struct InTurn;

impl Join for InTurn {
    fn join<A: Send, B: Send>(&self, first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
        (first(), second())
    }

    fn pieces(&self) -> usize {
        1
    }
}
