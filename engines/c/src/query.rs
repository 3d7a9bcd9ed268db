//! Queries of the caller; counts, names and values of labels.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use blocks::{Blocks, Damage, Query, Selector};

use crate::blocks::{CxBlocks, CxTimeRange};
use crate::error::{CxError, Failure, guard, guard_value};
use crate::failures::CxFailures;
use crate::label::CxString;
use crate::pointer::{self, give, required};
use crate::selector::CxSelector;
use crate::status::CxStatus;
use crate::strings::CxStrings;

/// Selected series, and limits of the work. Calls accept NULL, and a struct of zeros, for all series without limits.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CxQuery<'a> {
    /// Selectors: a series is selected if one of them matches it. NULL for all series.
    pub selectors: *const Option<&'a CxSelector>,
    /// Number of `selectors`.
    pub selector_count: usize,
    /// Range of times, or NULL: leaves out blocks without data in it, and series whose first and last time in a block
    /// (the columns chronoxide.first_time and chronoxide.last_time) do not meet it. One that is empty selects nothing.
    pub within: Option<&'a CxTimeRange>,
    /// Errors of blocks that are damaged where the query reads them are added here, and their series are missing. NULL
    /// to fail with the first of them. For those that rows meet later, see cx_rows_damaged.
    pub damaged: Option<&'a CxFailures>,
    /// Flag that cancels the query, or NULL. Once it is set, CX_CANCELLED.
    pub cancel: Option<&'a CxCancel>,
    /// Maximum number of selected series, or 0 for no limit. More of them give CX_TOO_MANY_SERIES. Names and values of
    /// labels are not limited. A series that two blocks have counts twice.
    pub max_series: u64,
    /// Maximum memory of the refs of a selection in bytes, or 0 for 1 GiB. More give CX_OUT_OF_RESOURCES.
    pub max_memory: u64,
    /// Maximum time in milliseconds from the begin of the call to the last row, or 0 for no limit. Afterwards,
    /// CX_TIMEOUT.
    pub timeout_ms: u64,
    /// Maximum number of names or values of labels, the first ones, or 0 for all.
    pub max_strings: usize,
    /// Only names or values of labels behind this one, by bytes; `data` is NULL for all.
    pub strings_after: CxString,
}

/// A flag that one thread sets to cancel the queries of others.
pub struct CxCancel {
    flag: Arc<AtomicBool>,
}

impl CxQuery<'_> {
    /// Returns the flag that cancels the query, for rows that outlive the call.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.cancel.map(|cancel| Arc::clone(&cancel.flag)).unwrap_or_default()
    }

    /// Adds time range and limits to a query.
    ///
    /// # Safety
    /// `strings_after` is a string.
    unsafe fn limit<'b>(&self, mut query: Query<'b>) -> Result<Query<'b>, Failure> {
        if let Some(&CxTimeRange { start, end }) = self.within {
            query = query.between(start, end);
        }
        if self.max_series > 0 {
            query = query.max_series(self.max_series);
        }
        if self.max_memory > 0 {
            query = query.max_memory(self.max_memory);
        }
        if self.timeout_ms > 0 {
            query = query.timeout(Duration::from_millis(self.timeout_ms));
        }
        if self.max_strings > 0 {
            query = query.max_strings(self.max_strings);
        }
        if !self.strings_after.data.is_null() {
            // SAFETY: this function's contract.
            let after = unsafe { pointer::text(self.strings_after.data, self.strings_after.len, "strings_after") }?;
            query = query.strings_after(after);
        }
        Ok(query)
    }
}

