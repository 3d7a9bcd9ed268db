//! Standard output that reports its errors, and standard error that has nobody to report them to.

use std::io::{self, BufWriter, Write};

/// Lets `write` print through a buffer, and sees to it that all of it arrived.
///
/// `println!` panics when its reader is gone, flushes at each line, and loses the error of the last flush; this
/// returns it, and [`run`](crate::run) knows what to do with it.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    print_to(io::stdout().lock(), write)
}

/// Lets `write` say something on standard error. Nobody is left to tell if it cannot be written: `eprintln!` would panic.
pub fn tell(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    // One call for the whole, so that messages of several processes do not mix.
    let mut text = Vec::new();
    let _ = write(&mut text).and_then(|()| io::stderr().lock().write_all(&text));
}

fn print_to(stdout: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(64 * 1024, stdout);
    write(&mut out)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes 100 bytes, then its reader is gone.
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
