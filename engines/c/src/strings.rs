//! Lists of strings: names and values of labels.

use std::ptr;
use std::sync::Arc;

use chronoxide_select::BlockSet;

use crate::error::guard_value;
use crate::failures::CxFailures;
use crate::label::{CxString, first_element};
use crate::opened::BlockCell;

/// Names or values of labels, distinct and in the order of their bytes. It does not change: several threads may use one
/// handle at once.
pub struct CxStrings {
    items: Box<[CxString]>,
    failures: CxFailures,
    /// Owner of the bytes.
    _source: Source,
}

/// Owner of the bytes of a list.
#[expect(dead_code, reason = "keeps the bytes")]
pub(crate) enum Source {
    Block(Arc<BlockCell>),
    Set(BlockSet),
}

impl CxStrings {
    /// Makes a list of strings of `source`.
    pub(crate) fn new<'a>(
        strings: impl IntoIterator<Item = &'a [u8]>,
        failures: CxFailures,
        source: impl FnOnce() -> Source,
    ) -> Self {
        Self { items: strings.into_iter().map(CxString::from).collect(), failures, _source: source() }
    }
}

/// Returns the number of strings; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_strings_count(strings: Option<&CxStrings>) -> usize {
    guard_value(|| strings.map_or(0, |strings| strings.items.len()))
}

/// Returns the strings, as many as cx_strings_count says; NULL for none, and for NULL. They are valid until the list is
/// freed.
#[unsafe(no_mangle)]
pub extern "C" fn cx_strings_items(strings: Option<&CxStrings>) -> *const CxString {
    strings.map_or(ptr::null(), |strings| first_element(&strings.items))
}

/// Returns the errors of damaged blocks, whose strings are missing. Strings of a single block have none.
#[unsafe(no_mangle)]
pub extern "C" fn cx_strings_failures(strings: Option<&CxStrings>) -> Option<&CxFailures> {
    strings.map(|strings| &strings.failures)
}

/// Frees a list, or does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_strings_free(strings: Option<Box<CxStrings>>) {
    guard_value(|| drop(strings));
}
