//! The whole, in its order.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use chronoxide_publish::{FileSystem, FolderLock, Removed, remove_files};
use chronoxide_reader::lineage::Lineage;
use chronoxide_reader::{Block, BlockId, Checks, Folder, FolderError, OpenError};

use super::outputs::{Planned, Progress, PublishedOutput};
use super::{JobError, Refused, inputs};

/// Where a job works, and how it looks at blocks. `E` is the verifier's error.
///
/// ```
/// use chronoxide_compactor::job::{JobFolder, Planned, verify_block};
/// use chronoxide_compactor::{CompactOptions, compact};
/// use chronoxide_publish::{Disk, FolderLock, recover};
/// use chronoxide_reader::{Checks, Folder};
///
/// # let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/");
/// # let blocks = tempfile::tempdir()?;
/// # let path = blocks.path();
/// # for name in ["plain-bitpacked.cx", "lists-fixedwidth.cx"] {
/// #     std::fs::copy(format!("{golden}{name}"), path.join(name))?;
/// # }
/// let lock = FolderLock::try_lock(path)?;
/// recover(&Disk, path)?;
/// let inputs = Folder::read(path, Checks::Lazy)?;
/// let views: Vec<_> = inputs.live().iter().map(|entry| entry.block().view()).collect();
/// let merged = compact(&views, &CompactOptions::default())?.block;
///
/// let folder = JobFolder { system: &Disk, lock: &lock, verify: &verify_block, survey: &|path| Folder::read(path, Checks::Lazy) };
/// let id = chronoxide_format::view::BlockView::open(&merged)?.block_id();
/// let byte_len = Some(merged.len() as u64);
/// let output = Planned { id, byte_len, write: Box::new(|out| out.write_all(&merged)) };
/// let delete: Vec<_> = inputs.live().iter().map(|entry| entry.id()).collect();
/// let done = folder.publish([output], Some(&delete))?;
/// assert_eq!(done.deleted.len(), 2);
/// assert_eq!(std::fs::read_dir(path)?.count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct JobFolder<'a, E> {
    /// The seam that every change goes through.
    pub system: &'a dyn FileSystem,
    /// The folder, with the right to be the only job in it.
    pub lock: &'a FolderLock,
    /// Checks every rule that a block must keep, and says where it comes from. Called with the temporary names of outputs, and then with their own.
    pub verify: &'a dyn Fn(&Path) -> Result<Lineage, E>,
    /// Opens the folder before inputs are deleted. Lazy checks are enough, and a map needs no memory for its blocks.
    pub survey: &'a dyn Fn(&Path) -> Result<Folder, FolderError>,
}

impl<E> fmt::Debug for JobFolder<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobFolder").field("lock", &self.lock).finish_non_exhaustive()
    }
}

/// What a job did.
#[derive(Debug)]
#[non_exhaustive]
pub struct JobDone {
    /// All outputs, in their order.
    pub outputs: Vec<PublishedOutput>,
    /// Files that were deleted, in that order.
    pub deleted: Vec<PathBuf>,
    /// Inputs that were to be deleted and are not in the folder, by id: deleted before, damaged since, or from elsewhere.
    pub absent: Vec<BlockId>,
    /// Blocks of the folder that could not be opened when inputs were to be deleted. An input among them is in `absent` too, and was not deleted.
    pub unreadable: Vec<(PathBuf, OpenError)>,
}

/// Inputs that were deleted, and what else the folder had then.
#[derive(Default)]
struct Deletion {
    deleted: Vec<PathBuf>,
    absent: Vec<BlockId>,
    unreadable: Vec<(PathBuf, OpenError)>,
}

