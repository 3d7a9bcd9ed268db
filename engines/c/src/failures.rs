//! Errors of single blocks, beside a result.

use std::mem::MaybeUninit;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{CxError, Failure, guard, guard_value};
use crate::pointer::give;
use crate::status::CxStatus;

/// Errors of single blocks, whose part of a result is missing. Several threads may use one handle at once.
#[derive(Default)]
pub struct CxFailures {
    failures: Mutex<Vec<Failure>>,
}

impl CxFailures {
    fn lock(&self) -> MutexGuard<'_, Vec<Failure>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn extend(&self, failures: impl IntoIterator<Item = Failure>) {
        self.lock().extend(failures);
    }
}

/// Makes an empty list, to which queries add errors of blocks: see cx_query.
#[unsafe(no_mangle)]
pub extern "C" fn cx_failures_new(
    failures: Option<&mut MaybeUninit<*mut CxFailures>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || give(failures, "failures", || Ok(CxFailures::default())))
}

/// Returns the number of errors; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_failures_count(failures: Option<&CxFailures>) -> usize {
    guard_value(|| failures.map_or(0, |failures| failures.lock().len()))
}

/// Writes the error at `position` to `failure`. Returns false, and writes nothing, if it is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn cx_failures_get(
    failures: Option<&CxFailures>,
    position: usize,
    failure: Option<&mut MaybeUninit<CxError>>,
) -> bool {
    guard_value(|| {
        let (Some(failures), Some(failure)) = (failures, failure) else { return false };
        failures.lock().get(position).is_some_and(|found| {
            failure.write(found.to_c());
            true
        })
    })
}

/// Frees a list that cx_failures_new made, or does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_failures_free(failures: Option<Box<CxFailures>>) {
    guard_value(|| drop(failures));
}
