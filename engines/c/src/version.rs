//! Version of the library.

use std::ffi::{CStr, c_char};

/// Returns the version of the library, such as "1.0.0".
///
/// Only a new major version may change functions and structs, and a release candidate. The shared library has the major
/// version in its name, so that a program does not load one that it was not built for.
#[unsafe(no_mangle)]
pub extern "C" fn cx_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"unknown",
    };
    VERSION.as_ptr()
}