impl<E> JobFolder<'_, E> {
    /// Publishes all outputs of a job, from number 0 on, each named `<id>.cx`; then deletes the inputs in `delete`, if there are any.
    ///
    /// The next output is asked for when the one before is in its place. An input that is also an output is never deleted. Run
    /// [`recover`](chronoxide_publish::recover) before, to remove what a killed job has left half written.
    ///
    /// # Errors
    /// See [`JobError`]: up to the first deletion all inputs are as they were, and the job can be run again.
    pub fn publish<'p>(
        &self,
        outputs: impl IntoIterator<Item = Planned<'p>>,
        delete: Option<&[BlockId]>,
    ) -> Result<JobDone, JobError<E>> {
        let mut job = self.begin();
        for planned in outputs {
            job.publish(planned)?;
        }
        job.finish(delete)
    }

    /// The same for outputs that come one by one.
    pub fn begin(&self) -> OpenJob<'_, E> {
        OpenJob { folder: self, progress: Progress::default() }
    }

    /// The same for one output of a job, by its number from 0; the others are made elsewhere, and until they are here nothing can be deleted.
    pub fn begin_with_only(&self, output: u32) -> OpenJob<'_, E> {
        OpenJob { folder: self, progress: Progress::only(output) }
    }

    fn delete(&self, outputs: &[PublishedOutput], delete: &[BlockId]) -> Result<Deletion, JobError<E>> {
        for output in outputs {
            let unverified = |source| JobError::Unverified { path: output.path.clone(), source };
            let found = (self.verify)(&output.path).map_err(|source| unverified(Refused::Verify(source)))?.id;
            if found != output.id {
                return Err(unverified(Refused::OtherBlock { expected: output.id, found }));
            }
        }
        let own: BTreeSet<BlockId> = outputs.iter().map(|output| output.id).collect();
        let delete: BTreeSet<BlockId> = delete.iter().copied().filter(|id| !own.contains(id)).collect();
        let survey = (self.survey)(self.lock.folder())?;
        let order = inputs::in_order(survey.lineages(), &delete)
            .map_err(|inputs::StillNeeded { path, id }| JobError::StillNeeded { path, id })?;
        let present: BTreeSet<BlockId> = survey.lineages().iter().map(|(_, lineage)| lineage.id).collect();
        let absent = delete.difference(&present).copied().collect();
        // What is open keeps its space.
        let unreadable = survey.into_unreadable();
        if order.is_empty() {
            // A run that deleted them all may have been killed before that was durable.
            let folder = self.lock.folder();
            let failed = |source| JobError::Sync { path: folder.to_owned(), source };
            self.system.sync_folder(folder).map_err(failed)?;
            return Ok(Deletion { deleted: Vec::new(), absent, unreadable });
        }
        let Removed { removed, .. } = remove_files(self.system, &order)?;
        Ok(Deletion { deleted: removed, absent, unreadable })
    }

    pub(super) fn path_of(&self, id: BlockId) -> PathBuf {
        self.lock.folder().join(format!("{id}.cx"))
    }
}

/// A job whose outputs come one by one; see [`JobFolder::publish`].
#[derive(Debug)]
pub struct OpenJob<'a, E> {
    folder: &'a JobFolder<'a, E>,
    progress: Progress,
}

impl<E> OpenJob<'_, E> {
    /// Publishes the next output.
    ///
    /// # Errors
    /// See [`JobError`].
    pub fn publish(&mut self, planned: Planned<'_>) -> Result<(), JobError<E>> {
        self.progress.publish(self.folder, planned)
    }

    /// Says that these were all outputs, and deletes inputs if that is asked for.
    ///
    /// # Errors
    /// See [`JobError`].
    pub fn finish(self, delete: Option<&[BlockId]>) -> Result<JobDone, JobError<E>> {
        let delete = delete.filter(|_| self.progress.only.is_none());
        let outputs = self.progress.finish()?;
        let Deletion { deleted, absent, unreadable } = match delete {
            Some(delete) => self.folder.delete(&outputs, delete)?,
            None => Deletion::default(),
        };
        Ok(JobDone { outputs, deleted, absent, unreadable })
    }
}

/// Reads a block into memory and checks every rule of the format: a verifier for a [`JobFolder`].
///
/// # Errors
/// A file that cannot be read, and the first rule that is broken.
pub fn verify_block(path: &Path) -> Result<Lineage, OpenError> {
    let damaged = |source| OpenError::Block { path: path.to_owned(), source };
    let block = Block::read(path, Checks::Never)?;
    block.verify().map_err(damaged)?;
    Lineage::from_view(&block.view()).map_err(damaged)
}
