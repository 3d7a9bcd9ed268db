//! Arguments of C as slices and text, and handles.
//!
//! The `unsafe` functions of this crate rest on the contract of the callers (see the crate's documentation). This
//! module checks what can be checked: null pointers, lengths, alignment and UTF-8.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::{ptr, slice};

use crate::error::Failure;
use crate::status::CX_INTERNAL;

/// Writes a new handle to the caller's pointer, or NULL if it cannot be made.
pub(crate) fn give<T>(
    out: Option<&mut MaybeUninit<*mut T>>,
    name: &str,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    let out = required(out, name)?;
    out.write(ptr::null_mut());
    out.write(Box::into_raw(Box::new(make()?)));
    Ok(())
}

/// Locks the state of a handle that one thread at a time may use.
pub(crate) fn lock<'a, T>(state: &'a Mutex<T>, name: &str) -> Result<MutexGuard<'a, T>, Failure> {
    state.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => Failure::usage(format!("{name} is in use by another thread: make one per thread")),
        TryLockError::Poisoned(_) => {
            Failure::new(CX_INTERNAL, format!("{name} cannot be used after an internal error: free it"))
        }
    })
}

/// Returns an argument that must not be null.
pub(crate) fn required<T>(argument: Option<T>, name: &str) -> Result<T, Failure> {
    argument.ok_or_else(|| null(name))
}

#[cold]
fn null(name: &str) -> Failure {
    Failure::usage(format!("{name} is NULL"))
}

/// Returns an error if no array of this type can be at `pointer` with this length.
fn check<T>(pointer: *const T, len: usize, name: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(null(name));
    }
    if !pointer.is_aligned() {
        return Err(Failure::usage(format!("{name} is not aligned")));
    }
    if len.checked_mul(size_of::<T>()).is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(Failure::usage(format!("{name}: no array has {len} elements")));
    }
    Ok(())
}

/// Returns an array of the caller. An empty one may be at NULL.
///
/// # Safety
/// `pointer` is null or points to `len` elements that nothing changes during `'a`.
pub(crate) unsafe fn array<'a, T>(pointer: *const T, len: usize, name: &str) -> Result<&'a [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    check(pointer, len, name)?;
    // SAFETY: not null, aligned and not too long, by `check`; `len` elements that do not change, by this function's
    // contract.
    Ok(unsafe { slice::from_raw_parts(pointer, len) })
}

/// Returns a buffer of the caller, to be written. An empty one may be at NULL.
///
/// # Safety
/// `pointer` is null or points to room for `len` elements that nothing else uses during `'a`.
pub(crate) unsafe fn buffer<'a, T>(
    pointer: *mut T,
    len: usize,
    name: &str,
) -> Result<&'a mut [MaybeUninit<T>], Failure> {
    if len == 0 {
        return Ok(&mut []);
    }
    check(pointer, len, name)?;
    // SAFETY: not null, aligned and not too long, by `check`; room that nothing else uses, by this function's contract.
    // `MaybeUninit<T>` has the layout of `T` and needs no initialization.
    Ok(unsafe { slice::from_raw_parts_mut(pointer.cast(), len) })
}

/// Returns text of the caller.
///
/// # Safety
/// As [`array`].
pub(crate) unsafe fn text<'a>(pointer: *const c_char, len: usize, name: &str) -> Result<&'a str, Failure> {
    // SAFETY: the same contract; `c_char` and `u8` have one layout.
    let bytes = unsafe { array(pointer.cast::<u8>(), len, name) }?;
    std::str::from_utf8(bytes).map_err(|error| Failure::usage(format!("{name}: {error}")))
}

/// Returns a path of the caller: bytes on Unix, UTF-8 elsewhere.
///
/// # Safety
/// `pointer` is null or points to a string that ends with a NUL and that nothing changes during the call.
pub(crate) unsafe fn path(pointer: *const c_char, name: &str) -> Result<PathBuf, Failure> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: not null; the rest is this function's contract.
    let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
    #[cfg(unix)]
    let path = PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes));
    #[cfg(not(unix))]
    let path = PathBuf::from(std::str::from_utf8(bytes).map_err(|error| Failure::usage(format!("{name}: {error}")))?);
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_array_is_refused() {
        let numbers = [1_u32, 2, 3];
        // SAFETY: the lengths are those of `numbers`, or are refused before anything is read.
        unsafe {
            assert_eq!(array(numbers.as_ptr(), 3, "numbers").unwrap(), numbers);
            assert_eq!(array::<u32>(ptr::null(), 0, "numbers").unwrap().len(), 0);
            assert!(array::<u32>(ptr::null(), 1, "numbers").is_err());
            assert!(array(numbers.as_ptr(), usize::MAX / 4, "numbers").is_err());
            assert!(array(numbers.as_ptr(), usize::MAX, "numbers").is_err());
            assert!(array(numbers.as_ptr().wrapping_byte_add(1), 1, "numbers").is_err());
            assert!(text(c"\xff".as_ptr(), 1, "text").is_err());
            assert!(path(ptr::null(), "path").is_err());
        }
    }
}
