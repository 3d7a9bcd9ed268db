//! [`CxError`]: code and message of a failed call, and the guard around every call.

use std::any::Any;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::status::{CX_INTERNAL, CX_OK, CX_USAGE, CxStatus, status};

/// Bytes of a message, with the NUL at its end.
pub const CX_ERROR_MESSAGE_LEN: usize = 1020;

/// Replaces the middle of a message that is too long.
const CUT: &str = " [...] ";

/// Code and message of a failed call.
///
/// It belongs to the caller and needs neither initialization nor release. A call that fails writes it, a call that
/// succeeds does not. Calls accept NULL instead.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxError {
    /// The status that the call returned.
    pub status: CxStatus,
    /// One line of UTF-8 with the file, the place and the reason, ended by a NUL. The middle of a long message is left
    /// out.
    pub message: [c_char; CX_ERROR_MESSAGE_LEN],
}

/// Destination of a call's error: the caller's cx_error, or none.
pub type ErrorOut<'a> = Option<&'a mut MaybeUninit<CxError>>;

/// An error on its way to the caller.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    status: CxStatus,
    message: String,
}

impl Failure {
    pub(crate) fn new(status: CxStatus, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// Returns the error of an invalid argument.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(CX_USAGE, message)
    }

    /// Returns the error of a panic.
    fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(|s| &**s));
        Self::new(CX_INTERNAL, format!("internal error, please report it: {}", text.unwrap_or("unknown panic")))
    }

    /// Returns the error for the caller.
    pub(crate) fn to_c(&self) -> CxError {
        let mut message: [c_char; CX_ERROR_MESSAGE_LEN] = [0; CX_ERROR_MESSAGE_LEN];
        let text = shortened(&self.message, CX_ERROR_MESSAGE_LEN - 1);
        // A NUL would end the message early: a selector can have one.
        let bytes = text.bytes().map(|byte| if byte == 0 { b' ' } else { byte });
        for (to, from) in message.iter_mut().zip(bytes) {
            *to = c_char::from_ne_bytes([from]);
        }
        CxError { status: self.status, message }
    }
}

impl From<&blocks::Error> for Failure {
    fn from(error: &blocks::Error) -> Self {
        Self::new(status(error.kind()), error.to_string())
    }
}

impl From<blocks::Error> for Failure {
    fn from(error: blocks::Error) -> Self {
        Self::from(&error)
    }
}

/// Returns a text of at most `len` bytes: its beginning and its end. A path comes first, the reason last.
fn shortened(text: &str, len: usize) -> String {
    if text.len() <= len {
        return text.to_owned();
    }
    let half = len.saturating_sub(CUT.len()) / 2;
    let (head, tail) = (text.floor_char_boundary(half), text.ceil_char_boundary(text.len() - half));
    [text.get(..head), Some(CUT), text.get(tail..)].into_iter().flatten().collect()
}

/// Runs the body of a call. Returns its status, and writes its error. A panic becomes CX_INTERNAL.
pub(crate) fn guard(error: ErrorOut<'_>, body: impl FnOnce() -> Result<(), Failure>) -> CxStatus {
    // Handles do not change after they are made, except behind a mutex, which a panic poisons.
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return CX_OK,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::panicked(&*payload),
    };
    if let Some(error) = error {
        error.write(failure.to_c());
    }
    failure.status
}

/// Runs the body of a call that only returns a value. A panic becomes the default value.
pub(crate) fn guard_value<T: Default>(body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;
    use crate::status::CX_IO;

    fn message(error: &CxError) -> String {
        let bytes: Vec<u8> = error.message.iter().map(|&byte| byte.to_ne_bytes()[0]).collect();
        CStr::from_bytes_until_nul(&bytes).unwrap().to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_an_internal_error() {
        let mut error = MaybeUninit::uninit();
        assert_eq!(guard(Some(&mut error), || panic!("row {} is wrong", 7)), CX_INTERNAL);
        let error = guard_error(|| panic!("row {} is wrong", 7));
        assert_eq!(
            (error.status, &*message(&error)),
            (CX_INTERNAL, "internal error, please report it: row 7 is wrong")
        );
        assert_eq!(guard(None, || panic!("no error is wanted")), CX_INTERNAL);
        assert_eq!(guard_value(|| -> u32 { panic!("no number") }), 0);
    }

    fn guard_error(body: impl FnOnce() -> Result<(), Failure>) -> CxError {
        let mut error = MaybeUninit::new(CxError { status: -1, message: [0; CX_ERROR_MESSAGE_LEN] });
        guard(Some(&mut error), body);
        // SAFETY: it was initialized above.
        unsafe { error.assume_init() }
    }

    #[test]
    fn success_leaves_the_error_as_it_was() {
        assert_eq!(guard_error(|| Ok(())).status, -1);
    }

    #[test]
    fn a_long_message_keeps_its_beginning_and_its_end() {
        let long = format!("/begin/{}/end: no such file", "ä".repeat(2000));
        let text = message(&guard_error(|| Err(Failure::new(CX_IO, long))));
        assert!(text.starts_with("/begin/ä") && text.ends_with("ä/end: no such file"), "{text}");
        assert!(text.len() > CX_ERROR_MESSAGE_LEN - 8 && text.contains(CUT), "{}", text.len());
        let full = "x".repeat(CX_ERROR_MESSAGE_LEN - 1);
        assert_eq!(message(&Failure::usage(full.clone()).to_c()), full);
        assert_eq!(message(&Failure::usage("a\0b").to_c()), "a b");
    }
}