/// All that the query of a call borrows.
pub(crate) struct Asked<'a> {
    pub(crate) blocks: &'a Blocks,
    pub(crate) flag: Option<&'a AtomicBool>,
    pub(crate) damaged: Damage,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(blocks: Option<&'a CxBlocks>, query: Option<&CxQuery<'a>>) -> Result<Self, Failure> {
        let flag = query.and_then(|query| query.cancel).map(|cancel| &*cancel.flag);
        Ok(Self { blocks: &required(blocks, "blocks")?.blocks, flag, damaged: Damage::new() })
    }

    /// Answers the query of the caller, or one of all series, and passes on the errors of damaged blocks that are
    /// skipped.
    ///
    /// # Safety
    /// `selectors` points to as many selectors as it says, and `strings_after` is a string.
    pub(crate) unsafe fn ask<T>(
        &self,
        query: Option<&CxQuery<'_>>,
        answer: impl FnOnce(Query<'a>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        // SAFETY: this function's contract.
        let answered = unsafe { self.query(query) }.and_then(answer);
        if let Some(damaged) = query.and_then(|query| query.damaged) {
            report(&self.damaged, damaged);
        }
        answered
    }

    /// Returns the query of the caller.
    ///
    /// # Safety
    /// As [`Asked::ask`].
    unsafe fn query(&self, query: Option<&CxQuery<'_>>) -> Result<Query<'a>, Failure> {
        let Some(wanted) = query else { return Ok(self.blocks.query(Selector::default())?) };
        let selectors = match wanted.selectors.is_null() {
            true => &[],
            // SAFETY: this function's contract.
            false => unsafe { pointer::array(wanted.selectors, wanted.selector_count, "selectors") }?,
        };
        let mut selectors = selectors.iter().map(|selector| required(*selector, "selector"));
        let first = selectors.next().transpose()?.map_or_else(Selector::default, |first| first.selector.clone());
        // SAFETY: this function's contract.
        let mut query = unsafe { wanted.limit(self.blocks.query(first)?) }?;
        for selector in selectors {
            query = query.or(&selector?.selector)?;
        }
        if let Some(flag) = self.flag {
            query = query.cancelled_by(flag);
        }
        Ok(if wanted.damaged.is_some() { query.skip_damaged(&self.damaged) } else { query })
    }
}

/// Passes on the errors of damaged blocks that were skipped.
pub(crate) fn report(damage: &Damage, damaged: &CxFailures) {
    damaged.extend(damage.take().into_iter().map(Failure::from));
}

/// Counts the series of a query. A series that several blocks have counts once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_query_count(
    blocks: Option<&CxBlocks>,
    query: Option<&CxQuery<'_>>,
    count: Option<&mut MaybeUninit<u64>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let (asked, count) = (Asked::new(blocks, query)?, required(count, "count")?);
        // SAFETY: the caller's contract.
        count.write(unsafe { asked.ask(query, |query| Ok(query.count()?)) }?);
        Ok(())
    })
}

/// Lists the names of the labels of the series of a query.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_query_label_names(
    blocks: Option<&CxBlocks>,
    query: Option<&CxQuery<'_>>,
    names: Option<&mut MaybeUninit<*mut CxStrings>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(names, "names", || {
            let asked = Asked::new(blocks, query)?;
            // SAFETY: the caller's contract.
            unsafe { asked.ask(query, |query| Ok(CxStrings::new(&query.label_names()?, asked.blocks))) }
        })
    })
}

/// Lists the values that a label has in the series of a query.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_query_label_values(
    blocks: Option<&CxBlocks>,
    query: Option<&CxQuery<'_>>,
    name: *const c_char,
    name_len: usize,
    values: Option<&mut MaybeUninit<*mut CxStrings>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(values, "values", || {
            let asked = Asked::new(blocks, query)?;
            // SAFETY: the caller's contract.
            let name = unsafe { pointer::text(name, name_len, "name") }?;
            // SAFETY: the caller's contract.
            unsafe { asked.ask(query, |query| Ok(CxStrings::new(&query.label_values(name)?, asked.blocks))) }
        })
    })
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

/// Frees a flag, or does nothing for NULL. No query may use it any more, except rows, which keep it.
#[unsafe(no_mangle)]
pub extern "C" fn cx_cancel_free(cancel: Option<Box<CxCancel>>) {
    guard_value(|| drop(cancel));
}
