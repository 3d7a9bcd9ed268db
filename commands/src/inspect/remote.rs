//! Blocks of object stores, by their URLs.

use std::io;
use std::path::{Path, PathBuf};

use chronoxide_format::Result as BlockResult;
use chronoxide_format::view::BlockView;
use chronoxide_locations::{Cache, DEFAULT_CACHE_LEN, Location, LocationError, SparseBlock};
use chronoxide_reader::OpenError;

use crate::{fetch_url, show_downloads};

/// Names the path in an error of a store.
fn located(path: &Path) -> impl Fn(LocationError) -> OpenError + '_ {
    move |error| {
        let path = path.to_owned();
        match error {
            LocationError::Block { source, .. } => OpenError::Block { path, source },
            LocationError::BrokenLink { source, .. } => OpenError::Io { path, source },
            error => OpenError::Io { path, source: io::Error::other(error) },
        }
    }
}

/// Returns the file of a block: fetched into the cache.
pub(crate) fn fetch(url: &str) -> Result<PathBuf, OpenError> {
    fetch_url(url).map_err(located(Path::new(url)))
}

/// Live blocks of a location, each as its URL and its file, and objects that are not valid blocks. The last value is
/// true if blocks were replaced by a compaction.
pub(crate) type Fetched = (Vec<(PathBuf, PathBuf)>, Vec<(PathBuf, OpenError)>, bool);

/// Fetches the live blocks of a location.
pub(crate) fn fetch_all(url: &str) -> Result<Fetched, OpenError> {
    let fetch = || {
        let location = Location::open(url)?;
        let (listing, paths) = show_downloads(Cache::from_environment(DEFAULT_CACHE_LEN)).fetch_live(&location)?;
        let names = listing.live.iter().map(|block| PathBuf::from(location.name(&block.object.key)));
        let files = names.zip(paths).collect();
        let unreadable = listing.unreadable.into_iter().map(|(key, error)| {
            let path = PathBuf::from(location.name(&key));
            let error = located(&path)(error);
            (path, error)
        });
        Ok((files, unreadable.collect(), !listing.hidden.is_empty()))
    };
    fetch().map_err(located(Path::new(url)))
}

/// Summarizes a block. Reads its beginning and its end, and the chunks that `summarize` needs.
pub(crate) fn summary<T>(url: &str, summarize: impl Fn(&BlockView<'_>) -> BlockResult<T>) -> Result<T, OpenError> {
    SparseBlock::open_url_for_summary(url).and_then(|mut block| block.query(summarize)).map_err(located(Path::new(url)))
}
