//! Errors of single blocks of a folder, beside a result.

use std::mem::MaybeUninit;

use crate::error::{CxError, Failure, guard_value};

/// Errors of single blocks of a folder, whose part of a result is missing. Belongs to the handle it came from.
pub struct CxFailures {
    failures: Vec<Failure>,
}

impl CxFailures {
    pub(crate) fn new(failures: impl IntoIterator<Item = Failure>) -> Self {
        Self { failures: failures.into_iter().collect() }
    }

    pub(crate) fn none() -> Self {
        Self::new([])
    }
}

/// Returns the number of errors; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_failures_count(failures: Option<&CxFailures>) -> usize {
    guard_value(|| failures.map_or(0, |failures| failures.failures.len()))
}

/// Writes the error at `position` to `failure`. Returns false, and writes nothing, if it is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn cx_failures_get(
    failures: Option<&CxFailures>,
    position: usize,
    failure: Option<&mut MaybeUninit<CxError>>,
) -> bool {
    guard_value(|| {
        let found = failures.and_then(|failures| failures.failures.get(position));
        let (Some(found), Some(failure)) = (found, failure) else { return false };
        failure.write(found.to_c());
        true
    })
}
