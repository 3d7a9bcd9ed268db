//! Jobs in a folder: [`JobFolder`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use chronoxide_publish::{FileSystem, FolderLock, remove_files};
use chronoxide_reader::lineage::{DeletionOrder, Lineage, deletion_order};
use chronoxide_reader::{Block, BlockId, Checks, Folder, FolderError, OpenError};

use super::outputs::{OpenJob, Planned, PublishedOutput, block_name};
use super::{JobError, Refused};

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
/// let output = Planned { byte_len, write: Box::new(|out| out.write_all(&merged).map(|()| id)) };
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

/// A job that this process ran.
#[derive(Clone, Copy, Debug)]
pub struct Merged<'a> {
    /// All its outputs.
    pub outputs: &'a [PublishedOutput],
    /// Blocks that it merged and that are to be deleted.
    pub inputs: &'a [BlockId],
}

/// Result of [`JobFolder::delete_inputs`].
#[derive(Debug)]
#[non_exhaustive]
pub struct InputsDeleted<E> {
    /// Deleted files of each job, in the order of deletion.
    pub deleted: Vec<Vec<PathBuf>>,
    /// Inputs that are not in the folder; see [`JobDone`].
    pub absent: Vec<BlockId>,
    /// Blocks of the folder that could not be opened; see [`JobDone`].
    pub unreadable: Vec<(PathBuf, OpenError)>,
    /// Jobs whose inputs were kept, with the reason.
    pub failed: Vec<(usize, JobError<E>)>,
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
        OpenJob::new(self, None)
    }

    /// Begins a job that other processes share: this one writes only output `output` (from 0).
    /// Inputs are kept until all outputs exist.
    #[must_use]
    pub fn begin_with_only(&self, output: u32) -> OpenJob<'_, E> {
        OpenJob::new(self, Some(output))
    }

    /// Deletes the inputs of jobs that this process ran, after their outputs were verified again under their own names.
    /// Opens the folder once for all jobs. An error of one job keeps its inputs, but not those of the others.
    ///
    /// # Errors
    /// The folder cannot be read, or a file cannot be deleted.
    pub fn delete_inputs(&self, jobs: &[Merged<'_>]) -> Result<InputsDeleted<E>, JobError<E>> {
        let mut failed = Vec::new();
        let mut doomed: BTreeMap<BlockId, usize> = BTreeMap::new();
        for (number, job) in jobs.iter().enumerate() {
            match self.verify_again(job.outputs) {
                Err(error) => failed.push((number, error)),
                Ok(()) => doomed.extend(job.inputs.iter().map(|id| (*id, number))),
            }
        }
        for output in jobs.iter().flat_map(|job| job.outputs) {
            doomed.remove(&output.id);
        }
        let survey = (self.survey)(self.lock.folder())?;
        let lineages: Vec<&Lineage> = survey.lineages().iter().map(|(_, lineage)| lineage).collect();
        let order = loop {
            let DeletionOrder { order, needed, .. } = deletion_order(&lineages, &doomed.keys().copied().collect());
            // A job whose inputs cannot all go keeps all of them.
            let kept: BTreeMap<usize, BlockId> =
                needed.iter().rev().filter_map(|id| Some((*doomed.get(id)?, *id))).collect();
            if kept.is_empty() {
                break order;
            }
            for (&number, &id) in &kept {
                let path = survey.lineages().iter().find(|(_, lineage)| lineage.id == id);
                let path = path.map_or_else(|| self.path_of(id), |(path, _)| path.clone());
                failed.push((number, JobError::StillNeeded { path, id }));
            }
            doomed.retain(|_, number| !kept.contains_key(number));
        };
        let mut of_job = BTreeMap::new();
        for (path, lineage) in order.iter().map(|place| &survey.lineages()[*place]) {
            of_job.insert(path.clone(), doomed.get(&lineage.id).copied());
        }
        let order: Vec<PathBuf> = order.iter().map(|place| survey.lineages()[*place].0.clone()).collect();
        let present: BTreeSet<BlockId> = lineages.iter().map(|lineage| lineage.id).collect();
        let absent = doomed.keys().copied().filter(|id| !present.contains(id)).collect();
        // An open file keeps its space on disk after it is deleted.
        let unreadable = survey.into_unreadable();
        let mut deleted = vec![Vec::new(); jobs.len()];
        if order.is_empty() {
            // A run that deleted all of them may have been killed before the deletion was durable.
            let folder = self.lock.folder();
            let sync = |source| JobError::Sync { path: folder.to_owned(), source };
            self.system.sync_folder(folder).map_err(sync)?;
        } else {
            for path in remove_files(self.system, &order)?.removed {
                if let Some(number) = of_job.get(&path).copied().flatten() {
                    deleted[number].push(path);
                }
            }
        }
        Ok(InputsDeleted { deleted, absent, unreadable, failed })
    }

    fn verify_again(&self, outputs: &[PublishedOutput]) -> Result<(), JobError<E>> {
        for output in outputs {
            let unverified = |source| JobError::Unverified { path: output.path.clone(), source };
            let found = (self.verify)(&output.path).map_err(|source| unverified(Refused::Verify(source)))?.id;
            if found != output.id {
                return Err(unverified(Refused::OtherBlock { expected: output.id, found }));
            }
        }
        Ok(())
    }

    pub(super) fn path_of(&self, id: BlockId) -> PathBuf {
        self.lock.folder().join(block_name(id))
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
