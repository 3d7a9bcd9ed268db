//! Checks before an output appears in a location that no claim hides it, and that it hides nothing by its claims.

use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use chronoxide_locations::{Facts, Listed, Listing, Object};
use chronoxide_reader::lineage::{HiddenBlocks, Lineage, Reason, newly_hidden};
use chronoxide_reader::{Block, BlockId};

use super::place::key_of;
use super::{CompactionError, Refused, Unproven, Workplace};

/// Blocks of a location, for the outputs that are published in it.
pub struct Claims<'a> {
    place: &'a Workplace<'a>,
    external_labels: &'a [(String, String)],
    /// True if other processes may publish and delete blocks meanwhile.
    is_shared: bool,
    known: RefCell<Known>,
}

/// Claims of the blocks of a listing, and the outputs that were published since.
#[derive(Default)]
struct Known {
    listing: Listing,
    blocks: Vec<Listed>,
    live: BTreeSet<BlockId>,
    /// Parents of outputs whose job is not complete: such an output is hidden once all its parents are there or merged.
    awaited: BTreeSet<BlockId>,
    /// Ids that blocks name as parents or ancestors.
    named: BTreeSet<BlockId>,
    /// The first output of each job, by its id, and the number and id of each output.
    jobs: BTreeMap<[u8; 16], usize>,
    outputs: BTreeMap<([u8; 16], u32), BlockId>,
    published: BTreeMap<BlockId, Listed>,
    /// The job whose inputs were looked at last.
    looked_at: Option<[u8; 16]>,
}

impl Known {
    fn new(listing: Listing) -> Self {
        let blocks: Vec<Listed> = listing.all().into_iter().cloned().collect();
        let lineages: Vec<Lineage> = blocks.iter().map(|block| block.facts.lineage()).collect();
        let named = lineages.iter().flat_map(|block| block.parents.iter().chain(&block.ancestors)).copied().collect();
        let jobs = (0..).zip(&lineages).filter_map(|(place, block)| Some((block.job?.id, place))).collect();
        let outputs =
            lineages.iter().filter_map(|block| block.job.map(|job| ((job.id, job.output), block.id))).collect();
        let incomplete: BTreeSet<[u8; 16]> = listing.incomplete.iter().map(|job| job.id).collect();
        let is_pending = |block: &&Lineage| block.job.is_some_and(|job| incomplete.contains(&job.id));
        let awaited = lineages.iter().filter(is_pending).flat_map(|block| &block.parents).copied().collect();
        let live = listing.live.iter().map(|block| block.facts.id).collect();
        Self { listing, blocks, live, awaited, named, jobs, outputs, ..Self::default() }
    }

    /// Returns false if a block of the location has the place of the output in its job, or another origin: the job
    /// would be in doubt. A compaction that was killed left outputs that agree.
    fn belongs_to_its_job(&self, output: &Lineage) -> bool {
        let Some(job) = output.job else { return true };
        let agrees = |place: &usize| {
            let first = &self.blocks[*place].facts;
            first.job.is_some_and(|first| first.output_count == job.output_count)
                && (&first.parents, &first.ancestors) == (&output.parents, &output.ancestors)
        };
        self.jobs.get(&job.id).is_none_or(agrees)
            && self.outputs.get(&(job.id, job.output)).is_none_or(|id| *id == output.id)
    }
}

impl<'a> Claims<'a> {
    /// Takes the blocks of the location of the outputs. One that does not exist yet has none.
    #[must_use]
    pub fn new(place: &'a Workplace<'a>, listing: Listing, external_labels: &'a [(String, String)]) -> Self {
        let is_shared = place.location.is_remote();
        Self { place, external_labels, is_shared, known: RefCell::new(Known::new(listing)) }
    }

