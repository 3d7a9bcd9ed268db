//! Inputs of earlier jobs that are still in the folder, as after a run that was killed.

use std::path::PathBuf;

use chronoxide_publish::remove_files;
use chronoxide_reader::OpenError;
use chronoxide_reader::lineage::Reason;

use super::deletion::{Examined, Kept, examine};
use super::proof::Proof;
use super::{JobError, JobFolder};

/// Result of [`JobFolder::delete_merged`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Leftovers {
    /// Deleted files, in the order of deletion.
    pub deleted: Vec<PathBuf>,
    /// Files that were kept, by job.
    pub kept: Vec<Kept>,
    /// Blocks of the folder that could not be opened. They may be inputs of earlier runs.
    pub unreadable: Vec<(PathBuf, OpenError)>,
}

impl<E> JobFolder<'_, E> {
    /// Deletes the inputs of complete jobs, the oldest first, if `proof` finds all their series in live blocks.
    ///
    /// Without proof, all inputs of a job are kept. A job that dropped series cannot be proved: run it again to delete
    /// its inputs.
    ///
    /// # Errors
    /// See [`JobError`].
    pub fn delete_merged(&self, proof: &Proof<'_>) -> Result<Leftovers, JobError<E>> {
        let folder = self.lock.folder();
        let survey = (self.survey)(folder)?;
        let is_merged = |reason| matches!(reason, Reason::Merged { .. });
        let Examined { order, kept } =
            examine(survey.lineages(), &|_, reason| is_merged(reason), &mut |holders, hidden| {
                Ok::<_, JobError<E>>(proof.prove(folder, holders, hidden))
            })?;
        // An open file keeps its space on the disk after it is deleted.
        let unreadable = survey.into_unreadable();
        let deleted = if order.is_empty() { Vec::new() } else { remove_files(self.system, &order)?.removed };
        Ok(Leftovers { deleted, kept, unreadable })
    }
}
