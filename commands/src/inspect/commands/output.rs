//! Outputs of the commands `export` and `report`: a published file, or standard output.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use chronoxide_inspect::export::ExportError;
use chronoxide_publish::{Disk, Existing, PublishError, publish};
use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;
use crc32fast::Hasher;

use crate::{Exit, Failure, HasExit, Quiet, print, tell};

/// Error of a written file that does not pass verification.
#[derive(Debug, thiserror::Error)]
enum VerifyError {
    #[error("cannot read the file back")]
    Io(#[from] io::Error),
    #[error("written bytes differ when read back")]
    Differs,
}

impl HasExit for VerifyError {
    /// No input is at fault.
    fn exit(&self) -> Exit {
        Exit::Io
    }
}

/// Reason why an output was not written.
pub(super) enum OutputError {
    /// The export failed, but not for an error of its output.
    Export(ExportError),
    /// The output could not be written.
    Output(Failure),
}

/// Tells what was written, as `chronoxide-ingest` and `chronoxide-compact` do.
pub(super) fn tell_written(path: &Path, series: u64, bytes: u64, quiet: Quiet) {
    if !quiet.is_set() {
        let (path, series) = (path.display().to_string(), human::count(series));
        tell(|out| writeln!(out, "{}: {series} series in {}", TerminalSafe(&path), human::bytes(bytes)));
    }
}

/// Publishes a file, whole or not at all, after its checksum was compared with that of the written bytes. Returns its
/// length.
pub(super) fn to_file(
    target: &Path,
    existing: Existing,
    write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
) -> Result<u64, OutputError> {
    let mut result = Ok(());
    let written = Cell::new(0);
    let published = publish(
        &Disk,
        target,
        existing,
        |out| {
            let mut out = Summed { out, hasher: Hasher::new() };
            let outcome = into_io(write(&mut out), &mut result);
            written.set(out.hasher.finalize());
            outcome
        },
        |candidate| {
            if sum(candidate.file())? == written.get() { Ok(()) } else { Err(VerifyError::Differs) }
        },
    );
    finish(result, published.map(|published| published.byte_len).map_err(PublishError::<VerifyError>::into))
}

/// Writes to standard output.
pub(super) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>) -> Result<(), OutputError> {
    let mut result = Ok(());
    let printed = print(|out| into_io(write(out), &mut result));
    finish(result, printed.map_err(Failure::from))
}

/// Returns errors of the output, and keeps others in `result`.
fn into_io(outcome: Result<(), ExportError>, result: &mut Result<(), ExportError>) -> io::Result<()> {
    match outcome {
        Ok(()) => Ok(()),
        Err(ExportError::Write(error)) => Err(error),
        Err(other) => {
            *result = Err(other);
            Err(io::ErrorKind::Other.into())
        }
    }
}

fn finish<T>(result: Result<(), ExportError>, output: Result<T, Failure>) -> Result<T, OutputError> {
    result.map_err(OutputError::Export)?;
    output.map_err(OutputError::Output)
}

/// Returns the CRC-32 of a file.
fn sum(mut file: &File) -> io::Result<u32> {
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writer that sums the bytes that it passes on.
struct Summed<W> {
    out: W,
    hasher: Hasher,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns the folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns true if a path is the file of an input; `-` is the file of standard input, if that is one.
pub(super) fn is_same_file(file: &Path, input: &Path) -> bool {
    let input = if input == Path::new("-") { Path::new("/dev/stdin") } else { input };
    matches!((file.canonicalize(), input.canonicalize()), (Ok(file), Ok(input)) if file == input)
}
