//! Named blocks of object stores, and outputs that go there.

use std::path::{Path, PathBuf};

use chronoxide_cli::{Failure, is_folder, show_downloads};
use chronoxide_store::{BLOCK_SUFFIX, Cache, Created, DEFAULT_CACHE_LEN, Location};

use crate::failure::{Error, usage};

/// Returns true for the URL of a location: not of a single block.
pub(crate) fn is_location(path: &Path) -> bool {
    path.to_str().is_some_and(|text| Location::is_url(text) && !text.ends_with(BLOCK_SUFFIX))
}

/// Returns true for a URL.
pub(crate) fn is_url(path: &Path) -> bool {
    path.to_str().is_some_and(Location::is_url)
}

/// Returns the file of an input: its path, or that of a copy in the cache if it is a URL.
pub(crate) fn fetch(input: &Path) -> Result<PathBuf, Error> {
    let Some(url) = input.to_str().filter(|text| Location::is_url(text)) else { return Ok(input.to_owned()) };
    Ok(show_downloads(Cache::from_environment(DEFAULT_CACHE_LEN)?).fetch_url(url)?)
}

/// An output that goes to an object store. Its blocks are written to a folder of this machine first.
pub(crate) struct Upload {
    location: Location,
    /// Key of the only output; `None` for a location, whose outputs are named after their ids.
    key: Option<String>,
    folder: tempfile::TempDir,
}

impl Upload {
    /// Begins an upload if the output is a URL.
    pub(crate) fn begin(output: &Path, force: bool) -> Result<Option<Self>, Failure> {
        let Some(url) = output.to_str().filter(|text| Location::is_url(text)) else { return Ok(None) };
        if force {
            return Err(usage("--force needs a file as output: objects are never replaced"));
        }
        let (location, key) = if url.ends_with(BLOCK_SUFFIX) {
            let (location, key) = Location::open_object(url)?;
            if location.find(&key)?.is_some() {
                return Err(usage(format!("{url}: already exists")));
            }
            (location, Some(key))
        } else {
            (Location::open(url)?, None)
        };
        let cache = Cache::from_environment(DEFAULT_CACHE_LEN)?;
        let folder = cache.upload_folder()?;
        Ok(Some(Self { location, key, folder }))
    }

    /// Returns the path to write to: a file, or a folder.
    pub(crate) fn path(&self) -> PathBuf {
        match &self.key {
            Some(_) => self.folder.path().join("output.cx"),
            None => self.folder.path().to_owned(),
        }
    }

    /// Creates the object of a written file. Returns its URL, and true if it did not exist.
    pub(crate) fn create(&self, file: &Path) -> Result<(PathBuf, bool), Failure> {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let key = self.key.as_ref().unwrap_or(&name);
        let created = self.location.create(key, file)?;
        Ok((self.location.name(key).into(), created == Created::New))
    }
}

/// Returns true if an output is a folder, or a location of an object store.
pub(crate) fn is_folder_or_location(output: &Path) -> bool {
    if is_url(output) { is_location(output) } else { is_folder(output) }
}
