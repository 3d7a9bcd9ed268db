//! Paths of outputs.

use std::io;
use std::path::Path;

use chronoxide_publish::{Existing, PublishError};
use chronoxide_store::Location;

use crate::exit::Exit;
use crate::failure::Failure;

/// Returns true if the path of an output is a folder: it ends with a separator, or a folder has this name.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|&last| std::path::is_separator(last.into()))
        || path.is_dir()
}

/// Refuses the URL of an object store as an output that must be on this machine: it would become a folder `s3:`.
///
/// # Errors
/// `output` is a URL.
pub fn refuse_url(output: &Path) -> Result<(), Failure> {
    if output.to_str().is_some_and(Location::is_url) {
        let reason = "only chronoxide-compact writes to object stores; write to a file or folder, and copy its blocks";
        return Err(Failure::new(Exit::Usage, format!("{}: {reason}", output.display())));
    }
    Ok(())
}

/// Returns how to treat an existing file at `output`, and refuses early what publishing would refuse after the work.
///
/// # Errors
/// `output` is `-` or a URL, or it exists and `force` is false.
pub fn existing(output: &Path, force: bool) -> Result<Existing, Failure> {
    refuse_url(output)?;
    if output == Path::new("-") {
        return Err(Failure::new(Exit::Usage, "the output must be a file; standard output is not supported"));
    }
    if force {
        return Ok(Existing::Replace);
    }
    if output.symlink_metadata().is_ok() {
        return Err(PublishError::<io::Error>::Exists { path: output.to_owned() }.into());
    }
    Ok(Existing::Refuse)
}
