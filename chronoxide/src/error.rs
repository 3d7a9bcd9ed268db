//! [`Error`]: why a call failed.

use std::error::Error as StdError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use chronoxide_labels::{LabelError, SealError};
use chronoxide_publish::PublishError;
use chronoxide_reader::{FileError, FindError, FolderError, OpenError};
use chronoxide_select::{BlockSetError, SelectError, SelectorError};
use chronoxide_text::escape::TerminalSafe;

/// The reason why a call failed: one type for the whole crate, of one word.
///
/// Its text is complete: it has the path of the file, the place of the damage, and the reason that the system gave.
#[derive(Clone)]
pub struct Error(Arc<Reason>);

struct Reason {
    kind: ErrorKind,
    path: Option<PathBuf>,
    /// Damage of the bytes of a block.
    block: Option<chronoxide_format::Error>,
    cause: Box<dyn StdError + Send + Sync>,
}

/// Kind of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file or a folder cannot be read or written.
    Io,
    /// An argument is invalid: a selector, a label, a path.
    Usage,
    /// The output exists, and was not to be replaced.
    Exists,
    /// A block is damaged, or a file is not a block.
    Corrupt,
    /// A block has a version or a feature that this build does not read.
    Unsupported,
    /// The query selects more series than it may.
    TooManySeries,
    /// The query took longer than it may.
    Timeout,
    /// The caller cancelled the query.
    Cancelled,
    /// There is no more memory, a limit of memory was reached, or no more files or maps can be opened. The file may be
    /// sound.
    OutOfResources,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(Arc::new(Reason { kind, path: None, block: None, cause: cause.into() }))
    }

    pub(crate) fn with_path(mut self, path: &Path) -> Self {
        if let Some(reason) = Arc::get_mut(&mut self.0) {
            reason.path = Some(path.to_owned());
        }
        self
    }

    pub(crate) fn with_path_of(self, block: &chronoxide_reader::Block) -> Self {
        match block.path() {
            Some(path) => self.with_path(path),
            None => self,
        }
    }

    fn with_block(mut self, error: &chronoxide_format::Error) -> Self {
        if let Some(reason) = Arc::get_mut(&mut self.0) {
            reason.block = Some(error.clone());
        }
        self
    }

    /// Returns the error of the bytes of a block, if it is one.
    #[cfg(feature = "objects")]
    pub(crate) fn block(&self) -> Option<&chronoxide_format::Error> {
        self.0.block.as_ref()
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the file or folder that the error is about, if it is about one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Returns the error of the system, if it caused this one.
    #[must_use]
    pub fn io_error(&self) -> Option<&io::Error> {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(&*self.0.cause);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            cause = error.source();
        }
        None
    }

    /// Returns the id of the rule that a damaged block breaks, as `spec/FORMAT.md` names it.
    #[must_use]
    pub fn rule(&self) -> Option<&'static str> {
        self.0.block.as_ref().map(|error| error.rule().id())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error").field("kind", &self.kind()).field("text", &self.to_string()).finish()
    }
}

impl fmt::Display for Error {
    /// Writes one line: paths may have characters that end it or steer a terminal, which are escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TerminalSafe(&full_text(&*self.0.cause)).fmt(f)
    }
}

/// Returns the text of an error with its causes, except those that a text has already.
pub(crate) fn full_text(error: &dyn StdError) -> String {
    let mut known = error.to_string();
    let mut full = known.clone();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !known.contains(&text) {
            full = format!("{full}: {text}");
        }
        (known, cause) = (text, error.source());
    }
    full
}

// The text has all causes, so that there is no source to be shown once more.
impl StdError for Error {}

/// Returns the kind of an error of the bytes of a block.
pub(crate) fn kind_of_block(error: &chronoxide_format::Error) -> ErrorKind {
    match error.kind() {
        _ if error.is_unsupported() => ErrorKind::Unsupported,
        chronoxide_format::ErrorKind::OutOfMemory { .. } => ErrorKind::OutOfResources,
        _ => ErrorKind::Corrupt,
    }
}

impl From<FileError<chronoxide_format::Error>> for Error {
    fn from(error: FileError<chronoxide_format::Error>) -> Self {
        Self::from(error_in(error, SelectError::Block))
    }
}

/// Converts the cause of an error, and keeps the path.
fn error_in<A, B>(FileError { path, source }: FileError<A>, convert: impl FnOnce(A) -> B) -> FileError<B> {
    FileError { path, source: convert(source) }
}

