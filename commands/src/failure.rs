//! Errors with an exit code.

use std::error::Error;
use std::io;

use crate::exit::{Exit, HasExit};

/// Error of a command, with its exit code.
///
/// `?` converts errors that implement [`HasExit`]; [`OrExit::or_exit`] converts others.
///
/// ```
/// use chronoxide_commands::{Exit, Failure, OrExit};
///
/// fn parse(text: &str) -> Result<u32, Failure> {
///     text.parse::<u32>().or_exit(Exit::Usage)
/// }
/// assert_eq!(parse("seven").unwrap_err().exit(), Exit::Usage);
/// ```
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    error: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// Creates a failure from an error or a message.
    pub fn new(exit: Exit, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Failure { exit, error: error.into() }
    }

    /// Returns the exit code.
    #[must_use]
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// Returns the error. Its sources are its causes.
    #[must_use]
    pub fn error(&self) -> &(dyn Error + 'static) {
        &*self.error
    }

    /// Returns true if the reader of standard output closed the pipe, as `head` does.
    ///
    /// The commands write to no other pipe.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        let mut cause = Some(self.error());
        while let Some(error) = cause {
            let io = error.downcast_ref::<io::Error>();
            if io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe) {
                return true;
            }
            cause = error.source();
        }
        false
    }
}

impl<E: HasExit + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::new(error.exit(), error)
    }
}

/// Adds an exit code to the error of a result.
pub trait OrExit<T> {
    /// Returns the value, or a [`Failure`] that ends the command with `exit`.
    fn or_exit(self, exit: Exit) -> Result<T, Failure>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> OrExit<T> for Result<T, E> {
    fn or_exit(self, exit: Exit) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(exit, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot print")]
    struct Wrapped(#[source] io::Error);

    #[test]
    fn a_broken_pipe_is_seen_through_its_wrappers() {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(Failure::from(broken()).is_broken_pipe());
        assert!(Failure::new(Exit::Io, Wrapped(broken())).is_broken_pipe());
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert!(!Failure::new(Exit::Io, Wrapped(full)).is_broken_pipe());
        assert!(!Failure::new(Exit::Io, "broken pipe").is_broken_pipe());
    }
}
