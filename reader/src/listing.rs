//! Names in a folder.

use std::ffi::OsString;
use std::io;
use std::path::Path;

/// Returns the names of the entries of `folder`, in no order.
///
/// An error at any call is returned. The iterator of the standard library panics when the folder cannot be closed.
#[cfg(unix)]
pub(crate) fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use rustix::fs::{Dir, Mode, OFlags, open};

    let opened = open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::new(opened)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}

/// Returns the names of the entries of `folder`, in no order.
#[cfg(not(unix))]
pub(crate) fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
}
