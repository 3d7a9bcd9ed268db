//! [`Upload`]: outputs that go to an object store.

use std::path::{Path, PathBuf};

use chronoxide_locations::{Cache, Created, DEFAULT_CACHE_LEN, Location, LocationError, UploadFolder};
use chronoxide_reader::is_block_name;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::target::{location_url, url};

/// An output that goes to an object store. Its blocks are written to a folder of this machine first.
#[derive(Debug)]
pub struct Upload {
    location: Location,
    /// Key of the only output; `None` for a location, whose outputs are named after their ids.
    key: Option<String>,
    folder: UploadFolder,
}

/// Returns the location of an output that is a URL, and the key of the output if it is a block: its URL ends in `.cx`.
///
/// # Errors
/// `force` is true, the object exists or its name begins with a dot, or the store cannot be asked.
pub fn remote_target(output: &Path, force: bool) -> Result<Option<(Location, Option<String>)>, Failure> {
    let Some(url) = url(output) else { return Ok(None) };
    if force {
        return Err(Failure::new(Exit::Usage, "--force needs a path as output: objects of URLs are never replaced"));
    }
    if location_url(output).is_some() {
        return Ok(Some((Location::open(url)?, None)));
    }
    let (location, key) = Location::open_object(url)?;
    if !is_block_name(&key) {
        return Err(Failure::new(Exit::Usage, format!("{url}: no reader lists names that begin with a dot")));
    }
    if location.find(&key)?.is_some() {
        let reason = "already exists and is never replaced: choose another name";
        return Err(Failure::new(Exit::Io, format!("{url}: {reason}")));
    }
    Ok(Some((location, Some(key))))
}

impl Upload {
    /// Begins an upload if the output is a URL: of a block if it ends in `.cx`, else of a location.
    ///
    /// # Errors
    /// `force` is true, the object exists or its name begins with a dot, the store cannot be asked, or there is no
    /// folder for the blocks.
    pub fn begin(output: &Path, force: bool) -> Result<Option<Self>, Failure> {
        let Some((location, key)) = remote_target(output, force)? else { return Ok(None) };
        let folder = Cache::from_environment(DEFAULT_CACHE_LEN).upload_folder()?;
        Ok(Some(Self { location, key, folder }))
    }

    /// Returns the path to write to: a file, or a folder.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match &self.key {
            Some(_) => self.folder.path().join("output.cx"),
            None => self.folder.path().to_owned(),
        }
    }

    /// Creates the object of a written file, and deletes the file. Returns the URL, and true if the object did not
    /// exist.
    ///
    /// # Errors
    /// The object cannot be written or read back, or exists with other bytes. The file is kept until the upload is
    /// dropped.
    pub fn create(&self, file: &Path) -> Result<(PathBuf, bool), LocationError> {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let key = self.key.as_ref().unwrap_or(&name);
        let created = self.location.create(key, file)?;
        // Dropping the upload deletes it too.
        let _ = std::fs::remove_file(file);
        Ok((self.location.name(key).into(), created == Created::New))
    }
}
