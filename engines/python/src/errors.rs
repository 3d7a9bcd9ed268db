//! Exceptions, and the exception of each error.

use std::error::Error;
use std::io;
use std::path::Path;

use arrow::error::ArrowError;
use chronoxide_arrow::TableError;
use chronoxide_reader::{ErrorKind, FileError, FolderError, OpenError};
use datafusion::error::DataFusionError;
use pyo3::exceptions::{PyException, PyFileExistsError, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::{PyErr, create_exception};

create_exception!(chronoxide, ChronoxideError, PyException, "Base class of errors of blocks, captures and jobs.");
create_exception!(
    chronoxide,
    CorruptBlockError,
    ChronoxideError,
    "A file is not a block, or damaged. The message names the file, the place and the broken rule."
);
create_exception!(
    chronoxide,
    UnsupportedBlockError,
    ChronoxideError,
    "A block has a version or a feature that this package does not know: a newer one may."
);
create_exception!(
    chronoxide,
    IngestError,
    ChronoxideError,
    "A capture is damaged, has an unknown format, or does not fit into a block."
);
create_exception!(chronoxide, CompactError, ChronoxideError, "Blocks cannot be merged.");
create_exception!(
    chronoxide,
    SelectorError,
    PyValueError,
    "A selector is not valid PromQL. The message says what was expected and where. It is a ValueError."
);

/// Error with an exception.
pub(crate) trait Raise: Error + Sized + 'static {
    /// Returns the exception.
    fn raise(self) -> PyErr;
}

/// Returns an error's message with those of its causes.
pub(crate) fn message(error: &(dyn Error + 'static)) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Some messages contain that of their source.
        if !message.ends_with(&text) {
            message = format!("{message}: {text}");
        }
        cause = error.source();
    }
    message
}

/// Returns the first cause of an error that is an error of the system, if any.
pub(crate) fn io_cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref() {
            return Some(error);
        }
        cause = error.source();
    }
    None
}

/// Returns an `OSError`, or the subclass of its number, with the number, a text and the file.
pub(crate) fn os_error(error: &io::Error, path: &Path) -> PyErr {
    match error.raw_os_error() {
        Some(number) => {
            let text = error.to_string();
            let text = text.split_once(" (os error").map_or(&*text, |(text, _)| text).to_owned();
            PyOSError::new_err((number, text, path.as_os_str().to_os_string()))
        }
        None => PyOSError::new_err(format!("{}: {error}", path.display())),
    }
}

/// Returns the exception of a block's error, with a message of its own.
fn block_exception(error: &chronoxide_reader::Error, message: String) -> PyErr {
    match error.kind() {
        _ if error.is_unsupported() => UnsupportedBlockError::new_err(message),
        // The block may be sound.
        ErrorKind::OutOfMemory { .. } => PyMemoryError::new_err(message),
        _ => CorruptBlockError::new_err(message),
    }
}

impl Raise for chronoxide::Error {
    fn raise(self) -> PyErr {
        use chronoxide::ErrorKind as Kind;
        match (self.kind(), self.io_error(), self.path()) {
            // The file, or the strings of an archive, do not fit into memory: not an error of a system call.
            (Kind::OutOfResources, Some(error), Some(path)) if error.raw_os_error().is_some() => os_error(error, path),
            (Kind::Io, Some(error), Some(path)) => os_error(error, path),
            (kind, ..) => {
                let message = self.to_string();
                match kind {
                    Kind::Io => PyOSError::new_err(message),
                    Kind::Exists => PyFileExistsError::new_err(message),
                    Kind::Corrupt => CorruptBlockError::new_err(message),
                    Kind::Unsupported => UnsupportedBlockError::new_err(message),
                    Kind::OutOfResources => PyMemoryError::new_err(message),
                    Kind::Usage => PyValueError::new_err(message),
                    _ => ChronoxideError::new_err(message),
                }
            }
        }
    }
}

impl Raise for FileError {
    fn raise(self) -> PyErr {
        block_exception(&self.source, message(&self))
    }
}

/// Returns the exception of a file that cannot be opened.
pub(crate) fn raise_open(error: &OpenError) -> PyErr {
    match error {
        // The file, or the strings of an archive, do not fit into memory: not an error of a system call.
        OpenError::OutOfResources { source, .. }
            if source.kind() == io::ErrorKind::OutOfMemory && source.raw_os_error().is_none() =>
        {
            PyMemoryError::new_err(message(error))
        }
        OpenError::Io { path, source } | OpenError::OutOfResources { path, source } => os_error(source, path),
        OpenError::Block { source, .. } => block_exception(source, message(error)),
        OpenError::ArchiveMemory { .. } => PyMemoryError::new_err(message(error)),
        _ => PyOSError::new_err(message(error)),
    }
}

impl Raise for OpenError {
    fn raise(self) -> PyErr {
        raise_open(&self)
    }
}

impl Raise for FolderError {
    fn raise(self) -> PyErr {
        match self {
            Self::ArchiveMemory { .. } => PyMemoryError::new_err(message(&self)),
            _ => PyOSError::new_err(message(&self)),
        }
    }
}

impl Raise for TableError {
    fn raise(self) -> PyErr {
        chronoxide::Error::from(self).raise()
    }
}

impl Raise for ArrowError {
    fn raise(self) -> PyErr {
        PyRuntimeError::new_err(message(&self))
    }
}

impl Raise for DataFusionError {
    fn raise(self) -> PyErr {
        match self {
            Self::External(error) => match error.downcast::<chronoxide::Error>() {
                Ok(error) => error.raise(),
                Err(error) => match error.downcast::<TableError>() {
                    Ok(error) => error.raise(),
                    Err(error) => PyRuntimeError::new_err(message(&*error)),
                },
            },
            other => PyRuntimeError::new_err(message(&other)),
        }
    }
}
