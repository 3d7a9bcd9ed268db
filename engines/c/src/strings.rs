//! Lists of strings: names and values of labels.

use std::ptr;

use blocks::Blocks;

use crate::error::guard_value;
use crate::label::{CxString, first_element};

/// Names or values of labels, distinct and in the order of their bytes. It does not change: several threads may use one
/// handle at once.
pub struct CxStrings {
    items: Box<[CxString]>,
    /// Owner of the bytes.
    _blocks: Blocks,
}

impl CxStrings {
    /// Makes a list of strings of blocks.
    pub(crate) fn new(strings: &[&str], blocks: &Blocks) -> Self {
        Self { items: strings.iter().map(|&string| string.into()).collect(), _blocks: blocks.clone() }
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

/// Frees a list, or does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_strings_free(strings: Option<Box<CxStrings>>) {
    guard_value(|| drop(strings));
}
