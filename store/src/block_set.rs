//! [`open_set`]: the live blocks of a location, queried together.

use chronoxide_reader::{Block, Checks};
use chronoxide_select::BlockSet;

use crate::{Cache, Location, StoreError};

/// Opens the live blocks of a location as files of the cache, and maps them.
///
/// # Safety
/// The contract of [`Block::map`], for the files of the cache, and for those of a location on this machine.
///
/// # Errors
/// Errors of listing and fetching, and a location with an object that is not a valid block: a query would lack its
/// series.
pub unsafe fn open_set(location: &Location, cache: &Cache, checks: Checks) -> Result<BlockSet, StoreError> {
    let (listing, paths) = cache.fetch_live(location)?;
    if let Some((_, error)) = listing.unreadable.into_iter().next() {
        return Err(error);
    }
    let mut blocks = Vec::with_capacity(paths.len());
    for (listed, path) in listing.live.iter().zip(paths) {
        // SAFETY: the caller keeps the contract.
        let block = unsafe { Block::map(&path, checks) }.map_err(|error| StoreError::Io {
            object: location.name(&listed.object.key),
            operation: "open the fetched block",
            source: std::io::Error::other(error),
        })?;
        blocks.push((path, block));
    }
    Ok(BlockSet::from_blocks(blocks))
}
