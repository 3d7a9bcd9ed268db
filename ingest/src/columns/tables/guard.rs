//! Panics of decoders as errors: [`catch`].

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

use crate::columns::error::ColumnsError;

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder of the `parquet` or `arrow-ipc` crate, and returns its panic as an error.
///
/// These crates validate arrays, but index and assert before on some damaged inputs: tests that flip each byte of small
/// files find such places. All state of a decoder that panicked must be dropped.
pub(super) fn catch<T>(decode: impl FnOnce() -> Result<T, ColumnsError>) -> Result<T, ColumnsError> {
    let before = IS_GUARDED.replace(true);
    // Unwind safety: callers drop the decoder after an error, as documented above.
    let result = panic::catch_unwind(AssertUnwindSafe(decode));
    IS_GUARDED.set(before);
    result.unwrap_or_else(|payload| Err(ColumnsError::Panic(text(&*payload))))
}

fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("the decoder panicked").to_owned()
}

/// Keeps the panic hook from printing panics that are returned as errors. Programs call this once; the hook is global,
/// so a library cannot decide this.
pub fn silence_guarded_panics() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !IS_GUARDED.get() {
            hook(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_errors_with_their_message() {
        let error = catch(|| -> Result<(), _> { panic!("index {} is out of range", 7) }).unwrap_err();
        assert_eq!(error.to_string(), "cannot be decoded: index 7 is out of range");
        assert!(!IS_GUARDED.get());
        assert_eq!(catch(|| Ok(1)).unwrap(), 1);
    }
}
