//! Labels and strings as pointers and lengths.

use std::ffi::c_char;
use std::ptr;

use chronoxide_reader::Label;

use crate::error::Failure;
use crate::pointer;

/// Maximum number of labels of a series: a buffer of this capacity is never too small.
pub const CX_MAX_LABELS: usize = 1023;

/// Ref of no series: the result of a search that found none, and the end of a cursor.
pub const CX_NO_SERIES: u32 = u32::MAX;

/// A label. Names and values have no NUL at their end.
///
/// Labels that a call returns point into the block: they are valid until its last handle is freed.
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

impl From<&[u8]> for CxString {
    fn from(string: &[u8]) -> Self {
        Self { data: first_byte(string), len: string.len() }
    }
}

/// Returns the address of a string. An empty slice can be at address 1, on which Go's runtime panics.
#[inline]
fn first_byte(string: &[u8]) -> *const c_char {
    if string.is_empty() { c"".as_ptr() } else { string.as_ptr().cast() }
}

/// Returns the address of an array, or NULL if it is empty: the address of an empty slice is not one of memory.
#[inline]
pub(crate) fn first_element<T>(array: &[T]) -> *const T {
    if array.is_empty() { ptr::null() } else { array.as_ptr() }
}

/// Names and values of labels.
pub(crate) type Pairs<'a> = Vec<(&'a [u8], &'a [u8])>;

impl CxLabel {
    /// Returns names and values of labels that the caller made.
    ///
    /// # Safety
    /// `labels` is null or points to `count` labels, and each points to its bytes; nothing changes them during `'a`.
    pub(crate) unsafe fn pairs<'a>(labels: *const Self, count: usize) -> Result<Pairs<'a>, Failure> {
        // SAFETY: this function's contract.
        let labels = unsafe { pointer::array(labels, count, "labels") }?;
        let pair = |label: &Self| {
            // SAFETY: this function's contract.
            unsafe {
                Ok((
                    pointer::bytes(label.name, label.name_len, "label name")?,
                    pointer::bytes(label.value, label.value_len, "label value")?,
                ))
            }
        };
        labels.iter().map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_strings_and_arrays_have_no_invented_address() {
        let empty = CxString::from(&[][..]);
        assert!(empty.len == 0 && empty.data.addr() >= 4096, "{empty:?}");
        let label = CxLabel::from(Label { name: b"a", value: b"" });
        assert!(label.name_len == 1 && label.value_len == 0 && label.value.addr() >= 4096, "{label:?}");
        assert!(first_element::<u32>(&[]).is_null());
        let numbers = [1, 2];
        assert_eq!(first_element(&numbers), numbers.as_ptr());
    }
}
