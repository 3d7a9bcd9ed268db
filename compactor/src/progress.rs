//! How far a compaction is, and whether it is to go on.

use std::fmt;
use std::time::Duration;

/// What a compaction is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Checking every rule of the format on each input.
    Verify,
    /// MergeContext symbols, dictionaries, shared tables and lists.
    Tables,
    /// MergeContext the rows of keysets.
    Rows,
    /// Renumbering, and strategy if asked to.
    Plan,
    /// Writing, reading again and publishing outputs.
    Write,
    /// Finding the series of the inputs in the outputs, if remaps are wanted.
    Remap,
}

impl Phase {
    /// All of them, in order.
    pub const ALL: [Self; 6] = [Self::Verify, Self::Tables, Self::Rows, Self::Plan, Self::Write, Self::Remap];

    /// One word.
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

/// Watches a compaction; asked from one thread at a time.
pub trait Observer: Sync {
    /// So much of a phase is done; of what is counted, the phase decides. Whether to go on: if not, nothing is written.
    fn progress(&self, phase: Phase, done: u64, of: u64) -> bool;
}

/// Sees nothing and stops nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn progress(&self, _phase: Phase, _done: u64, _of: u64) -> bool {
        true
    }
}

/// How long each phase took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings([Duration; Phase::ALL.len()]);

impl Timings {
    /// The time of a phase.
    pub fn duration(&self, phase: Phase) -> Duration {
        self.0[phase as usize]
    }

    pub(crate) fn add(&mut self, phase: Phase, time: Duration) {
        self.0[phase as usize] += time;
    }
}
