//! Blocks of object stores: fetched into a cache, and opened there.

use std::path::{Path, PathBuf};

use chronoxide_locations::{BLOCK_SUFFIX, Cache, DEFAULT_CACHE_LEN, Location, LocationError, SparseBlock};
use chronoxide_reader::{Block, Checks, OpenError};

use crate::blocks::{Found, as_url};
use crate::error::kind_of_block;
use crate::{Blocks, Error, ErrorKind, OpenOptions};

/// Blocks that are shorter are fetched whole: requests cost more than their bytes.
const MIN_SPARSE_LEN: u64 = 1 << 20;

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

    /// Opens a block of an object store, and fetches only the chunks of 8 KiB that `read` reads: it runs again as long
    /// as it misses some, and must not [skip](crate::Query::skip_damaged) damage. To the result, other chunks are
    /// damaged. Blocks of less than 1 MiB are fetched whole; paths of this machine, and locations, are opened as by
    /// [`OpenOptions::open`].
    ///
    /// # Errors
    /// As [`OpenOptions::open`], and errors of `read` but for damage: that of the block is met again.
    pub fn open_for(
        &self,
        path: impl AsRef<Path>,
        mut read: impl FnMut(&Blocks) -> Result<(), Error>,
    ) -> Result<Blocks, Error> {
        let path = path.as_ref();
        let Some(url) = as_url(path).filter(|url| url.ends_with(BLOCK_SUFFIX)) else { return self.open(path) };
        let mut sparse = SparseBlock::open_url_with(url, &self.remote.settings)?;
        let opened = |block: Block| Ok::<_, Error>(Blocks::new(Some(url.into()), self, self.single(block)?));
        if sparse.object().byte_len < MIN_SPARSE_LEN {
            sparse.read_rest()?;
        } else {
            let asked = sparse.query_block(|block| read(&opened(block.clone())?), |error| error.block().cloned());
            if let Err(error) = asked
                && error.kind() != ErrorKind::Corrupt
            {
                return Err(error);
            }
        }
        opened(sparse.into_block(Checks::Lazy)?.with_path(url))
    }

    pub(crate) fn open_url(&self, url: &str) -> Result<Found, Error> {
        let Remote { cache, settings } = &self.remote;
        let located = |error: LocationError| Error::from(error).with_path(Path::new(url));
        let location = Location::open_with(url, settings).map_err(located)?;
        if !location.is_remote() {
            return self.open_path(Path::new(location.text()));
        }
        let cache = match cache {
            Some(folder) => Cache::open(folder, DEFAULT_CACHE_LEN)?,
            None => Cache::from_environment(DEFAULT_CACHE_LEN),
        };
        if url.ends_with(BLOCK_SUFFIX) {
            let copy = cache.fetch_url_with(url, settings).map_err(located)?;
            return self.single(self.open_copy(url.to_owned(), &copy)?);
        }
        let (listing, copies) = cache.fetch_live(&location).map_err(located)?;
        let mut damaged: Vec<Error> = listing
            .unreadable
            .into_iter()
            .map(|(key, error)| Error::from(error).with_path(Path::new(&location.name(&key))))
            .collect();
        let mut blocks = Vec::new();
        for (listed, copy) in listing.live.iter().zip(copies) {
            match self.open_copy(location.name(&listed.object.key), &copy) {
                Ok(block) => blocks.push(block),
                Err(error) => damaged.push(error),
            }
        }
        Ok(Found { hidden: listing.hidden.len(), ..self.several(blocks, damaged)? })
    }

    /// Opens the copy of a block, named by its URL.
    fn open_copy(&self, url: String, copy: &Path) -> Result<Block, Error> {
        match self.open_file(copy) {
            Ok(block) => Ok(block.with_path(url)),
            Err(OpenError::Block { source, .. }) => Err(OpenError::Block { path: url.into(), source }.into()),
            Err(error) => Err(error.into()),
        }
    }
}

impl From<LocationError> for Error {
    fn from(error: LocationError) -> Self {
        let kind = match &error {
            LocationError::Location { .. } => ErrorKind::Usage,
            LocationError::TooLong { .. } => ErrorKind::OutOfResources,
            LocationError::Block { source, .. } => kind_of_block(source),
            LocationError::Json { .. } => ErrorKind::Corrupt,
            _ => ErrorKind::Io,
        };
        Self::new(kind, error)
    }
}
