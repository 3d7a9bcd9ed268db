//! Numbers of series by label.

use std::mem::MaybeUninit;
use std::ptr;

use blocks::Blocks;

use crate::blocks::CxBlocks;
use crate::error::{CxError, guard, guard_value};
use crate::label::{CxLabel, CxString, first_element};
use crate::pointer::{give, required};
use crate::query::{Asked, CxQuery};
use crate::status::CxStatus;

/// Selected series in groups, in the order of their labels. It does not change: several threads may use one handle at
/// once.
pub struct CxGroups {
    groups: Box<[CxGroup]>,
    /// Labels of all groups, to which these point.
    _labels: Box<[CxLabel]>,
    /// Owner of the bytes.
    _blocks: Blocks,
}

/// Series that have equal values of the labels that were asked for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxGroup {
    /// The labels, in the order of their names, without those that the series do not have.
    pub labels: *const CxLabel,
    /// Number of labels.
    pub label_count: usize,
    /// Number of distinct series.
    pub series_count: u64,
}

// SAFETY: a group holds an address and reads nothing. What is there belongs to the handle of the groups.
unsafe impl Send for CxGroup {}
// SAFETY: as above.
unsafe impl Sync for CxGroup {}

/// Counts the series of a query by the values of some labels, or of all others if `without` is true, as
/// `count by (namespace) (...)` of PromQL does. PromQL's `without` also drops `__name__`: name it, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_query_group(
    blocks: Option<&CxBlocks>,
    query: Option<&CxQuery<'_>>,
    names: *const CxString,
    name_count: usize,
    without: bool,
    groups: Option<&mut MaybeUninit<*mut CxGroups>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(groups, "groups", || {
            let asked = Asked::new(blocks, query)?;
            // SAFETY: the caller's contract.
            let names = unsafe { CxString::texts(names, name_count, "names") }?;
            // SAFETY: the caller's contract.
            let found = unsafe {
                asked.ask(query, |query| {
                    Ok(if without { query.group_without(&names)? } else { query.group_by(&names)? })
                })
            }?;
            let labels: Box<[CxLabel]> =
                found.iter().flat_map(|group| &group.labels).map(|&label| label.into()).collect();
            let mut rest = &*labels;
            let groups = found.iter().map(|group| {
                let (own, others) = rest.split_at_checked(group.labels.len()).unwrap_or_default();
                rest = others;
                CxGroup { labels: first_element(own), label_count: own.len(), series_count: group.series }
            });
            let blocks = required(blocks, "blocks")?.blocks.clone();
            Ok(CxGroups { groups: groups.collect(), _labels: labels, _blocks: blocks })
        })
    })
}

/// Returns the number of groups; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_groups_count(groups: Option<&CxGroups>) -> usize {
    guard_value(|| groups.map_or(0, |groups| groups.groups.len()))
}

/// Returns the groups, as many as cx_groups_count says; NULL for none, and for NULL. They are valid until the groups
/// are freed.
#[unsafe(no_mangle)]
pub extern "C" fn cx_groups_items(groups: Option<&CxGroups>) -> *const CxGroup {
    groups.map_or(ptr::null(), |groups| first_element(&groups.groups))
}

/// Frees groups, or does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_groups_free(groups: Option<Box<CxGroups>>) {
    guard_value(|| drop(groups));
}
