//! Publishes outputs, or finds existing ones.

use std::cell::Cell;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chronoxide_publish::{Output, PublishError, publish_in};
use chronoxide_reader::lineage::Lineage;
use chronoxide_reader::{BlockId, Job};

use super::folder::{InputsDeleted, JobDone, JobFolder, Merged};
use super::{JobError, Refused};

/// Writes a block and returns its id. It may seek back to fill in the header.
pub type WriteBlock<'a> = Box<dyn FnOnce(&mut dyn Output) -> io::Result<BlockId> + 'a>;

/// An output to be written.
pub struct Planned<'a> {
    /// Length in bytes, if known before it is written.
    pub byte_len: Option<u64>,
    /// Writes the block. Its id, which is the name of the file, covers all of its bytes: a job that is run again writes
    /// an output that exists already to a temporary file, and drops it.
    pub write: WriteBlock<'a>,
}

impl fmt::Debug for Planned<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planned").field("byte_len", &self.byte_len).finish_non_exhaustive()
    }
}

/// A published and verified output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishedOutput {
    /// The file.
    pub path: PathBuf,
    /// Block id.
    pub id: BlockId,
    /// Length of the file in bytes.
    pub byte_len: u64,
    /// True if the file existed already, from a run that was killed.
    pub found: bool,
}

/// A job whose outputs come one by one; see [`JobFolder::publish`]. Each must be the planned block, and all must belong
/// to one job.
#[derive(Debug)]
pub struct OpenJob<'a, E> {
    folder: &'a JobFolder<'a, E>,
    /// Number of the only output that this process writes, if other processes write the others.
    only: Option<u32>,
    job: Option<Job>,
    published: Vec<PublishedOutput>,
}

impl<'a, E> OpenJob<'a, E> {
    pub(super) fn new(folder: &'a JobFolder<'a, E>, only: Option<u32>) -> Self {
        Self { folder, only, job: None, published: Vec::new() }
    }

    /// Publishes the next output, unless it exists already. Returns its id.
    ///
    /// # Errors
    /// See [`JobError`].
    pub fn publish(&mut self, planned: Planned<'_>) -> Result<BlockId, JobError<E>> {
        let (Planned { byte_len, write }, folder) = (planned, self.folder);
        let written = Cell::new(BlockId::default());
        let mut job = None;
        let write = |out: &mut dyn Output| {
            let id = write(out)?;
            written.set(id);
            Ok(block_name(id))
        };
        let published = publish_in(folder.system, folder.lock.folder(), write, |candidate| {
            job = Some(self.check((written.get(), byte_len), candidate.path(), candidate.byte_len())?);
            Ok(())
        });
        let id = written.get();
        let path = folder.path_of(id);
        let (byte_len, found) = match published {
            Ok(published) => (published.byte_len, false),
            Err(PublishError::Exists { .. }) => {
                let occupied = |source| JobError::Occupied { path: path.clone(), source };
                // If the length is unknown, the verifier reports the reason.
                let found = fs::metadata(&path).map_or(0, |metadata| metadata.len());
                job = Some(self.check((id, byte_len), &path, found).map_err(occupied)?);
                make_durable(folder, &path).map_err(|source| JobError::Sync { path: path.clone(), source })?;
                (found, true)
            }
            Err(error) => return Err(JobError::Publish(error)),
        };
        self.job = job;
        self.published.push(PublishedOutput { path, id, byte_len, found });
        Ok(id)
    }

    fn check(&self, (expected, byte_len): (BlockId, Option<u64>), path: &Path, found: u64) -> Result<Job, Refused<E>> {
        let lineage = (self.folder.verify)(path).map_err(Refused::Verify)?;
        if lineage.id != expected {
            return Err(Refused::OtherBlock { expected, found: lineage.id });
        }
        if let Some(expected) = byte_len.filter(|expected| *expected != found) {
            return Err(Refused::OtherLength { expected, found });
        }
        self.job_of(&lineage).ok_or(Refused::OtherJob { output: self.published.len() })
    }

    /// Returns the job of an output, if it is the next output of the job.
    fn job_of(&self, lineage: &Lineage) -> Option<Job> {
        let job = lineage.job?;
        let due = self.published.len() as u64 + u64::from(self.only.unwrap_or(0));
        let next = u64::from(job.output) == due && job.output < job.output_count;
        let others = self.job.is_none_or(|other| (other.id, other.output_count) == (job.id, job.output_count));
        (next && others).then_some(job)
    }

    /// Ends the job, and deletes the inputs in `delete`, if given.
    ///
    /// # Errors
    /// See [`JobError`].
    pub fn finish(self, delete: Option<&[BlockId]>) -> Result<JobDone, JobError<E>> {
        let all = self.job.filter(|_| self.only.is_none()).map_or(1, |job| job.output_count);
        let (expected, outputs) = (all, self.published);
        if usize::try_from(expected) != Ok(outputs.len()) {
            return Err(JobError::MissingOutputs { expected, published: outputs.len() });
        }
        let Some(inputs) = delete.filter(|_| self.only.is_none()) else {
            return Ok(JobDone { outputs, deleted: Vec::new(), absent: Vec::new(), unreadable: Vec::new() });
        };
        let InputsDeleted { deleted, absent, unreadable, failed } =
            self.folder.delete_inputs(&[Merged { outputs: &outputs, inputs }])?;
        match failed.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(JobDone { outputs, deleted: deleted.concat(), absent, unreadable }),
        }
    }
}

/// Returns the name of the file of a block.
pub(super) fn block_name(id: BlockId) -> String {
    format!("{id}.cx")
}

/// Syncs an existing output. The run that published it may have been killed before that, or the file was copied here.
fn make_durable<E>(folder: &JobFolder<'_, E>, path: &Path) -> io::Result<()> {
    let file = folder.system.open(path)?;
    // Other systems sync only files that are open for writing.
    if cfg!(unix) {
        folder.system.sync_file(&file)?;
    }
    folder.system.sync_folder(folder.lock.folder())
}
