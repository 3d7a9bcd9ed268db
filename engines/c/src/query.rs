//! Queries of one block.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::Arc;

use chronoxide_reader::View;
use chronoxide_select::SelectError;

use crate::block::CxBlock;
use crate::error::{CxError, guard};
use crate::failures::CxFailures;
use crate::limits::{CxLimits, flag, limits};
use crate::opened::give;
use crate::pointer::{self, required};
use crate::selection::CxSelection;
use crate::selector::{CxSelector, matchers};
use crate::status::CxStatus;
use crate::strings::{CxStrings, Source};

/// Selects the series that satisfy all matchers; all series if `selector` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_block_select(
    block: Option<&CxBlock>,
    selector: Option<&CxSelector>,
    limits: Option<&CxLimits<'_>>,
    selection: Option<&mut MaybeUninit<*mut CxSelection>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(selection, "selection", || {
            let cell = &required(block, "block")?.cell;
            let flag = flag(limits);
            let limits = self::limits(limits, flag.as_deref());
            let selected = cell.open().search(limits, |searcher| searcher.select(matchers(selector)))?;
            Ok(CxSelection::new(Arc::clone(cell), selected))
        })
    })
}

/// Writes the number of series that satisfy all matchers, without listing them; of all series if `selector` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_block_count(
    block: Option<&CxBlock>,
    selector: Option<&CxSelector>,
    limits: Option<&CxLimits<'_>>,
    count: Option<&mut MaybeUninit<u64>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let (cell, count) = (&required(block, "block")?.cell, required(count, "count")?);
        let flag = flag(limits);
        let limits = self::limits(limits, flag.as_deref());
        count.write(cell.open().search(limits, |searcher| searcher.count(matchers(selector)))?);
        Ok(())
    })
}

/// Lists the names of the labels of the series that satisfy all matchers; of all series if `selector` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_block_label_names(
    block: Option<&CxBlock>,
    selector: Option<&CxSelector>,
    limits: Option<&CxLimits<'_>>,
    names: Option<&mut MaybeUninit<*mut CxStrings>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(names, "names", || {
            let cell = &required(block, "block")?.cell;
            let flag = flag(limits);
            let limits = self::limits(limits, flag.as_deref());
            let names = match matchers(selector) {
                [] => cell.view().label_names().collect::<Result<_, _>>().map_err(|error| cell.locate(error))?,
                matchers => cell.open().search(limits, |searcher| searcher.label_names(matchers))?,
            };
            Ok(CxStrings::new(names, CxFailures::none(), || Source::Block(Arc::clone(cell))))
        })
    })
}

/// Lists the values that a label has in the series that satisfy all matchers, in all series if `selector` is NULL: the
/// first `max_values` of them, or all if it is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_block_label_values(
    block: Option<&CxBlock>,
    name: *const c_char,
    name_len: usize,
    selector: Option<&CxSelector>,
    max_values: usize,
    limits: Option<&CxLimits<'_>>,
    values: Option<&mut MaybeUninit<*mut CxStrings>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(values, "values", || {
            let cell = &required(block, "block")?.cell;
            // SAFETY: the caller's contract.
            let name = unsafe { pointer::bytes(name, name_len, "name") }?;
            let flag = flag(limits);
            let limits = self::limits(limits, flag.as_deref());
            let most = (max_values > 0).then_some(max_values);
            let values = match matchers(selector) {
                [] => all_values(cell.view(), name, most).map_err(|error| cell.locate(error))?,
                matchers => cell.open().search(limits, |searcher| searcher.label_values(name, matchers, most))?,
            };
            Ok(CxStrings::new(values, CxFailures::none(), || Source::Block(Arc::clone(cell))))
        })
    })
}

/// Returns the values of a label in all series: needs no index.
fn all_values<'a>(view: &View<'a>, name: &[u8], most: Option<usize>) -> Result<Vec<&'a [u8]>, SelectError> {
    let Some(name) = view.meta()?.policy().name_bytes(name) else { return Ok(Vec::new()) };
    let Some(key) = view.key(&name)? else { return Ok(Vec::new()) };
    let Some(values) = view.label_values(key)? else { return Ok(Vec::new()) };
    Ok(values.take(most.unwrap_or(usize::MAX)).collect::<Result<_, _>>()?)
}
