//! Writing to standard output and standard error without panics.

use std::io::{self, BufWriter, IsTerminal, Write};

use serde::Serialize;

use crate::safe::Safe;
use crate::style::Style;

/// Calls `write` with a buffered standard output, and flushes it.
///
/// `println!` panics if the reader closed the pipe, flushes each line, and loses the error of the last flush. This
/// function returns all errors; [`run`](crate::run) handles a closed pipe.
///
/// If standard output is a terminal, characters that it could interpret are escaped as `\u` and four hex digits, except
/// line feeds. JSON stays JSON. Pipes and files get the text unchanged.
///
/// # Errors
/// `write` fails, or standard output cannot be written.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    print_as(false, write)
}

/// Like [`print()`], for text with colours. `write` must escape all text that it did not choose itself.
///
/// # Errors
/// Those of [`print()`].
pub fn print_styled(write: impl FnOnce(&mut dyn Write, Style) -> io::Result<()>) -> io::Result<()> {
    let style = Style::stdout();
    print_as(style.is_coloured(), |out| write(out, style))
}

fn print_as(is_painted: bool, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let stdout = io::stdout().lock();
    if stdout.is_terminal() {
        return print_to(stdout, |out| {
            let mut safe = Safe::new(out, is_painted);
            write(&mut safe)?;
            safe.flush()
        });
    }
    print_to(stdout, write)
}

/// Writes a value as JSON and the end of the line.
///
/// # Errors
/// `out` fails.
pub(crate) fn json_line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

/// Calls `write` and prints its text on standard error. Errors are ignored, where `eprintln!` would panic. Characters
/// that a terminal could interpret are escaped, except line feeds and colours.
pub fn tell(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    // One write call, so that messages of several processes do not interleave.
    let mut text = Vec::new();
    let mut safe = Safe::new(&mut text, Style::stderr().is_coloured());
    let _ = write(&mut safe).and_then(|()| safe.flush()).and_then(|()| io::stderr().lock().write_all(&text));
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
