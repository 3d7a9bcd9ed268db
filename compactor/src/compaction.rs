//! Compactions: from open blocks to published blocks.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Cursor};
use std::path::Path;

use chronoxide_format::remap::{RemapError, RemapView};
use chronoxide_format::view::BlockView;
use chronoxide_publish::{Candidate, Disk, Existing, FileSystem, Output, PublishError, Published, Spool, publish};
use chronoxide_reader::{BlockId, REMAP_EXTENSION};

use crate::compact::{Request, check_memory, run};
use crate::engine::{Check, CompactionError, Refused};
use crate::{CompactError, CompactOptions, Compacted, Draft, NoObserver, Observer, Summary};

/// Default number of bytes of merged rows in memory. More rows go to a temporary file.
pub const SCRATCH_MEMORY: usize = 16 << 20;

/// Default number of series whose rows are held to learn a plan from all of them. If there are more, a sample is held.
pub const PLANNED_SERIES: u32 = 1 << 22;

/// A merge of blocks: inputs, options, and where files go. Inputs are not changed.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// use chronoxide_compactor::{CompactOptions, Compaction, Observer, Phase, verify_block};
/// use chronoxide_publish::Existing;
/// use chronoxide_reader::{Block, Checks};
///
/// /// Prints progress, and cancels when the flag is set.
/// struct Watch(AtomicBool);
///
/// impl Observer for Watch {
///     fn progress(&self, phase: Phase, done: u64, of: u64) -> bool {
///         eprintln!("{phase}: {done} of {of}");
///         !self.0.load(Ordering::Relaxed)
///     }
/// }
///
/// # let golden = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/"));
/// # let folder = tempfile::tempdir()?;
/// let names = ["plain-bitpacked.cx", "lists-fixedwidth.cx"];
/// let [a, b] = names.map(|name| Block::read(&golden.join(name), Checks::Never));
/// let (a, b) = (a?, b?);
/// let (views, options) = ([*a.view(), *b.view()], CompactOptions::default());
/// let watch = Watch(AtomicBool::new(false));
/// let compaction = Compaction { observer: &watch, ..Compaction::new(&views, &options) };
///
/// let target = folder.path().join("merged.cx");
/// let (summary, _) = compaction.merge_to_file(&target, Existing::Refuse, &verify_block)?;
/// let merged = Block::read(&target, Checks::Eager)?;
/// assert_eq!(summary.series_out, u64::from(merged.view().series_count()?));
///
/// watch.0.store(true, Ordering::Relaxed);
/// let other = folder.path().join("other.cx");
/// assert!(compaction.merge_to_file(&other, Existing::Refuse, &verify_block).is_err());
/// assert!(!other.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Compaction<'a> {
    /// File system for all changes of files. Called from one thread at a time.
    pub system: &'a dyn FileSystem,
    /// Inputs, in any order.
    pub inputs: &'a [BlockView<'a>],
    /// Options.
    pub options: &'a CompactOptions,
    /// Bytes of merged rows in memory. More rows go to a temporary file beside the output.
    pub scratch_memory: usize,
    /// Number of series whose rows are held to learn a plan from all of them. Of more series, the rows of a quarter of
    /// this number are sampled.
    pub planned_series: u32,
    /// Folder for [remaps](chronoxide_format::remap) of the inputs, if any: each is named after the id of its input,
    /// with the extension [`REMAP_EXTENSION`]. Remaps are published before any input is deleted, and replace existing
    /// ones.
    pub remaps: Option<&'a Path>,
    /// Receives progress, and can cancel.
    pub observer: &'a dyn Observer,
}

impl<'a> Compaction<'a> {
    /// Creates a compaction on the disk with [`SCRATCH_MEMORY`] and [`PLANNED_SERIES`], without remaps and without an
    /// observer.
    #[must_use]
    pub fn new(inputs: &'a [BlockView<'a>], options: &'a CompactOptions) -> Self {
        Self {
            system: &Disk,
            inputs,
            options,
            scratch_memory: SCRATCH_MEMORY,
            planned_series: PLANNED_SERIES,
            remaps: None,
            observer: &NoObserver,
        }
    }
}

impl fmt::Debug for Compaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compaction")
            .field("inputs", &self.inputs.len())
            .field("options", self.options)
            .finish_non_exhaustive()
    }
}

