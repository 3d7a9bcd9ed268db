//! Progress of a compaction, and its cancellation: [`Observer`].

use std::fmt;
use std::time::Duration;

use crate::CompactError;

/// A phase of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Checking every rule of the format on each input.
    Verify,
    /// Merging symbols, dictionaries, shared tables and lists.
    Tables,
    /// Merging the rows of keysets.
    Rows,
    /// Renumbering the tables of the outputs, and planning if requested.
    Plan,
    /// Writing, reading again and publishing outputs.
    Write,
    /// Finding the series of the inputs in the outputs, for remaps.
    Remap,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 6] = [Self::Verify, Self::Tables, Self::Rows, Self::Plan, Self::Write, Self::Remap];

    /// Name of the phase, one word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Tables => "tables",
            Self::Rows => "rows",
            Self::Plan => "plan",
            Self::Write => "write",
            Self::Remap => "remap",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Receives the progress of a compaction, and can cancel it. Called from one thread at a time.
pub trait Observer: Sync {
    /// Reports that `done` of `total` units of a phase are complete; the unit depends on the phase. Return false to
    /// cancel the compaction: no further output is published then.
    fn progress(&self, phase: Phase, done: u64, total: u64) -> bool;

    /// Reports that an output of this length is uploaded now.
    fn uploading(&self, byte_len: u64) {
        let _ = byte_len;
    }
}

/// An observer that ignores progress and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn progress(&self, _phase: Phase, _done: u64, _total: u64) -> bool {
        true
    }
}

/// Asks the observer before each step.
pub(crate) struct Watch<'a> {
    observer: &'a dyn Observer,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(observer: &'a dyn Observer) -> Self {
        Self { observer }
    }

    /// Reports progress, and looks whether the process keeps its limit of memory.
    ///
    /// # Errors
    /// [`CompactError::Cancelled`] if the observer returns false, and [`CompactError::Exceeded`].
    pub(crate) fn progress(&self, phase: Phase, done: u64, total: u64) -> Result<(), CompactError> {
        chronoxide_memory::check()?;
        if self.observer.progress(phase, done, total) { Ok(()) } else { Err(CompactError::Cancelled) }
    }
}

/// Duration of each phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings([Duration; Phase::ALL.len()]);

impl Timings {
    /// Returns the duration of a phase; zero if it did not run.
    #[must_use]
    pub fn duration(&self, phase: Phase) -> Duration {
        self.0[phase as usize]
    }

    pub(crate) fn add(&mut self, phase: Phase, time: Duration) {
        self.0[phase as usize] += time;
    }
}
