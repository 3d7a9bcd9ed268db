//! Places of merges, and memory maps of blocks.

use std::path::Path;

use chronoxide_compactor::Observer;
use chronoxide_compactor::engine::Workplace;
use chronoxide_locations::{Cache, Location};
use chronoxide_reader::{Block, Checks, OpenError};

use crate::{Failure, memory};

/// Returns a location where blocks are merged within a limit of memory: that of the user, or the default. It holds for
/// each of `jobs` merges at once.
pub(crate) fn workplace<'a>(
    location: &'a Location,
    cache: &'a Cache,
    observer: &'a dyn Observer,
    limit: Option<usize>,
    jobs: usize,
) -> Result<Workplace<'a>, Failure> {
    let mut place = place(location, cache, observer);
    place.memory_limit = Some(memory::hold(limit, jobs, &place.scratch_folder()?)?);
    Ok(place)
}

/// Returns a location where blocks are only looked at: without a limit, and without a scratch file.
pub(crate) fn place<'a>(location: &'a Location, cache: &'a Cache, observer: &'a dyn Observer) -> Workplace<'a> {
    Workplace { location, cache, map: &map, memory_limit: None, observer }
}

/// Maps a block without checks: merging verifies it. The arena of an archive is not decoded.
pub(crate) fn map(path: &Path) -> Result<Block, OpenError> {
    // SAFETY: published blocks are never changed, only deleted or replaced by renaming, which does not affect a map.
    // Changing a block in place violates the documentation of the format.
    unsafe { Block::map_packed(path, Checks::Never) }
}