impl Compaction<'_> {
    /// Checks the estimate of memory for writing outputs against the limit of the options, as every merge does before
    /// it begins. Costs a look at the catalogues. The arenas of archives need not be decoded:
    /// [`Block::unpack`](chronoxide_reader::Block::unpack) can follow this check.
    ///
    /// # Errors
    /// [`CompactError::Memory`]: see [`CompactOptions::memory_limit`]. Of damaged inputs, the arenas are counted alone.
    pub fn check_memory(&self) -> Result<(), CompactError> {
        check_memory(self.request(), true, self.remaps.is_some())
    }

    /// Merges the inputs into one block in memory.
    ///
    /// # Errors
    /// As [`merge_to_drafts`](Self::merge_to_drafts), and options that ask for several outputs.
    pub fn merge_to_memory(&self) -> Result<Compacted, CompactError> {
        self.check_one_output()?;
        let mut spool = Spool::new(self.system, Path::new("."), usize::MAX);
        let mut block = Vec::new();
        let summary = self.merge_to_drafts(&mut spool, |_, draft| {
            let mut out = Cursor::new(Vec::new());
            let id = draft.write_to(&mut out)?;
            block = out.into_inner();
            Ok::<BlockId, CompactError>(id)
        })?;
        Ok(Compacted { block, summary })
    }

    /// Merges the inputs and hands each output to `publish`, with its number. It returns the id of the block that it
    /// wrote. Merged rows wait in the spool; symbols,
    /// dictionaries, shared tables and lists are held in memory.
    ///
    /// Every input is verified before it is used. Before the first output, series of inputs, outputs, duplicates and
    /// dropped series must balance, in number and in fingerprint: damage never gets a fresh checksum.
    ///
    /// # Errors
    /// A damaged input, inputs whose external labels, label policy or annotations differ, more series than a block can
    /// hold, and the errors of `publish`.
    pub fn merge_to_drafts<E: From<CompactError>>(
        &self,
        spool: &mut Spool<'_>,
        publish: impl FnMut(u32, Draft<'_>) -> Result<BlockId, E>,
    ) -> Result<Summary, E> {
        run(self.request(), spool, Some(publish), None)
    }

    /// Like [`merge_to_drafts`](Self::merge_to_drafts), then hands the bytes of each input's
    /// [remap](chronoxide_format::remap) to `publish_remap`, with the number of the input. With [only one
    /// shard](crate::Shards::only), remaps have no targets for series of other shards.
    ///
    /// Costs one more pass over the inputs, and memory for the largest keysets of a few inputs: a number per series.
    ///
    /// # Errors
    /// As `merge_to_drafts`, and the errors of `publish_remap`.
    pub fn merge_to_drafts_with_remaps<E: From<CompactError>>(
        &self,
        spool: &mut Spool<'_>,
        publish: impl FnMut(u32, Draft<'_>) -> Result<BlockId, E>,
        mut publish_remap: impl FnMut(usize, Vec<u8>) -> Result<(), E>,
    ) -> Result<Summary, E> {
        run(self.request(), spool, Some(publish), Some(&mut publish_remap))
    }

    /// Merges the inputs without writing outputs, and counts the distinct series.
    ///
    /// # Errors
    /// As [`merge_to_drafts`](Self::merge_to_drafts).
    pub fn count(&self, spool: &mut Spool<'_>) -> Result<Summary, CompactError> {
        type Publish = fn(u32, Draft<'_>) -> Result<BlockId, CompactError>;
        run(self.request(), spool, None::<Publish>, None)
    }

    /// Publishes the only output under this name, after it was read again and `verify` accepted it.
    ///
    /// # Errors
    /// See [`CompactionError`]. Options that ask for several outputs are refused.
    pub fn merge_to_file(
        &self,
        target: &Path,
        existing: Existing,
        verify: &Check<'_>,
    ) -> Result<(Summary, Published), CompactionError> {
        self.check_one_output()?;
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut published = None;
        let summary = self.publish_in(parent.unwrap_or(Path::new(".")), |_, draft| {
            let written = Cell::new(BlockId::default());
            let write = |mut out: &mut dyn Output| draft.write_to(&mut out).map(|id| written.set(id));
            let check = |candidate: &Candidate<'_>| match verify(candidate.path())?.id {
                found if found == written.get() => Ok(()),
                found => Err(Refused::OtherBlock { expected: written.get(), found }),
            };
            published = Some(publish(self.system, target, existing, write, check)?);
            Ok(written.get())
        })?;
        // Without shards and a maximum of series there is one output.
        let published = published.ok_or_else(|| CompactError::Write(io::Error::other("there was no output")))?;
        Ok((summary, published))
    }

    pub(crate) fn request(&self) -> Request<'_> {
        let Self { inputs, options, planned_series, observer, .. } = *self;
        Request { inputs, options, planned_series, observer }
    }

    /// Refuses options that ask for several outputs.
    fn check_one_output(&self) -> Result<(), CompactError> {
        let has_shards = self.options.shards.as_ref().is_some_and(|shards| shards.only.is_none());
        if has_shards || self.options.max_series_per_block.is_some() {
            return Err(CompactError::Options { what: "several outputs need a folder" });
        }
        Ok(())
    }

    /// Merges the inputs, with scratch data in a folder, and hands each output to `publish`. Then publishes the remaps,
    /// if their folder is given.
    ///
    /// # Errors
    /// See [`CompactionError`].
    pub fn publish_in(
        &self,
        scratch_folder: &Path,
        publish: impl FnMut(u32, Draft<'_>) -> Result<BlockId, CompactionError>,
    ) -> Result<Summary, CompactionError> {
        let mut spool = Spool::new(self.system, scratch_folder, self.scratch_memory);
        let summary = match self.remaps {
            None => self.merge_to_drafts(&mut spool, publish),
            Some(folder) => {
                let publish_remap = |input, bytes: Vec<u8>| Ok(self.publish_remap(folder, input, &bytes)?);
                self.merge_to_drafts_with_remaps(&mut spool, publish, publish_remap)
            }
        };
        // A failure to remove scratch data does not undo what was published.
        let closed = spool.close().map_err(CompactError::from);
        let summary = summary?;
        closed?;
        Ok(summary)
    }

    fn publish_remap(&self, folder: &Path, input: usize, bytes: &[u8]) -> Result<(), PublishError<RemapRefused>> {
        let target = folder.join(format!("{}.{REMAP_EXTENSION}", self.inputs[input].block_id()));
        let check = |candidate: &Candidate<'_>| {
            let read = std::fs::read(candidate.path())?;
            if read != bytes {
                return Err(RemapRefused::Other);
            }
            Ok(RemapView::open(&read)?.verify()?)
        };
        publish(self.system, &target, Existing::Replace, |out| out.write_all(bytes), check)?;
        Ok(())
    }
}

/// Error of verifying a written remap.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemapRefused {
    /// The remap cannot be read.
    #[error("cannot be read again")]
    Read(#[from] io::Error),
    /// The remap breaks a rule.
    #[error(transparent)]
    Verify(#[from] RemapError),
    /// The remap has different bytes than were written.
    #[error("written bytes differ when read back")]
    Other,
}
