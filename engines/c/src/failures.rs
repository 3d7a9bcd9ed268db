//! Errors of single blocks of a folder, beside a result.

use std::mem::MaybeUninit;

use crate::error::{CxError, Failure, guard, guard_value};
use crate::pointer::required;
use crate::status::CxStatus;

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

/// Writes the error at `position` to `failure`.
#[unsafe(no_mangle)]
pub extern "C" fn cx_failures_get(
    failures: Option<&CxFailures>,
    position: usize,
    failure: Option<&mut MaybeUninit<CxError>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let found = required(failures, "failures")?.failures.get(position);
        let found = found.ok_or_else(|| Failure::usage(format!("position {position} is out of range")))?;
        required(failure, "failure")?.write(found.to_c());
        Ok(())
    })
}
