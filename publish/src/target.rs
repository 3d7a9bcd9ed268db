//! Checks of the target before the work.

use std::fs::{self, FileType, Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{PublishError, Step};

/// Treatment of an existing target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Existing {
    /// Fail, and leave the target unchanged.
    Refuse,
    /// Replace the target atomically, and keep its mode. Only regular files are replaced: `/dev/null` stays a device,
    /// and a symbolic link stays a link.
    Replace,
}

/// Target that passed its checks.
///
/// The checks give a clear error before the work instead of after it. The renaming has the last word: a file that
/// appears in the meantime is replaced only with [`Existing::Replace`].
pub(crate) struct Target<'a> {
    pub(crate) path: &'a Path,
    pub(crate) folder: PathBuf,
    /// Mode of the replaced file, which the new file gets.
    pub(crate) mode: Option<Permissions>,
}

impl<'a> Target<'a> {
    pub(crate) fn check<E>(path: &'a Path, existing: Existing) -> Result<Self, PublishError<E>> {
        let owned = || path.to_path_buf();
        if path.file_name().is_none() || ends_in_separator_or_dot(path) {
            return Err(PublishError::NoFileName { path: owned() });
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let mode = match fs::symlink_metadata(path) {
            Ok(_) if existing == Existing::Refuse => {
                return Err(PublishError::Exists { path: owned() });
            }
            Ok(found) if !found.is_file() => {
                let found = describe(found.file_type());
                return Err(PublishError::NotAFile { path: owned(), found });
            }
            Ok(found) => inherited_mode(&found),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                    if !folder.is_dir() {
                        return Err(PublishError::NoFolder { path: owned(), folder });
                    }
                    None
                }
                io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput => {
                    return Err(PublishError::InvalidName { path: owned(), source: error });
                }
                _ => {
                    return Err(PublishError::Io { path: owned(), step: Step::Inspect, source: error });
                }
            },
        };
        Ok(Target { path, folder, mode })
    }
}

/// Returns true for paths such as `a/` and `a/.`, which mean a folder. `Path` normalizes both to `a`.
fn ends_in_separator_or_dot(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_separator = |byte: u8| byte == b'/' || (cfg!(windows) && byte == b'\\');
    match bytes {
        [.., before, b'.'] => is_separator(*before),
        [.., last] => is_separator(*last),
        [] => true,
    }
}

fn describe(found: FileType) -> &'static str {
    if found.is_dir() {
        "a folder"
    } else if found.is_symlink() {
        "a symbolic link"
    } else {
        "a device, a pipe or a socket"
    }
}

/// Returns the mode for the new file: that of the replaced file, and readable by the owner, because it must be
/// verified.
#[cfg(unix)]
fn inherited_mode(found: &Metadata) -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(found.permissions().mode() & 0o777 | 0o400))
}

#[cfg(not(unix))]
fn inherited_mode(_found: &Metadata) -> Option<Permissions> {
    None
}
