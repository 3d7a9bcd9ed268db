//! Who runs what can run at once.

/// Runs two things: one after the other, or both at once on threads that it has. This crate has none.
pub trait Join: Sync {
    /// Runs both and returns what they return.
    fn join<A: Send, B: Send>(&self, first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B);

    /// Into how many pieces work should be cut, at least 1. What comes out does not depend on it.
    fn pieces(&self) -> usize;
}

/// One after the other.
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
