//! [`Limits`]: bounds of a query's work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::SelectError;

/// Bounds of a query: most series, most time, and a switch to cancel it. The default has none.
///
/// ```
/// use std::time::Duration;
///
/// use chronoxide_select::Limits;
///
/// let limits = Limits::default().with_max_series(100_000).with_timeout(Duration::from_secs(2));
/// # let _ = limits;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    max_series: Option<u64>,
    deadline: Option<Instant>,
    cancelled: Option<&'a AtomicBool>,
}

impl<'a> Limits<'a> {
    /// Fails a selection of more than `max` series with [`SelectError::TooManySeries`].
    #[must_use]
    pub fn with_max_series(self, max: u64) -> Self {
        Self { max_series: Some(max), ..self }
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
    pub(crate) fn without_max_series(self) -> Self {
        Self { max_series: None, ..self }
    }

    /// Checks the clock and the flag. Called at least once per some ten thousand rows or values.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), SelectError> {
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
    #[inline]
    pub(crate) fn check_series(&self, count: u64) -> Result<(), SelectError> {
        match self.max_series {
            Some(limit) if count > limit => Err(SelectError::TooManySeries { limit }),
            _ => Ok(()),
        }
    }
}
