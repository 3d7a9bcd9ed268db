//! Outputs published, or found there already.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chronoxide_publish::{Existing, Output, PublishError, publish};
use chronoxide_reader::lineage::Lineage;
use chronoxide_reader::{BlockId, Job};

use super::{JobError, JobFolder, Refused};

/// Writes a block, from its beginning; it may go back to fill in a header.
pub type WriteBlock<'a> = Box<dyn FnOnce(&mut dyn Output) -> io::Result<()> + 'a>;

/// An output that is to be written.
pub struct Planned<'a> {
    /// Its id, which gives the file its name.
    pub id: BlockId,
    /// Its length in bytes, if that is known before it is written.
    pub byte_len: Option<u64>,
    /// Writes the block. Not called when it is there already.
    pub write: WriteBlock<'a>,
}

impl fmt::Debug for Planned<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planned").field("id", &self.id).field("byte_len", &self.byte_len).finish_non_exhaustive()
    }
}

/// An output that is there, whole and verified.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishedOutput {
    /// The file.
    pub path: PathBuf,
    /// The block's id.
    pub id: BlockId,
    /// The file's length in bytes.
    pub byte_len: u64,
    /// Whether it was there before, from a run that was killed.
    pub found: bool,
}

/// Checks one output after the other: each must be the planned block, and all the outputs of one job.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The number of the only output that is made here, if others are made elsewhere.
    pub(super) only: Option<u32>,
    job: Option<Job>,
    pub(super) published: Vec<PublishedOutput>,
}

impl Progress {
    /// Of a job of which only this output is made here.
    pub(super) fn only(output: u32) -> Self {
        Self { only: Some(output), ..Self::default() }
    }

    /// Publishes the next output, unless it is there.
    pub(super) fn publish<E>(&mut self, folder: &JobFolder<'_, E>, planned: Planned<'_>) -> Result<(), JobError<E>> {
        let path = folder.path_of(planned.id);
        let (id, byte_len) = (planned.id, planned.byte_len);
        let mut job = None;
        let published = publish(folder.system, &path, Existing::Refuse, planned.write, |candidate| {
            job = Some(self.check(folder, (id, byte_len), candidate.path(), candidate.byte_len())?);
            Ok(())
        });
        let (byte_len, found) = match published {
            Ok(published) => (published.byte_len, false),
            Err(PublishError::Exists { .. }) => {
                let occupied = |source| JobError::Occupied { path: path.clone(), source };
                // What cannot be measured is not read either: the verifier says why.
                let found = fs::metadata(&path).map_or(0, |metadata| metadata.len());
                job = Some(self.check(folder, (id, byte_len), &path, found).map_err(occupied)?);
                make_durable(folder, &path).map_err(|source| JobError::Sync { path: path.clone(), source })?;
                (found, true)
            }
            Err(error) => return Err(JobError::Publish(error)),
        };
        self.job = job;
        self.published.push(PublishedOutput { path, id, byte_len, found });
        Ok(())
    }

    fn check<E>(
        &self,
        folder: &JobFolder<'_, E>,
        (expected, byte_len): (BlockId, Option<u64>),
        path: &Path,
        found: u64,
    ) -> Result<Job, Refused<E>> {
        let lineage = (folder.verify)(path).map_err(Refused::Verify)?;
        if lineage.id != expected {
            return Err(Refused::OtherBlock { expected, found: lineage.id });
        }
        if let Some(expected) = byte_len.filter(|expected| *expected != found) {
            return Err(Refused::OtherLength { expected, found });
        }
        self.job_of(&lineage).ok_or(Refused::OtherJob { output: self.published.len() })
    }

    /// The job of an output, if it is the next one.
    fn job_of(&self, lineage: &Lineage) -> Option<Job> {
        let job = lineage.job?;
        let due = self.published.len() as u64 + u64::from(self.only.unwrap_or(0));
        let next = u64::from(job.output) == due && job.output < job.output_count;
        let others = self.job.is_none_or(|other| (other.id, other.output_count) == (job.id, job.output_count));
        (next && others).then_some(job)
    }

    /// All outputs, if all were published.
    pub(super) fn finish<E>(self) -> Result<Vec<PublishedOutput>, JobError<E>> {
        let all = self.job.filter(|_| self.only.is_none()).map_or(1, |job| job.output_count);
        let (expected, published) = (all, self.published.len());
        if usize::try_from(expected) != Ok(published) {
            return Err(JobError::MissingOutputs { expected, published });
        }
        Ok(self.published)
    }
}

/// The run that published the file may have been killed before it was durable, or somebody has copied the file here.
fn make_durable<E>(folder: &JobFolder<'_, E>, path: &Path) -> io::Result<()> {
    let file = folder.system.open(path)?;
    // Elsewhere only who may write to a file can make it durable.
    if cfg!(unix) {
        folder.system.sync_file(&file)?;
    }
    folder.system.sync_folder(folder.lock.folder())
}
