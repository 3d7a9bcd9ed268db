//! Blocks of object stores, by their URLs.

use std::io;
use std::path::{Path, PathBuf};

use chronoxide_format::view::BlockView;
use chronoxide_format::{Error, Result as BlockResult};
use chronoxide_inspect::InspectError;
use chronoxide_inspect::query::Queried;
use chronoxide_reader::{Block, Checks, OpenError};
use chronoxide_select::{IndexedBlock, Selector};
use chronoxide_store::{Cache, DEFAULT_CACHE_LEN, Location, SparseBlock, StoreError};

use crate::{fetch_url, show_downloads};

/// Blocks that are shorter are fetched whole: requests cost more than their bytes.
const MIN_SPARSE_LEN: u64 = 1 << 20;

/// Names the path in an error of a store.
fn located(path: &Path) -> impl Fn(StoreError) -> OpenError + '_ {
    move |error| {
        let path = path.to_owned();
        match error {
            StoreError::Block { source, .. } => OpenError::Block { path, source },
            StoreError::BrokenLink { source, .. } => OpenError::Io { path, source },
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
        let (listing, paths) = show_downloads(Cache::from_environment(DEFAULT_CACHE_LEN)?).fetch_live(&location)?;
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

/// Error of a query that a read may mend.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Query(#[from] InspectError),
}

/// Opens a block that has at least the chunks that `read` reads of the series that match one of the selectors.
pub(crate) fn open_for(
    url: &str,
    selectors: &[Selector],
    read: impl Fn(&[Queried<'_>]) -> io::Result<()>,
) -> Result<Block, OpenError> {
    let open = || -> Result<Block, StoreError> {
        let mut block = SparseBlock::open_url(url)?;
        if block.object().byte_len >= MIN_SPARSE_LEN {
            let query = |block: &Block| -> Result<(), Unread> {
                let block = IndexedBlock::new(block.clone());
                let queried = [Queried::new(&block, selectors)?];
                read(&queried).map_err(InspectError::Write)?;
                let [queried] = queried;
                queried.into_damage().map_or(Ok(()), |damage| Err(damage.into()))
            };
            let missing = |error: &Unread| -> Option<Error> {
                match error {
                    Unread::Query(InspectError::Block(error)) => Some(error.clone()),
                    _ => None,
                }
            };
            match block.query_block(query, missing) {
                // Other errors come again when the query runs for its output.
                Ok(()) | Err(Unread::Query(_)) => {}
                Err(Unread::Store(error)) => return Err(error),
            }
        } else {
            block.read_rest()?;
        }
        block.into_block(Checks::Lazy)
    };
    open().map_err(located(Path::new(url)))
}
