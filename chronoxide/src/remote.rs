//! Blocks of object stores: fetched into a cache, and opened there.

use std::path::{Path, PathBuf};

use chronoxide_store::{BLOCK_SUFFIX, Cache, DEFAULT_CACHE_LEN, Location, StoreError};

use crate::blocks::Found;
use crate::error::kind_of_block;
use crate::{Error, ErrorKind, OpenOptions};

/// How object stores are asked.
#[derive(Clone, Default)]
pub(crate) struct Remote {
    cache: Option<PathBuf>,
    settings: Vec<(String, String)>,
}

impl std::fmt::Debug for Remote {
    /// Names the settings without their values, which may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.settings.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Remote").field("cache", &self.cache).field("settings", &names).finish()
    }
}

impl OpenOptions {
    /// Sets the folder for copies of remote blocks, instead of that of the environment. It keeps 16 GiB of them.
    #[must_use]
    pub fn cache(mut self, folder: impl AsRef<Path>) -> Self {
        self.remote.cache = Some(folder.as_ref().to_owned());
        self
    }

    /// Adds a setting of the object store, such as `AWS_ENDPOINT`, that comes before that of the environment.
    #[must_use]
    pub fn store_setting(mut self, name: &str, value: &str) -> Self {
        self.remote.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn open_url(&self, url: &str) -> Result<Found, Error> {
        let Remote { cache, settings } = &self.remote;
        let location = Location::open_with(url, settings)?;
        if !location.is_remote() {
            return self.open_path(Path::new(location.text()));
        }
        let cache = match cache {
            Some(folder) => Cache::open(folder, DEFAULT_CACHE_LEN)?,
            None => Cache::from_environment(DEFAULT_CACHE_LEN)?,
        };
        if url.ends_with(BLOCK_SUFFIX) {
            let found = self.open_files([cache.fetch_url_with(url, settings)?])?;
            let urls = found.set.blocks().iter().map(|block| (block.id(), url.to_owned())).collect();
            return Ok(Found { urls, ..found });
        }
        let (listing, files) = cache.fetch_live(&location)?;
        let urls = listing.live.iter().map(|block| (block.facts.id, location.name(&block.object.key))).collect();
        let damaged = self.skipped(listing.unreadable.into_iter().map(|(_, error)| error.into()).collect())?;
        Ok(Found { damaged, urls, is_folder: true, ..self.open_files(files)? })
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::Location { .. } => ErrorKind::Usage,
            StoreError::TooLong { .. } => ErrorKind::OutOfResources,
            StoreError::Block { source, .. } => kind_of_block(source),
            StoreError::Json { .. } => ErrorKind::Corrupt,
            _ => ErrorKind::Io,
        };
        Self::new(kind, error)
    }
}
