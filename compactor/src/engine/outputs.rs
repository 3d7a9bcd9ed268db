//! Publishes outputs, or finds existing ones.

use std::cell::Cell;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chronoxide_locations::{Created, Facts, JobFacts, LocationError, Wanted};
use chronoxide_publish::{
    Candidate, Disk, Existing, Output, PublishError, make_durable, make_folder, publish, publish_in,
};
use chronoxide_reader::BlockId;

use super::place::key_of;
use super::{CompactionError, Refused, Workplace};
use crate::{CompactError, Draft};

/// Writes a block and returns its id. It may seek back to fill in the header.
pub type WriteBlock<'a> = Box<dyn FnOnce(&mut dyn Output) -> io::Result<BlockId> + 'a>;

/// An output to be written.
pub struct Planned<'a> {
    /// Length in bytes, if known before it is written.
    pub byte_len: Option<u64>,
    /// Writes the block. Its id, which is its name, covers all of its bytes: a compaction that is run again writes an
    /// output that exists already to a temporary file, and drops it.
    pub write: WriteBlock<'a>,
}

impl fmt::Debug for Planned<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planned").field("byte_len", &self.byte_len).finish_non_exhaustive()
    }
}

impl<'a> From<Draft<'a>> for Planned<'a> {
    fn from(draft: Draft<'a>) -> Self {
        Self { byte_len: Some(draft.byte_len()), write: Box::new(move |mut out| draft.write_to(&mut out)) }
    }
}

/// A published and verified output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishedOutput {
    /// Key in the location.
    pub key: String,
    /// Block id.
    pub id: BlockId,
    /// Length in bytes.
    pub byte_len: u64,
    /// Checksum of the header.
    pub header_checksum: u32,
    /// True if it existed already, from a run that was killed.
    pub found: bool,
}

impl PublishedOutput {
    /// Returns the output as a block that is wanted from its location.
    #[must_use]
    pub fn wanted(&self) -> Wanted<'_> {
        Wanted { key: &self.key, byte_len: self.byte_len, id: self.id, header_checksum: self.header_checksum }
    }
}

/// Verifies a written block, under its temporary name or its own, and returns what it states.
pub type Check<'a> = dyn Fn(&Path) -> Result<Facts, Refused> + 'a;

/// Publishes the outputs of a merge in a location, one by one. All must belong to one job.
///
/// Readers of the location see each series exactly once at any time, even if the process dies, because blocks name
/// their origin ([`lineage`](chronoxide_reader::lineage)): while outputs are missing, the inputs hide the others; once
/// all outputs exist, they hide the inputs. A compaction that died can be run again: it verifies and reuses existing
/// outputs.
///
/// ```
/// use chronoxide_compactor::engine::{Planned, Publisher, Workplace};
/// use chronoxide_compactor::{CompactOptions, Compaction, NoObserver};
/// use chronoxide_format::view::BlockView;
/// use chronoxide_reader::{Block, Checks};
/// use chronoxide_locations::{Cache, Listing, Location};
///
/// # let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/");
/// # let blocks = tempfile::tempdir()?;
/// # for name in ["plain-bitpacked.cx", "lists-fixedwidth.cx"] {
/// #     std::fs::copy(format!("{golden}{name}"), blocks.path().join(name))?;
/// # }
/// let (location, cache) = (Location::folder(blocks.path()), Cache::from_environment(1 << 30));
/// let map = |path: &std::path::Path| Block::read(path, Checks::Never);
/// let place =
///     Workplace { location: &location, cache: &cache, map: &map, memory_limit: None, observer: &NoObserver };
/// let _lock = place.lock()?;
/// let listing = place.list()?;
/// let open = |key: &str| map(&location.path(key).unwrap());
/// let inputs = listing.live.iter().map(|block| open(&block.object.key)).collect::<Result<Vec<_>, _>>()?;
/// let views: Vec<BlockView<'_>> = inputs.iter().map(|block| *block.view()).collect();
/// let merged = Compaction::new(&views, &CompactOptions::default()).merge_to_memory()?.block;
///
/// let id = BlockView::open(&merged)?.block_id();
/// let verify = |path: &std::path::Path| place.verify(path);
/// let mut publisher = Publisher::new(&place, &verify);
/// publisher.publish(Planned { byte_len: None, write: Box::new(|out| out.write_all(&merged).map(|()| id)) })?;
/// let outputs = publisher.finish()?;
/// assert_eq!(outputs[0].key, format!("{id}.cx"));
/// // Readers see the output, and no input any more.
/// assert_eq!(Listing::read(&location)?.live.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Publisher<'a> {
    place: &'a Workplace<'a>,
    verify: &'a Check<'a>,
    /// Keys of the outputs; without them, they are named after their ids.
    keys: Option<&'a [String]>,
    /// Number of the only output that this process writes, if other processes write the others.
    only: Option<u32>,
    job: Option<JobFacts>,
    published: Vec<PublishedOutput>,
}

