//! Folders of blocks.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use chronoxide_select::{BlockSet, Partial, SetBlock, SetQuery};

use crate::block::{CxBlock, CxChecks, CxTimeRange, checks};
use crate::error::{CxError, Failure, guard, guard_value};
use crate::failures::CxFailures;
use crate::limits::{CxLimits, flag, limits};
use crate::opened::{BlockCell, give};
use crate::pointer::{self, required};
use crate::selector::{CxSelector, matchers};
use crate::status::CxStatus;
use crate::strings::{CxStrings, Source};

/// The live blocks of a folder, as they were when it was opened. It does not change: several threads may use one handle
/// at once. Open the folder again to see later changes.
///
/// Reads files whose name ends in `.cx` and does not begin with a dot. Blocks that a finished compaction replaced are
/// left out, so that each series counts once.
pub struct CxSet {
    pub(crate) set: BlockSet,
    blocks: Vec<CxBlock>,
    unreadable: CxFailures,
}

impl CxSet {
    fn new(set: BlockSet) -> Self {
        let block = |block: &SetBlock| CxBlock { cell: BlockCell::share(block.open().clone()) };
        let blocks = set.blocks().iter().map(block).collect();
        let unreadable = CxFailures::new(set.unreadable().iter().map(|(_, error)| Failure::from_error(error)));
        Self { set, blocks, unreadable }
    }

    pub(crate) fn block(&self, position: usize) -> Option<&CxBlock> {
        self.blocks.get(position)
    }
}

/// Opens the blocks of a folder as memory maps. The contract of cx_block_map holds for each of them.
///
/// A file that is not a valid block is not an error, but listed by cx_set_unreadable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_set_map(
    folder: *const c_char,
    checks: CxChecks,
    set: Option<&mut MaybeUninit<*mut CxSet>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(set, "set", || {
            // SAFETY: the caller's contract.
            let folder = unsafe { pointer::path(folder, "folder") }?;
            // SAFETY: the header states the contract of a map, and the caller keeps it.
            Ok(CxSet::new(unsafe { BlockSet::map(folder, self::checks(checks)?) }?))
        })
    })
}

/// Opens the blocks of a folder by reading them into memory.
///
/// A file that is not a valid block is not an error, but listed by cx_set_unreadable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_set_read(
    folder: *const c_char,
    checks: CxChecks,
    set: Option<&mut MaybeUninit<*mut CxSet>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(set, "set", || {
            // SAFETY: the caller's contract.
            let folder = unsafe { pointer::path(folder, "folder") }?;
            Ok(CxSet::new(BlockSet::read(folder, self::checks(checks)?)?))
        })
    })
}

/// Frees a set, or does nothing for NULL. Its blocks become invalid; what was made from them stays valid.
#[unsafe(no_mangle)]
pub extern "C" fn cx_set_free(set: Option<Box<CxSet>>) {
    guard_value(|| drop(set));
}

/// Returns the number of blocks; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_set_block_count(set: Option<&CxSet>) -> usize {
    guard_value(|| set.map_or(0, |set| set.blocks.len()))
}

/// Returns the block at `position`, or NULL if it is out of range. It belongs to the set: do not free it.
///
/// Blocks without a time range come first, the others by start time.
#[unsafe(no_mangle)]
pub extern "C" fn cx_set_block(set: Option<&CxSet>, position: usize) -> Option<&CxBlock> {
    set.and_then(|set| set.block(position))
}

/// Returns the errors of files that cannot be opened as blocks; NULL for NULL. They belong to the set.
#[unsafe(no_mangle)]
pub extern "C" fn cx_set_unreadable(set: Option<&CxSet>) -> Option<&CxFailures> {
    set.map(|set| &set.unreadable)
}

/// Lists the names of the labels of the series of all blocks that satisfy all matchers; of all series if `selector` is
/// NULL. `within` leaves out blocks without data in a range of times, or is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_set_label_names(
    set: Option<&CxSet>,
    selector: Option<&CxSelector>,
    within: Option<&CxTimeRange>,
    limits: Option<&CxLimits<'_>>,
    names: Option<&mut MaybeUninit<*mut CxStrings>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(names, "names", || {
            let set = &required(set, "set")?.set;
            let flag = flag(limits);
            let query = query(set, within).with_limits(self::limits(limits, flag.as_deref()));
            Ok(strings(query.label_names(matchers(selector))?, set))
        })
    })
}

/// Lists the values that a label has in the series of all blocks that satisfy all matchers; in all series if `selector`
/// is NULL: the first `max_values` of them, or all if it is 0. `within` leaves out blocks without data in a range of
/// times, or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_set_label_values(
    set: Option<&CxSet>,
    name: *const c_char,
    name_len: usize,
    selector: Option<&CxSelector>,
    within: Option<&CxTimeRange>,
    max_values: usize,
    limits: Option<&CxLimits<'_>>,
    values: Option<&mut MaybeUninit<*mut CxStrings>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(values, "values", || {
            let set = &required(set, "set")?.set;
            // SAFETY: the caller's contract.
            let name = unsafe { pointer::bytes(name, name_len, "name") }?;
            let flag = flag(limits);
            let query = query(set, within).with_limits(self::limits(limits, flag.as_deref()));
            let most = (max_values > 0).then_some(max_values);
            Ok(strings(query.label_values(name, matchers(selector), most)?, set))
        })
    })
}

/// Starts a query of the blocks of a range of times.
pub(crate) fn query<'a>(set: &'a BlockSet, within: Option<&CxTimeRange>) -> SetQuery<'a> {
    let query = set.query();
    within.map_or(query, |within| query.within(within.start, within.end))
}

fn strings(result: Partial<Vec<&[u8]>>, set: &BlockSet) -> CxStrings {
    let failures = CxFailures::new(result.failed.into_iter().map(Failure::from));
    CxStrings::new(result.found, failures, || Source::Set(set.clone()))
}