impl From<FileError<SelectError>> for Error {
    fn from(error: FileError<SelectError>) -> Self {
        let kind = match &error.source {
            SelectError::Block(block) => kind_of_block(block),
            SelectError::TooManyLabels { .. } => ErrorKind::Corrupt,
            SelectError::TooManySeries { .. } => ErrorKind::TooManySeries,
            SelectError::DeadlineExceeded => ErrorKind::Timeout,
            SelectError::Cancelled => ErrorKind::Cancelled,
            SelectError::OutOfMemory { .. } | SelectError::MemoryLimit { .. } => ErrorKind::OutOfResources,
            _ => ErrorKind::Usage,
        };
        // Limits are not about a file.
        let is_about_block = matches!(kind, ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::OutOfResources);
        if !is_about_block {
            return Self::new(kind, error.source);
        }
        let block = match &error.source {
            SelectError::Block(block) => Some(block.clone()),
            _ => None,
        };
        let path = error.path.clone();
        let located = path.iter().fold(Self::new(kind, error), |error, path| error.with_path(path));
        block.iter().fold(located, Self::with_block)
    }
}

impl From<SelectError> for Error {
    fn from(source: SelectError) -> Self {
        FileError { path: None, source }.into()
    }
}

impl From<FileError<FindError>> for Error {
    fn from(error: FileError<FindError>) -> Self {
        match error {
            FileError { path, source: FindError::Block(source) } => FileError { path, source }.into(),
            other => Self::new(ErrorKind::Usage, other.source),
        }
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Block { path, source } => FileError { path: Some(path), source }.into(),
            OpenError::OutOfResources { ref path, .. }
            | OpenError::TooLarge { ref path, .. }
            | OpenError::ArchiveMemory { ref path, .. } => {
                let path = path.clone();
                Self::new(ErrorKind::OutOfResources, error).with_path(&path)
            }
            OpenError::Io { ref path, .. } => {
                let path = path.clone();
                Self::new(ErrorKind::Io, error).with_path(&path)
            }
            other => Self::new(ErrorKind::Corrupt, other),
        }
    }
}

impl From<BlockSetError> for Error {
    fn from(error: BlockSetError) -> Self {
        let (kind, path) = match &error {
            BlockSetError::TooMany { folder, .. } => (ErrorKind::OutOfResources, Some(folder.clone())),
            BlockSetError::Folder(FolderError::ArchiveMemory { path, .. }) => {
                (ErrorKind::OutOfResources, Some(path.clone()))
            }
            BlockSetError::Folder(FolderError::Io { path, .. } | FolderError::Changing { path }) => {
                (ErrorKind::Io, Some(path.clone()))
            }
            _ => (ErrorKind::Io, None),
        };
        let error = Self::new(kind, error);
        match path {
            Some(path) => error.with_path(&path),
            None => error,
        }
    }
}

impl From<SelectorError> for Error {
    fn from(error: SelectorError) -> Self {
        Self::new(ErrorKind::Usage, format!("invalid selector: {error}"))
    }
}

impl From<LabelError> for Error {
    fn from(error: LabelError) -> Self {
        let kind = match &error {
            LabelError::Full { .. } | LabelError::ArenaFull { .. } => ErrorKind::OutOfResources,
            _ => ErrorKind::Usage,
        };
        Self::new(kind, error)
    }
}

impl From<SealError> for Error {
    fn from(error: SealError) -> Self {
        Self::new(ErrorKind::Usage, error)
    }
}

impl<E: StdError + Send + Sync + 'static> From<PublishError<E>> for Error {
    fn from(error: PublishError<E>) -> Self {
        let (kind, path) = match &error {
            // The text of the commands names an option.
            PublishError::Exists { path } => {
                return Self::new(ErrorKind::Exists, format!("{}: already exists", path.display())).with_path(path);
            }
            PublishError::NoFileName { path }
            | PublishError::NotAFile { path, .. }
            | PublishError::InvalidName { path, .. } => (ErrorKind::Usage, path.clone()),
            PublishError::NoFolder { path, .. }
            | PublishError::Io { path, .. }
            | PublishError::LengthDiffers { path, .. }
            | PublishError::Unverified { path, .. } => (ErrorKind::Io, path.clone()),
            _ => return Self::new(ErrorKind::Io, error),
        };
        Self::new(kind, error).with_path(&path)
    }
}
