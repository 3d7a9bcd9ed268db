//! Limits of queries, and cancellation.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chronoxide_select::Limits;

use crate::error::{CxError, guard, guard_value};
use crate::opened::give;
use crate::status::CxStatus;

/// Limits of a query. Calls accept NULL, and a struct of zeros, for none.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CxLimits<'a> {
    /// Maximum number of selected series, or 0 for no limit. More of them give CX_TOO_MANY_SERIES. Limits selections
    /// only: counts, names and values of labels list no series.
    pub max_series: u64,
    /// Maximum time in milliseconds from the begin of the call, or 0 for no limit. Afterwards, CX_TIMEOUT.
    pub timeout_ms: u64,
    /// Flag that cancels the query, or NULL. Once it is set, CX_CANCELLED.
    pub cancel: Option<&'a CxCancel>,
    /// Maximum memory of the refs of a selection in bytes, or 0 for 1 GiB. More give CX_OUT_OF_RESOURCES.
    pub max_memory: u64,
}

/// A flag that one thread sets to cancel the queries of others.
pub struct CxCancel {
    flag: Arc<AtomicBool>,
}

/// Returns the limits of a query, with the deadline counted from now. `flag` is that of the limits, borrowed for as
/// long as the query.
pub(crate) fn limits<'a>(limits: Option<&CxLimits<'_>>, flag: Option<&'a AtomicBool>) -> Limits<'a> {
    let mut all = Limits::default();
    if let Some(limits) = limits {
        if limits.max_series > 0 {
            all = all.with_max_series(limits.max_series);
        }
        if limits.timeout_ms > 0 {
            all = all.with_timeout(Duration::from_millis(limits.timeout_ms));
        }
        if limits.max_memory > 0 {
            all = all.with_max_memory(limits.max_memory);
        }
    }
    match flag {
        Some(flag) => all.with_cancellation(flag),
        None => all,
    }
}

/// Returns the flag of limits, shared: what outlives a call must not borrow it.
pub(crate) fn flag(limits: Option<&CxLimits<'_>>) -> Option<Arc<AtomicBool>> {
    limits.and_then(|limits| limits.cancel).map(|cancel| Arc::clone(&cancel.flag))
}

/// Makes a flag that is not set.
#[unsafe(no_mangle)]
pub extern "C" fn cx_cancel_new(
    cancel: Option<&mut MaybeUninit<*mut CxCancel>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || give(cancel, "cancel", || Ok(CxCancel { flag: Arc::default() })))
}

/// Sets a flag, from any thread. Does nothing for NULL. It cannot be unset.
#[unsafe(no_mangle)]
pub extern "C" fn cx_cancel_set(cancel: Option<&CxCancel>) {
    guard_value(|| {
        if let Some(cancel) = cancel {
            cancel.flag.store(true, Ordering::Relaxed);
        }
    });
}

/// Frees a flag, or does nothing for NULL. No query may use it any more, except by a cursor, which keeps it.
#[unsafe(no_mangle)]
pub extern "C" fn cx_cancel_free(cancel: Option<Box<CxCancel>>) {
    guard_value(|| drop(cancel));
}