impl fmt::Debug for Publisher<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher")
            .field("place", &self.place)
            .field("published", &self.published)
            .finish_non_exhaustive()
    }
}

impl<'a> Publisher<'a> {
    /// Publishes outputs under their ids.
    #[must_use]
    pub fn new(place: &'a Workplace<'a>, verify: &'a Check<'a>) -> Self {
        Self { place, verify, keys: None, only: None, job: None, published: Vec::new() }
    }

    /// Publishes outputs under these keys, in their order.
    #[must_use]
    pub fn under(self, keys: &'a [String]) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// Publishes one output of a job that other processes share: number `output`, from 0, if given.
    #[must_use]
    pub fn only(self, output: Option<u32>) -> Self {
        Self { only: output, ..self }
    }

    pub(crate) fn place(&self) -> &'a Workplace<'a> {
        self.place
    }

    /// Publishes the next output, unless it exists already. Returns its id.
    ///
    /// # Errors
    /// See [`CompactionError`].
    pub fn publish(&mut self, Planned { byte_len: expected, write }: Planned<'_>) -> Result<BlockId, CompactionError> {
        let key = self.next_key()?;
        let (id, checked) = (Cell::new(BlockId::default()), Cell::new(None));
        let write = |out: &mut dyn Output| write(out).inspect(|written| id.set(*written));
        let check = |path: &Path, found: u64| -> Result<(), Refused> {
            let (job, header_checksum) = self.check((id.get(), expected), path, found)?;
            checked.set(Some((job, found, header_checksum)));
            Ok(())
        };
        // The id, and with it the name, is known when the block is written.
        let named = || key.clone().unwrap_or_else(|| key_of(id.get()));
        let output = |found| {
            let unverified = || io::Error::other("the output was not verified");
            let (job, byte_len, header_checksum) = checked.get().ok_or_else(unverified).map_err(CompactError::Write)?;
            Ok::<_, CompactionError>((
                job,
                PublishedOutput { key: named(), id: id.get(), byte_len, header_checksum, found },
            ))
        };
        let (job, output) = if self.place.location.system().is_some() {
            output(self.publish_file(&named, write, &check)?)?
        } else {
            let scratch = self.write_scratch(&named, write, &check)?;
            let (job, mut output) = output(false)?;
            output.found = self.upload(&scratch, &output)?;
            (job, output)
        };
        self.job = Some(job);
        self.published.push(output);
        Ok(id.get())
    }

    /// Returns the key of the next output, unless it is named after its id.
    fn next_key(&self) -> Result<Option<String>, CompactionError> {
        let Some(keys) = self.keys else { return Ok(None) };
        let published = self.published.len();
        let missing = CompactionError::MissingOutputs { expected: keys.len() as u32, published };
        Ok(Some(keys.get(published).ok_or(missing)?.clone()))
    }

    /// Publishes a file in a folder of this machine. Returns true if it existed.
    fn publish_file(
        &self,
        key: &dyn Fn() -> String,
        write: impl FnOnce(&mut dyn Output) -> io::Result<BlockId>,
        check: &dyn Fn(&Path, u64) -> Result<(), Refused>,
    ) -> Result<bool, CompactionError> {
        let Workplace { location, .. } = self.place;
        let system = self.place.system();
        let root = location.path("").unwrap_or_default();
        let of_key = || Some(location.path(&key())?.parent()?.to_owned());
        let folder = self.keys.and_then(|_| of_key()).unwrap_or_else(|| root.clone());
        if folder != root {
            make_folder(system, &folder).map_err(|error| LocationError::Io {
                object: folder.display().to_string(),
                operation: "make the folder",
                source: io::Error::other(error),
            })?;
        }
        let name = |key: String| key.rsplit('/').next().map(str::to_owned).unwrap_or_default();
        let write = |out: &mut dyn Output| write(out).map(|_| name(key()));
        let published = publish_in(system, &folder, write, |candidate| check(candidate.path(), candidate.byte_len()));
        match published {
            Ok(_) => Ok(false),
            Err(PublishError::Exists { path }) => {
                let occupied = |source| CompactionError::Occupied { object: location.name(&key()), source };
                // If the length is unknown, the verifier reports the reason.
                let found = fs::metadata(&path).map_or(0, |metadata| metadata.len());
                check(&path, found).map_err(occupied)?;
                // The run that published it may have been killed before that, or the file was copied here.
                make_durable(system, &path).map_err(|source| CompactionError::Sync { path, source })?;
                Ok(true)
            }
            Err(error) => Err(CompactionError::Publish(error)),
        }
    }

    /// Writes a file of this machine for an upload, and verifies it.
    fn write_scratch(
        &self,
        key: &dyn Fn() -> String,
        write: impl FnOnce(&mut dyn Output) -> io::Result<BlockId>,
        check: &dyn Fn(&Path, u64) -> Result<(), Refused>,
    ) -> Result<PathBuf, CompactionError> {
        let scratch = self.place.cache.scratch("output")?;
        let write = |out: &mut dyn Output| write(out).map(|_| ());
        let check = |file: &Candidate<'_>| check(file.path(), file.byte_len());
        publish(&Disk, &scratch, Existing::Replace, write, check).map_err(|error| match error {
            PublishError::Unverified { source, .. } => {
                CompactionError::Refused { object: self.place.location.name(&key()), source }
            }
            error => error.into(),
        })?;
        Ok(scratch)
    }

    /// Creates the object of a written file. Returns true if it existed.
    fn upload(&self, scratch: &Path, output: &PublishedOutput) -> Result<bool, CompactionError> {
        let Workplace { location, cache, observer, .. } = *self.place;
        observer.uploading(output.byte_len);
        let created = location.create(&output.key, scratch);
        // Later merges may run on this machine.
        let adopted = cache.adopt(scratch, &output.wanted());
        let created = created?;
        adopted?;
        Ok(created == Created::Found)
    }

    /// Returns the job of an output, and the checksum of its header.
    fn check(
        &self,
        (expected, byte_len): (BlockId, Option<u64>),
        path: &Path,
        found: u64,
    ) -> Result<(JobFacts, u32), Refused> {
        let facts = (self.verify)(path)?;
        if facts.id != expected {
            return Err(Refused::OtherBlock { expected, found: facts.id });
        }
        if let Some(expected) = byte_len.filter(|expected| *expected != found) {
            return Err(Refused::OtherLength { expected, found });
        }
        let job = self.job_of(&facts).ok_or(Refused::OtherJob { output: self.published.len() })?;
        Ok((job, facts.header_checksum))
    }

    /// Returns the job of an output, if it is the next output of the job.
    fn job_of(&self, facts: &Facts) -> Option<JobFacts> {
        let job = facts.job?;
        let due = self.published.len() as u64 + u64::from(self.only.unwrap_or(0));
        let next = u64::from(job.output) == due && job.output < job.output_count;
        let others = self.job.is_none_or(|other| (other.id, other.output_count) == (job.id, job.output_count));
        (next && others).then_some(job)
    }

    /// Ends the job. Returns its outputs, in order.
    ///
    /// # Errors
    /// [`CompactionError::MissingOutputs`].
    pub fn finish(self) -> Result<Vec<PublishedOutput>, CompactionError> {
        let expected = self.job.filter(|_| self.only.is_none()).map_or(1, |job| job.output_count);
        if usize::try_from(expected) != Ok(self.published.len()) {
            return Err(CompactionError::MissingOutputs { expected, published: self.published.len() });
        }
        Ok(self.published)
    }
}
