//! [`Counting`]: a message while series are counted.

use std::io::{self, IsTerminal, Write};

use crate::Quiet;

/// Message on standard error while series are counted; dropping it erases it.
pub(super) struct Counting {
    is_shown: bool,
}

impl Counting {
    pub(super) fn show(quiet: Quiet) -> Self {
        let is_shown = !quiet.is_set() && io::stderr().is_terminal();
        if is_shown {
            write("counting...");
        }
        Self { is_shown }
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        if self.is_shown {
            write("\r           \r");
        }
    }
}

/// Writes to standard error. Errors are ignored: the text is not needed.
fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
