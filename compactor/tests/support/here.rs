//! A folder as a location, with a file system of the test.

use std::path::Path;
use std::sync::Arc;

use chronoxide_compactor::engine::{Check, InputsDeleted, Merged, Planned, PublishedOutput, Publisher, Workplace};
use chronoxide_compactor::{Compaction, CompactionError, NoObserver, Summary, verify_block};
use chronoxide_locations::{Cache, Location, LocationError};
use chronoxide_publish::FileSystem;
use chronoxide_reader::{Block, BlockId, Checks, OpenError};

/// Result of a compaction: published and deleted blocks.
#[derive(Debug)]
pub struct Done {
    pub outputs: Vec<PublishedOutput>,
    pub deleted: Vec<String>,
    pub absent: Vec<BlockId>,
    pub unreadable: Vec<(String, LocationError)>,
}

/// A folder in which compactions run.
pub struct Here {
    location: Location,
    cache: Cache,
}

fn map(path: &Path) -> Result<Block, OpenError> {
    Block::read(path, Checks::Never)
}

impl Here {
    pub fn new(system: &(impl FileSystem + Clone + 'static), folder: &Path) -> Self {
        // No block of a folder goes into the cache.
        let cache = Cache::from_environment(0);
        Self { location: Location::folder_on(folder, Arc::new(system.clone())), cache }
    }

    pub fn place(&self) -> Workplace<'_> {
        let Self { location, cache } = self;
        Workplace { location, cache, map: &map, memory_limit: None, observer: &NoObserver }
    }

    /// Publishes outputs, then deletes the inputs in `delete`, if given.
    pub fn publish<'p>(
        &self,
        verify: &Check<'_>,
        outputs: impl IntoIterator<Item = Planned<'p>>,
        delete: Option<&[BlockId]>,
    ) -> Result<Done, CompactionError> {
        let place = self.place();
        let mut publisher = Publisher::new(&place, verify);
        for output in outputs {
            publisher.publish(output)?;
        }
        self.finish(verify, publisher.finish()?, delete)
    }

    /// Merges the inputs and publishes the outputs, then deletes the inputs in `delete`, if given, and unless other
    /// processes write the other shards.
    pub fn merge(
        &self,
        compaction: &Compaction<'_>,
        delete: Option<&[BlockId]>,
    ) -> Result<(Summary, Done), CompactionError> {
        let place = self.place();
        let only = compaction.options.shards.as_ref().and_then(|shards| Some(shards.only?.number()));
        let mut publisher = Publisher::new(&place, &verify_block).only(only);
        let folder = self.location.path("").expect("a folder");
        let summary = compaction.publish_in(&folder, |_, draft| publisher.publish(draft.into()))?;
        let done = self.finish(&verify_block, publisher.finish()?, delete.filter(|_| only.is_none()))?;
        Ok((summary, done))
    }

    fn finish(
        &self,
        verify: &Check<'_>,
        outputs: Vec<PublishedOutput>,
        delete: Option<&[BlockId]>,
    ) -> Result<Done, CompactionError> {
        let Some(inputs) = delete else {
            return Ok(Done { outputs, deleted: Vec::new(), absent: Vec::new(), unreadable: Vec::new() });
        };
        let merged = Merged { outputs: &outputs, inputs };
        let InputsDeleted { deleted, absent, unreadable, failed, .. } =
            self.place().delete_inputs(verify, &[merged])?;
        match failed.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(Done { outputs, deleted: deleted.concat(), absent, unreadable }),
        }
    }
}