    /// Verifies an output, under its temporary name or its own.
    ///
    /// # Errors
    /// It is not sound, or it would hide a block that readers see, or be hidden, without a proof that live blocks hold
    /// the series.
    pub fn verify(&self, path: &Path) -> Result<Facts, Refused> {
        let facts = self.place.verify(path)?;
        let output = facts.lineage();
        if self.is_shared {
            self.look_again(&output)?;
        }
        let Lineage { parents, ancestors, .. } = &output;
        let mut known = self.known.borrow_mut();
        let meets_claims = known.named.contains(&output.id)
            || ancestors.iter().any(|id| known.live.contains(id))
            || parents.iter().chain(ancestors).any(|id| known.awaited.contains(id))
            || !known.belongs_to_its_job(&output);
        if meets_claims {
            self.check(&known, path, &output)?;
        }
        if let Entry::Vacant(place) = known.published.entry(output.id) {
            // A single file has another name, which nothing else reads.
            let (key, byte_len) = (key_of(output.id), fs::metadata(path).map_or(0, |metadata| metadata.len()));
            let object = Object { key, byte_len, version: String::new(), modified: 0 };
            place.insert(Listed { object, facts: facts.clone() });
        }
        Ok(facts)
    }

    /// Lists a location again that has no lock, before the first output of a merge: inputs that were live must still be
    /// live, or hidden by this merge.
    fn look_again(&self, output: &Lineage) -> Result<(), Refused> {
        let job = output.job.map(|job| job.id);
        if job.is_none() || self.known.borrow().looked_at == job {
            return Ok(());
        }
        let mut known = self.known.borrow_mut();
        let location = self.place.location;
        let listing = known.listing.again(location)?;
        let (published, before) = (std::mem::take(&mut known.published), std::mem::take(&mut known.listing));
        *known = Known { published, looked_at: job, ..Known::new(listing) };
        let of_job = known.outputs.keys().filter(|(id, _)| Some(*id) == job).count();
        if output.job.is_some_and(|job| job.output_count as usize == of_job) {
            // This merge was published before, and its inputs may be gone.
            return Ok(());
        }
        let hidden = known.listing.hidden.iter().map(|hidden| (hidden.block.facts.id, hidden.reason));
        let hidden: BTreeMap<BlockId, Reason> = hidden.collect();
        for block in before.live.iter().filter(|block| output.parents.contains(&block.facts.id)) {
            let parent = &block.facts.id;
            let reason = match hidden.get(parent) {
                _ if known.live.contains(parent) => continue,
                Some(Reason::Merged { job: by }) if Some(*by) == job => continue,
                Some(reason) => format!("it is hidden since the location was listed: {reason}"),
                None => "it is gone since the location was listed".to_owned(),
            };
            return Err(Refused::Stale { object: location.name(&block.object.key), reason });
        }
        Ok(())
    }

    /// Proves that each block that the output hides, but for its parents, is held by live blocks.
    fn check(&self, known: &Known, path: &Path, output: &Lineage) -> Result<(), Refused> {
        let others: Vec<&Listed> = known.blocks.iter().chain(known.published.values()).collect();
        let lineages: Vec<Lineage> = others.iter().map(|block| block.facts.lineage()).collect();
        let name = |place: usize| match others.get(place) {
            Some(block) => self.place.location.name(&block.object.key),
            None => self.place.location.name(&key_of(output.id)),
        };
        let open = |places: &[usize]| -> Result<Vec<Block>, CompactionError> {
            let open = |place: &usize| match others.get(*place) {
                Some(block) => self.place.open(&block.wanted()),
                None => Ok((self.place.map)(path)?),
            };
            places.iter().map(open).collect()
        };
        for HiddenBlocks { blocks, holders, .. } in newly_hidden(&lineages.iter().collect::<Vec<_>>(), &[output]) {
            let names = |places: &[usize]| places.iter().map(|place| name(*place).into()).collect::<Vec<_>>();
            let proved = open(&holders).and_then(|held| Ok((held, open(&blocks)?))).map_err(Unproven::from);
            let proved = proved.and_then(|(held, hidden)| {
                let proof = self.place.proof(self.external_labels);
                let folder = self.place.scratch_folder().map_err(CompactionError::from)?;
                proof.prove_blocks(&folder, (&names(&holders), &held), (&names(&blocks), &hidden))
            });
            proved.map_err(|reason| Refused::Hides {
                hidden: name(*blocks.iter().find(|place| **place < others.len()).unwrap_or(&others.len())),
                holder: holders.first().map_or_else(|| path.display().to_string(), |place| name(*place)),
                reason: Box::new(reason),
            })?;
        }
        Ok(())
    }
}
