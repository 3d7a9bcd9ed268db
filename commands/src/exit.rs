//! The exit codes of all commands.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use chronoxide_compactor::CompactError;
use chronoxide_dump::DumpError;
use chronoxide_format::ErrorKind;
use chronoxide_ingest::publish::VerifyError;
use chronoxide_inspect::InspectError;
use chronoxide_inspect::report::ReportError;
use chronoxide_locations::LocationError;
use chronoxide_publish::PublishError;
use chronoxide_reader::{OpenError, RemapError, RemapErrorKind};

/// Exit code of a command. The numbers are part of the interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Exit {
    /// Success.
    #[default]
    Ok = 0,
    /// A file could not be read or written.
    Io = 1,
    /// The arguments are invalid.
    Usage = 2,
    /// An input is damaged or malformed.
    Corrupt = 3,
    /// An input has a version, format or feature that is not supported.
    Unsupported = 4,
    /// Success, with findings: violations or differences.
    Findings = 5,
    /// Success, but a part of the input was skipped.
    Partial = 6,
    /// SIGINT (Ctrl-C) or SIGTERM was received. Shells report 130 for a process that SIGINT ended.
    Interrupted = 130,
}

impl Exit {
    /// Returns the number for the operating system.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Returns this code, or `other` if this one is [`Exit::Ok`]. A command that continues after an error ends with the
    /// first one.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self == Self::Ok { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// Error with an exit code, which `?` converts to a [`Failure`](crate::Failure).
pub trait HasExit: Error {
    /// Returns the exit code.
    fn exit(&self) -> Exit;
}

impl HasExit for io::Error {
    fn exit(&self) -> Exit {
        Exit::Io
    }
}

impl<E: HasExit + 'static> HasExit for PublishError<E> {
    fn exit(&self) -> Exit {
        match self {
            PublishError::NoFileName { .. } => Exit::Usage,
            PublishError::Unverified { source, .. } => source.exit(),
            _ => Exit::Io,
        }
    }
}

impl HasExit for chronoxide_format::Error {
    fn exit(&self) -> Exit {
        match self.kind() {
            _ if self.is_unsupported() => Exit::Unsupported,
            ErrorKind::OutOfMemory { .. } => Exit::Io,
            _ => Exit::Corrupt,
        }
    }
}

impl HasExit for RemapError {
    fn exit(&self) -> Exit {
        match self.kind() {
            RemapErrorKind::UnsupportedVersion { .. } | RemapErrorKind::UnsupportedFeatures { .. } => Exit::Unsupported,
            _ => Exit::Corrupt,
        }
    }
}

impl HasExit for OpenError {
    fn exit(&self) -> Exit {
        match self {
            OpenError::Block { source, .. } => source.exit(),
            OpenError::Remap { source, .. } => source.exit(),
            // The exit code of a merge that exceeds its memory limit.
            OpenError::ArchiveMemory { .. } => Exit::Usage,
            // A block that is named by a URL.
            OpenError::Io { source, .. } => match source.get_ref().and_then(|error| error.downcast_ref()) {
                Some(LocationError::Location { .. }) => Exit::Usage,
                _ => Exit::Io,
            },
            _ => Exit::Io,
        }
    }
}

impl HasExit for LocationError {
    fn exit(&self) -> Exit {
        match self {
            LocationError::Location { .. } => Exit::Usage,
            LocationError::Changed { .. } => Exit::Findings,
            LocationError::Block { source, .. } => source.exit(),
            LocationError::Json { .. } => Exit::Corrupt,
            _ => Exit::Io,
        }
    }
}

impl HasExit for DumpError {
    fn exit(&self) -> Exit {
        match self {
            Self::Block(error) => error.exit(),
            Self::Remap(error) => error.exit(),
            Self::Write(error) => error.exit(),
        }
    }
}

impl HasExit for InspectError {
    fn exit(&self) -> Exit {
        match self {
            Self::Block(error) => error.exit(),
            Self::Remap(error) => error.exit(),
            // Without limits on a query, the only other error is that of a catalogue with more labels than its file
            // can have.
            Self::Select(_) => Exit::Corrupt,
            Self::Write(error) => error.exit(),
            _ => Exit::Io,
        }
    }
}

impl HasExit for chronoxide::Error {
    fn exit(&self) -> Exit {
        match self.kind() {
            chronoxide::ErrorKind::Corrupt => Exit::Corrupt,
            chronoxide::ErrorKind::Unsupported => Exit::Unsupported,
            chronoxide::ErrorKind::Usage => Exit::Usage,
            _ => Exit::Io,
        }
    }
}

impl HasExit for ReportError {
    fn exit(&self) -> Exit {
        match self {
            Self::Inspect(error) => error.exit(),
            Self::Query(error) => error.exit(),
            Self::Merge(error) | Self::Input { error, .. } => match error {
                CompactError::Input { source, .. } => source.exit(),
                CompactError::ReadOnly { .. } => Exit::Unsupported,
                CompactError::Spool(_) | CompactError::Write(_) => Exit::Io,
                _ => Exit::Usage,
            },
            Self::Write(_) | Self::Spool(_) => Exit::Io,
            Self::Remap(error) => error.exit(),
            _ => Exit::Io,
        }
    }
}

impl HasExit for VerifyError {
    /// No input is at fault.
    fn exit(&self) -> Exit {
        Exit::Io
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_part_of_the_interface() {
        let all = [Exit::Ok, Exit::Io, Exit::Usage, Exit::Corrupt, Exit::Unsupported, Exit::Findings, Exit::Partial];
        assert_eq!(all.map(Exit::code), [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn the_first_error_decides() {
        assert_eq!(Exit::Ok.or(Exit::Io).or(Exit::Corrupt), Exit::Io);
        assert_eq!(Exit::Ok.or(Exit::Ok), Exit::Ok);
    }

    #[test]
    fn a_file_that_exists_is_an_io_error_and_a_bad_name_a_usage_error() {
        let path = || "week.cx".into();
        let exists: PublishError<io::Error> = PublishError::Exists { path: path() };
        assert_eq!(exists.exit(), Exit::Io);
        let no_name: PublishError<io::Error> = PublishError::NoFileName { path: path() };
        assert_eq!(no_name.exit(), Exit::Usage);
    }

    #[test]
    fn a_newer_block_is_unsupported_and_a_broken_one_corrupt() {
        let newer: chronoxide_format::Error = ErrorKind::UnsupportedVersion { major: 2, minor: 0 }.into();
        assert_eq!(newer.exit(), Exit::Unsupported);
        assert_eq!(chronoxide_format::Error::from(ErrorKind::NotABlock).exit(), Exit::Corrupt);
        assert_eq!(RemapError::from(RemapErrorKind::UnsupportedFeatures { bits: 4 }).exit(), Exit::Unsupported);
    }
}
