//! Writing to standard output and standard error without panics.

use std::io::{self, BufWriter, IsTerminal, Write};

/// Calls `write` with a buffered standard output, and flushes it.
///
/// `println!` panics if the reader closed the pipe, flushes each line, and loses the error of the last flush. This
/// function returns all errors; [`run`](crate::run) handles a closed pipe.
///
/// # Errors
/// `write` fails, or standard output cannot be written.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    print_to(io::stdout().lock(), write)
}

/// Calls `write` and prints its text on standard error. Errors are ignored, where `eprintln!` would panic.
pub fn tell(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    // One write call, so that messages of several processes do not interleave.
    let mut text = Vec::new();
    let _ = write(&mut text).and_then(|()| io::stderr().lock().write_all(&text));
}

/// Returns true if data and messages go to a terminal, so that much data pushes messages before it off the screen.
pub(crate) fn is_screen_shared() -> bool {
    io::stdout().is_terminal() && io::stderr().is_terminal()
}

fn print_to(stdout: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(64 * 1024, stdout);
    write(&mut out)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pipe whose reader closes it after this many bytes.
    struct Head(usize);

    impl Write for Head {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.0);
            self.0 -= count;
            if count == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(count) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_error_of_the_last_flush_is_reported() {
        let error = print_to(Head(100), |out| out.write_all(&[b'x'; 101])).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        print_to(Head(100), |out| out.write_all(&[b'x'; 100])).expect("all of it fits");
    }
}
