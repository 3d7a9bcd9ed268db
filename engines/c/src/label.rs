//! Labels and strings as pointers and lengths, and ids.

use std::ffi::c_char;
use std::ptr;

use blocks::{BlockId, Label, SeriesId};

use crate::error::Failure;
use crate::pointer;

/// Id of a block.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CxBlockId {
    /// The id as it stands in the header of the block: its order is that of the bytes.
    pub bytes: [u8; 16],
}

/// Id of a series: an engine remembers what it knows of a series by it. It stays valid as long as the block exists.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CxSeriesId {
    /// Id of the block.
    pub block: CxBlockId,
    /// Position of the series in the block: from 0 to its number of series, without gaps.
    pub series: u32,
}

/// A label. Names and values have no NUL at their end.
///
/// Labels that a call returns point into a block: they are valid until the last handle of its blocks is freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxLabel {
    /// First byte of the name.
    pub name: *const c_char,
    /// Length of the name in bytes.
    pub name_len: usize,
    /// First byte of the value.
    pub value: *const c_char,
    /// Length of the value in bytes.
    pub value_len: usize,
}

/// A string without a NUL at its end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxString {
    /// First byte.
    pub data: *const c_char,
    /// Length in bytes.
    pub len: usize,
}

// SAFETY: a label holds addresses and reads nothing. Functions that read what is there have contracts of their own.
unsafe impl Send for CxLabel {}
// SAFETY: as above.
unsafe impl Sync for CxLabel {}
// SAFETY: as above.
unsafe impl Send for CxString {}
// SAFETY: as above.
unsafe impl Sync for CxString {}

impl From<Label<'_>> for CxLabel {
    #[inline]
    fn from(label: Label<'_>) -> Self {
        let Label { name, value } = label;
        Self { name: first_byte(name), name_len: name.len(), value: first_byte(value), value_len: value.len() }
    }
}

impl From<&str> for CxString {
    fn from(string: &str) -> Self {
        Self { data: first_byte(string), len: string.len() }
    }
}

/// Returns the address of a string. An empty slice can be at address 1, on which Go's runtime panics.
#[inline]
fn first_byte(string: &str) -> *const c_char {
    if string.is_empty() { c"".as_ptr() } else { string.as_ptr().cast() }
}

/// Returns the address of an array, or NULL if it is empty: the address of an empty slice is not one of memory.
#[inline]
pub(crate) fn first_element<T>(array: &[T]) -> *const T {
    if array.is_empty() { ptr::null() } else { array.as_ptr() }
}

impl From<BlockId> for CxBlockId {
    fn from(id: BlockId) -> Self {
        Self { bytes: id.0 }
    }
}

impl From<SeriesId> for CxSeriesId {
    #[inline]
    fn from(SeriesId { block, series }: SeriesId) -> Self {
        Self { block: block.into(), series }
    }
}

impl From<CxSeriesId> for SeriesId {
    #[inline]
    fn from(CxSeriesId { block, series }: CxSeriesId) -> Self {
        Self { block: BlockId(block.bytes), series }
    }
}

impl CxLabel {
    /// Returns names and values of labels that the caller made.
    ///
    /// # Safety
    /// `labels` is null or points to `count` labels, and each points to its bytes; nothing changes them during `'a`.
    pub(crate) unsafe fn pairs<'a>(labels: *const Self, count: usize) -> Result<Vec<(&'a str, &'a str)>, Failure> {
        // SAFETY: this function's contract.
        let labels = unsafe { pointer::array(labels, count, "labels") }?;
        let pair = |label: &Self| {
            // SAFETY: this function's contract.
            unsafe {
                Ok((
                    pointer::text(label.name, label.name_len, "label name")?,
                    pointer::text(label.value, label.value_len, "label value")?,
                ))
            }
        };
        labels.iter().map(pair).collect()
    }
}

impl CxString {
    /// Returns texts of the caller.
    ///
    /// # Safety
    /// As [`CxLabel::pairs`].
    pub(crate) unsafe fn texts<'a>(strings: *const Self, count: usize, name: &str) -> Result<Vec<&'a str>, Failure> {
        // SAFETY: this function's contract.
        let strings = unsafe { pointer::array(strings, count, name) }?;
        // SAFETY: this function's contract.
        strings.iter().map(|string| unsafe { pointer::text(string.data, string.len, name) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_strings_and_arrays_have_no_invented_address() {
        let empty = CxString::from("");
        assert!(empty.len == 0 && empty.data.addr() >= 4096, "{empty:?}");
        let label = CxLabel::from(Label { name: "a", value: "" });
        assert!(label.name_len == 1 && label.value_len == 0 && label.value.addr() >= 4096, "{label:?}");
        assert!(first_element::<u32>(&[]).is_null());
        let numbers = [1, 2];
        assert_eq!(first_element(&numbers), numbers.as_ptr());
    }
}
