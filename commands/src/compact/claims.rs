//! Checks before an output appears in a folder that no claim hides it, and that it hides nothing by its claims.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chronoxide_compactor::job::{Proof, Unproven};
use chronoxide_reader::lineage::{HiddenBlocks, Lineage, newly_hidden};
use chronoxide_reader::{BlockId, Entry, Folder, OpenError};

use crate::compact::blocks;

/// Lineage of the blocks of a folder, for the outputs that are published in it.
pub(crate) struct Claims<'a> {
    blocks: Vec<(PathBuf, Lineage)>,
    live: BTreeSet<BlockId>,
    /// Parents of outputs whose job is not complete: such an output is hidden once all its parents are there or merged.
    awaited: BTreeSet<BlockId>,
    /// Ids that blocks name as parents or ancestors.
    named: BTreeSet<BlockId>,
    /// The first output of each job, by its id, and the number and id of each output.
    jobs: BTreeMap<[u8; 16], usize>,
    outputs: BTreeMap<([u8; 16], u32), BlockId>,
    published: RefCell<BTreeMap<BlockId, (PathBuf, Lineage)>>,
    /// Proves that blocks hold the series of others.
    proof: Proof<'a>,
}

/// Reason why an output is not published.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A block that readers see would be hidden, or the output itself.
    #[error(
        "{} would be hidden by what blocks claim to hold, and {} is not proved to hold its series ({reason}): move the false block away; nothing was published",
        hidden.display(), holder.display()
    )]
    Hides { hidden: PathBuf, holder: PathBuf, reason: Box<Unproven> },
}

impl<'a> Claims<'a> {
    /// Takes the blocks of the folder of the outputs. A folder that does not exist yet has none.
    pub(crate) fn new(folder: Option<&Folder>, proof: Proof<'a>) -> Self {
        let blocks = folder.map(|folder| folder.lineages().to_vec()).unwrap_or_default();
        let lineages = || blocks.iter().map(|(_, lineage)| lineage);
        let named = lineages().flat_map(|block| block.parents.iter().chain(&block.ancestors)).copied().collect();
        let jobs = (0..).zip(lineages()).filter_map(|(place, block)| Some((block.job?.id, place))).collect();
        let outputs = lineages().filter_map(|block| block.job.map(|job| ((job.id, job.output), block.id))).collect();
        let incomplete: BTreeSet<[u8; 16]> =
            folder.into_iter().flat_map(Folder::incomplete).map(|job| job.id).collect();
        let is_unfinished = |block: &&Lineage| block.job.is_some_and(|job| incomplete.contains(&job.id));
        let awaited = lineages().filter(is_unfinished).flat_map(|block| &block.parents).copied().collect();
        let live = folder.into_iter().flat_map(Folder::live).map(Entry::id).collect();
        Self { blocks, live, awaited, named, jobs, outputs, published: RefCell::default(), proof }
    }

    /// Verifies an output, under its temporary name or its own.
    pub(crate) fn verify(&self, path: &Path) -> Result<Lineage, Unfit> {
        let output = blocks::verify(path)?;
        let Lineage { parents, ancestors, .. } = &output;
        let meets_claims = self.named.contains(&output.id)
            || ancestors.iter().any(|id| self.live.contains(id))
            || parents.iter().chain(ancestors).any(|id| self.awaited.contains(id))
            || !self.belongs_to_its_job(&output);
        let mut published = self.published.borrow_mut();
        if meets_claims {
            self.check(&published, path, &output)?;
        }
        published.entry(output.id).or_insert_with(|| (final_path(path, &output), output.clone()));
        Ok(output)
    }

    /// Returns false if a block of the folder has the place of the output in its job, or another origin: the job would
    /// be in doubt. A job that was killed left outputs that agree.
    fn belongs_to_its_job(&self, output: &Lineage) -> bool {
        let Some(job) = output.job else { return true };
        let agrees = |place: &usize| {
            let (_, first) = &self.blocks[*place];
            first.job.is_some_and(|first| first.output_count == job.output_count)
                && (&first.parents, &first.ancestors) == (&output.parents, &output.ancestors)
        };
        self.jobs.get(&job.id).is_none_or(agrees)
            && self.outputs.get(&(job.id, job.output)).is_none_or(|id| *id == output.id)
    }

    /// Proves that each block that the output hides, but for its parents, is held by live blocks.
    fn check(
        &self,
        published: &BTreeMap<BlockId, (PathBuf, Lineage)>,
        path: &Path,
        output: &Lineage,
    ) -> Result<(), Unfit> {
        let before: Vec<&Lineage> = self.blocks.iter().chain(published.values()).map(|(_, lineage)| lineage).collect();
        let path_of = |place: usize| {
            let blocks = self.blocks.iter().chain(published.values()).map(|(path, _)| path.as_path());
            blocks.chain([path]).nth(place).unwrap_or(path).to_owned()
        };
        for HiddenBlocks { blocks, holders, .. } in newly_hidden(&before, &[output]) {
            let paths = |places: Vec<usize>| places.into_iter().map(path_of).collect::<Vec<_>>();
            let (hidden, holders) = (paths(blocks), paths(holders));
            let folder = path.parent().unwrap_or(Path::new("."));
            self.proof.prove(folder, &holders, &hidden).map_err(|reason| Unfit::Hides {
                hidden: hidden.into_iter().find(|hidden| hidden != path).unwrap_or_else(|| final_path(path, output)),
                holder: holders.first().map_or_else(|| path.to_owned(), Clone::clone),
                reason: Box::new(reason),
            })?;
        }
        Ok(())
    }
}

/// Returns the path that an output is about to get. A single file has another name, which nothing else reads.
fn final_path(path: &Path, output: &Lineage) -> PathBuf {
    path.with_file_name(format!("{}.cx", output.id))
}
