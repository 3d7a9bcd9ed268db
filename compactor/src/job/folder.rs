//! Jobs in a folder: [`JobFolder`].

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use chronoxide_publish::{FileSystem, FolderLock, Removed, remove_files};
use chronoxide_reader::lineage::Lineage;
use chronoxide_reader::{Block, BlockId, Checks, Folder, FolderError, OpenError};

use super::outputs::{Planned, Progress, PublishedOutput};
use super::{JobError, Refused, inputs};

/// A folder in which jobs run, and the functions that read its blocks. `E` is the error of the verifier.
///
/// ```
/// use chronoxide_compactor::job::{JobFolder, Planned, verify_block};
/// use chronoxide_compactor::{CompactOptions, Compaction};
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
/// let views: Vec<_> = inputs.live().iter().map(|entry| *entry.block().view()).collect();
/// let merged = Compaction::new(&views, &CompactOptions::default()).merge_to_memory()?.block;
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
    /// File system for all changes of files.
    pub system: &'a dyn FileSystem,
    /// The locked folder.
    pub lock: &'a FolderLock,
    /// Verifies a block and returns its lineage. Called with the temporary names of outputs, then with their own.
    pub verify: &'a dyn Fn(&Path) -> Result<Lineage, E>,
    /// Opens the folder before inputs are deleted. Lazy checks are enough.
    pub survey: &'a dyn Fn(&Path) -> Result<Folder, FolderError>,
}

impl<E> fmt::Debug for JobFolder<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobFolder").field("lock", &self.lock).finish_non_exhaustive()
    }
}

/// Result of a job.
#[derive(Debug)]
#[non_exhaustive]
pub struct JobDone {
    /// All outputs, in order.
    pub outputs: Vec<PublishedOutput>,
    /// Deleted files, in the order of deletion.
    pub deleted: Vec<PathBuf>,
    /// Ids of inputs to delete that are not in the folder: deleted before, damaged since, or in another folder.
    pub absent: Vec<BlockId>,
    /// Blocks of the folder that could not be opened before inputs were deleted. An input among them is also in
    /// `absent`, and was not deleted.
    pub unreadable: Vec<(PathBuf, OpenError)>,
}

/// Deleted inputs, and other findings about the folder.
#[derive(Default)]
struct Deletion {
    deleted: Vec<PathBuf>,
    absent: Vec<BlockId>,
    unreadable: Vec<(PathBuf, OpenError)>,
}

impl<E> JobFolder<'_, E> {
    /// Publishes all outputs of a job, starting with number 0, each named `<id>.cx`; then deletes the inputs in
    /// `delete`, if given.
    ///
    /// The next output is requested after the one before is published. An input that is also an output is never
    /// deleted. Run [`recover`](chronoxide_publish::recover) first, to remove temporary files of a killed job.
    ///
    /// # Errors
    /// See [`JobError`]. Up to the first deletion all inputs are unchanged, and the job can be run again.
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

    /// Begins a job whose outputs come one by one.
    #[must_use]
    pub fn begin(&self) -> OpenJob<'_, E> {
        OpenJob { folder: self, progress: Progress::default() }
    }

    /// Begins a job that other processes share: this one writes only output `output` (from 0).
    /// Inputs are kept until all outputs exist.
    #[must_use]
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
        // An open file keeps its space on disk after it is deleted.
        let unreadable = survey.into_unreadable();
        if order.is_empty() {
            // A run that deleted all of them may have been killed before the deletion was durable.
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

    /// Ends the job, and deletes the inputs in `delete`, if given.
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

/// Reads a block into memory and verifies it: a verifier for a [`JobFolder`].
///
/// # Errors
/// The file cannot be read, or breaks a rule.
pub fn verify_block(path: &Path) -> Result<Lineage, OpenError> {
    let damaged = |source| OpenError::Block { path: path.to_owned(), source };
    let block = Block::read(path, Checks::Never)?;
    block.verify().map_err(damaged)?;
    Lineage::from_view(&block.view()).map_err(damaged)
}
