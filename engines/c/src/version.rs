//! Version of the library.

use std::ffi::{CStr, c_char};

/// Returns the version of the library, such as "0.1.0".
///
/// Before 1.0, each minor version may change functions and structs. The shared library has the minor version in its
/// name, so that a program does not load one that it was not built for.
#[unsafe(no_mangle)]
pub extern "C" fn cx_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"unknown",
    };
    VERSION.as_ptr()
}
