//! [`Limits`]: bounds of a query's work.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::SelectError;

/// Bounds of a query: most series, most memory, most time, and a switch to cancel it. The default limits the memory
/// only, to [`Limits::DEFAULT_MAX_MEMORY`].
///
/// ```
/// use std::time::Duration;
///
/// use chronoxide_select::Limits;
///
/// let limits = Limits::default().with_max_series(100_000).with_timeout(Duration::from_secs(2));
/// # let _ = limits;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    max_series: Option<u64>,
    max_memory: u64,
    /// Bytes of all selections of the query, if several blocks share the limit.
    reserved: Option<&'a AtomicU64>,
    deadline: Option<Instant>,
    cancelled: Option<&'a AtomicBool>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        let max_memory = Self::DEFAULT_MAX_MEMORY;
        Self { max_series: None, max_memory, reserved: None, deadline: None, cancelled: None }
    }
}

impl<'a> Limits<'a> {
    /// Maximum memory of the refs of a selection in bytes, unless set: 1 GiB, which is enough for every second series
    /// of 268 million.
    pub const DEFAULT_MAX_MEMORY: u64 = 1 << 30;

    /// Fails a selection of more than `max` series with [`SelectError::TooManySeries`].
    #[must_use]
    pub fn with_max_series(self, max: u64) -> Self {
        Self { max_series: Some(max), ..self }
    }

    /// Fails a selection whose refs take more than `max` bytes with [`SelectError::MemoryLimit`]: 8 bytes per range of
    /// refs. A small block can have very many series, and a selection of every second one as many ranges. Counts, and
    /// [`Pages`](crate::Pages), keep no list. Sorting a selection is not limited: it takes 16 bytes per series, and
    /// fails with [`SelectError::OutOfMemory`] if the system has no room for them.
    #[must_use]
    pub fn with_max_memory(self, max: u64) -> Self {
        Self { max_memory: max, ..self }
    }

    /// Fails a query that is not done after `timeout`, counted from this call, with [`SelectError::DeadlineExceeded`].
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        // A time that the clock cannot express never comes.
        Self { deadline: Instant::now().checked_add(timeout), ..self }
    }

    /// Fails a query with [`SelectError::Cancelled`] soon after another thread sets the flag.
    #[must_use]
    pub fn with_cancellation(self, flag: &'a AtomicBool) -> Self {
        Self { cancelled: Some(flag), ..self }
    }

    /// Returns the limits without that of the number of series.
    #[must_use]
    pub fn without_max_series(self) -> Self {
        Self { max_series: None, ..self }
    }

    /// Counts the memory of several selections, such as those of the blocks of a table, together: `reserved` is their
    /// sum in bytes, at first 0.
    #[must_use]
    pub fn with_shared_memory(self, reserved: &'a AtomicU64) -> Self {
        Self { reserved: Some(reserved), ..self }
    }

    /// Returns the maximum memory of a selection, in bytes.
    pub(crate) fn max_memory(&self) -> u64 {
        self.max_memory
    }

    /// Checks the memory of a selection, in bytes, before it grows by at most `wanted` bytes from `own`. Returns the
    /// bytes by which it may grow, at least `least`.
    pub(crate) fn reserve(&self, own: u64, wanted: u64, least: u64) -> Result<u64, SelectError> {
        let granted = |used: u64| {
            let room = self.max_memory.saturating_sub(used);
            (room >= least).then(|| room.min(wanted))
        };
        let granted = match self.reserved {
            None => granted(own),
            Some(reserved) => {
                let grow = |used: u64| granted(used).map(|more| used.saturating_add(more));
                let before = reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow);
                before.ok().and_then(granted)
            }
        };
        granted.ok_or(SelectError::MemoryLimit { limit: self.max_memory })
    }

    /// Checks the clock and the flag. Queries do it at least once per some ten thousand rows or values; callers can do
    /// it in their own loops.
    ///
    /// # Errors
    /// [`SelectError::Cancelled`] and [`SelectError::DeadlineExceeded`].
    #[inline]
    pub fn check(&self) -> Result<(), SelectError> {
        if self.cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(SelectError::Cancelled);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(SelectError::DeadlineExceeded);
        }
        Ok(())
    }

    /// Returns true if the number of selected series is limited.
    pub(crate) fn has_max_series(&self) -> bool {
        self.max_series.is_some()
    }

    /// Checks a number of selected series.
    ///
    /// # Errors
    /// [`SelectError::TooManySeries`].
    #[inline]
    pub fn check_series(&self, count: u64) -> Result<(), SelectError> {
        match self.max_series {
            Some(limit) if count > limit => Err(SelectError::TooManySeries { limit }),
            _ => Ok(()),
        }
    }
}
