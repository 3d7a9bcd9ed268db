//! Proves that blocks hold all series and metadata of other blocks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chronoxide_format::PLAN_KEY;
use chronoxide_format::metadata::{MetricMetadata, MetricSet};
use chronoxide_format::shard::SHARD_KEY;
use chronoxide_format::view::{BlockView, TimeRange};
use chronoxide_locations::LocationError;
use chronoxide_publish::{FileSystem, Spool};
use chronoxide_reader::{Block, OpenError};

use super::CompactionError;
use crate::columns;
use crate::compact::check_memory;
use crate::{AnnotationPolicy, CompactError, CompactOptions, Compaction, Observer, SCRATCH_MEMORY};

/// Proves that outputs hold all series of inputs: counts the distinct series of the outputs, and of outputs and inputs
/// together, with merges that write nothing. Lineage of the blocks is ignored.
///
/// Blocks that an earlier run has merged are deleted only with this proof: parents and ancestors are a claim that
/// anyone can write into a sound block.
#[derive(Clone, Copy)]
pub struct Proof<'a> {
    /// File system for scratch files.
    pub system: &'a dyn FileSystem,
    /// Opens a block. A map is enough: every block is verified while it is merged. Archives need not be decoded:
    /// arenas that the memory limit does not allow never are.
    pub open: &'a dyn Fn(&Path) -> Result<Block, OpenError>,
    /// Bytes of memory that a proof may take.
    pub memory_limit: Option<usize>,
    /// External labels that a merge gave to inputs that lack them.
    pub external_labels: &'a [(String, String)],
    /// Receives progress, and can cancel.
    pub observer: &'a dyn Observer,
}

impl std::fmt::Debug for Proof<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proof").field("memory_limit", &self.memory_limit).finish_non_exhaustive()
    }
}

/// Reason why it is not proved that blocks hold the series of others.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Unproven {
    /// Some series are in none of the blocks.
    #[error("{series} series are missing from the outputs")]
    Missing { series: u64 },
    /// The outputs hold all series, but lack metadata of an input.
    #[error("{}: its {what} is missing from the outputs", path.display())]
    Stated { path: PathBuf, what: &'static str },
    /// The outputs hold all series, but lack values of an input.
    #[error("{}: values of its column {name:?} are missing from the outputs", path.display())]
    Column { path: PathBuf, name: String },
    /// An output is read-only: it may not be merged, and so not be counted (LIFECYCLE.md, section 4).
    #[error("{} is read-only: it has features or sections that this version does not know", path.display())]
    ReadOnly { path: PathBuf },
    /// The outputs hold all series, but without the inputs other blocks of the folder would become live again.
    #[error("without it other blocks of the folder would become live again")]
    StillNeeded,
    /// The proofs for other blocks of the folder read too much: a later run can prove these.
    #[error("not examined, since claims about other blocks took many proofs: run the command again")]
    Postponed,
    /// A block cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A block cannot be fetched.
    #[error(transparent)]
    Store(LocationError),
    /// A block is damaged, or has an unsupported version or feature.
    #[error("{}: {}", path.display(), error.reason())]
    Block { path: PathBuf, error: CompactError },
    /// The blocks cannot be merged.
    #[error(transparent)]
    Compact(CompactError),
}

impl Unproven {
    /// Returns true if a later attempt would fail as well, as long as the blocks stay as they are.
    #[must_use]
    pub fn is_final(&self) -> bool {
        match self {
            Self::Missing { .. }
            | Self::Stated { .. }
            | Self::Column { .. }
            | Self::ReadOnly { .. }
            | Self::StillNeeded => true,
            Self::Postponed | Self::Block { .. } | Self::Open(_) | Self::Store(_) | Self::Compact(_) => false,
        }
    }
}

impl From<CompactionError> for Unproven {
    fn from(error: CompactionError) -> Self {
        match error {
            CompactionError::Open(error) => Self::Open(error),
            CompactionError::Store(error) => Self::Store(error),
            CompactionError::Compact(error) => Self::Compact(error),
            other => Self::Compact(CompactError::Write(std::io::Error::other(other))),
        }
    }
}

impl Proof<'_> {
    /// Proves that `outputs` hold all series of `inputs`. Scratch data waits in `folder`.
    ///
    /// Verifies every block. Costs a merge of all blocks without writing, and with several outputs a merge of these.
    ///
    /// # Errors
    /// See [`Unproven`].
    pub fn prove(&self, folder: &Path, outputs: &[PathBuf], inputs: &[PathBuf]) -> Result<(), Unproven> {
        let open = |paths: &[PathBuf]| paths.iter().map(|path| (self.open)(path)).collect::<Result<Vec<Block>, _>>();
        self.prove_blocks(folder, (outputs, &open(outputs)?), (inputs, &open(inputs)?))
    }

    /// Like [`Proof::prove`], with blocks that are open. The names are for messages.
    pub(crate) fn prove_blocks(
        &self,
        folder: &Path,
        (outputs, output_blocks): (&[PathBuf], &[Block]),
        (inputs, input_blocks): (&[PathBuf], &[Block]),
    ) -> Result<(), Unproven> {
        let paths: Vec<&PathBuf> = outputs.iter().chain(inputs).collect();
        let blocks: Vec<&Block> = output_blocks.iter().chain(input_blocks).collect();
        self.unpack(&blocks, &paths)?;
        let views: Vec<BlockView<'_>> = blocks.iter().map(|block| *block.view()).collect();
        let count = |views: &[BlockView<'_>]| self.count(folder, views).map_err(|error| named(error, &paths));
        let all = count(&views)?;
        // The sum of the outputs' own counts counts shared series twice, and would hide missing ones.
        let held = count(&views[..outputs.len()])?;
        if all != held {
            return Err(Unproven::Missing { series: all - held });
        }
        let stated = |view: &BlockView<'_>, path: &Path| {
            Stated::read(view).map_err(|source| OpenError::Block { path: path.to_owned(), source })
        };
        let stated: Vec<Stated> =
            views.iter().zip(&paths).map(|(view, path)| stated(view, path)).collect::<Result<_, _>>()?;
        let (of_outputs, of_inputs) = stated.split_at(outputs.len());
        if let Some((input, what)) = missing(of_outputs, of_inputs) {
            return Err(Unproven::Stated { path: inputs[input].clone(), what });
        }
        let (of_outputs, of_inputs) = views.split_at(outputs.len());
        // All blocks were verified.
        match columns::missing(of_outputs, of_inputs)
            .map_err(|error| Unproven::Compact(CompactError::Input { input: 0, source: error }))?
        {
            Some((input, name)) => Err(Unproven::Column { path: inputs[input].clone(), name }),
            None => Ok(()),
        }
    }

    /// Decodes the arenas of archives, unless a count of the series could exceed the memory limit.
    fn unpack(&self, blocks: &[&Block], paths: &[&PathBuf]) -> Result<(), Unproven> {
        let views: Vec<BlockView<'_>> = blocks.iter().map(|block| *block.view()).collect();
        if views.iter().any(BlockView::is_packed) {
            let options = self.options();
            check_memory(Compaction::new(&views, &options).request(), false, false)
                .map_err(|error| named(error, paths))?;
        }
        for (block, path) in blocks.iter().zip(paths) {
            block.unpack().map_err(|source| OpenError::Block { path: path.to_path_buf(), source })?;
        }
        Ok(())
    }

    fn options(&self) -> CompactOptions {
        CompactOptions {
            annotations: AnnotationPolicy::Drop,
            memory_limit: self.memory_limit,
            external_labels: self.external_labels.to_vec(),
            ..CompactOptions::default()
        }
    }

    /// Counts the distinct series of some blocks.
    fn count(&self, folder: &Path, blocks: &[BlockView<'_>]) -> Result<u64, CompactError> {
        let options = self.options();
        let mut spool = Spool::new(self.system, folder, SCRATCH_MEMORY);
        let compaction = Compaction { observer: self.observer, ..Compaction::new(blocks, &options) };
        let counted = compaction.count(&mut spool);
        let closed = spool.close();
        let summary = counted?;
        closed?;
        Ok(summary.series_out)
    }
}

/// Metadata of a block that must be in the outputs too. Blocks with different external labels or label policies cannot
/// be merged, so the count of their series fails first.
struct Stated {
    time: Option<TimeRange>,
    window: Option<TimeRange>,
    user_keys: BTreeSet<String>,
    metrics: MetricSet,
}

impl Stated {
    fn read(view: &BlockView<'_>) -> chronoxide_format::Result<Self> {
        let copy = view.to_owned_meta()?;
        let meta = copy.meta()?;
        let keys = meta.annotations()?.map(|pair| pair.map(|(key, _)| key.to_owned()));
        // A forecast is about the plan of one block, and a shard about its series: outputs do not copy them.
        let user_keys = keys.filter(|key| !matches!(key.as_deref(), Ok(PLAN_KEY | SHARD_KEY)));
        Ok(Self {
            time: meta.time(),
            window: meta.window(),
            user_keys: user_keys.collect::<Result<_, _>>()?,
            metrics: copy.metric_metadata()?.iter().collect::<Result<_, _>>()?,
        })
    }
}

/// Returns the first input with metadata that the outputs lack, and a name for it.
///
/// If the time of one input is unknown, the time of the output is unknown too.
fn missing(outputs: &[Stated], inputs: &[Stated]) -> Option<(usize, &'static str)> {
    let metrics: BTreeSet<MetricMetadata<'_>> = outputs.iter().flat_map(|output| output.metrics.iter()).collect();
    let covers = |range: fn(&Stated) -> Option<TimeRange>, input: &Stated| {
        let Some(own) = range(input) else { return true };
        let all_known = inputs.iter().all(|input| range(input).is_some());
        outputs.iter().all(|output| match range(output) {
            Some(range) => range.start <= own.start && own.end <= range.end,
            None => !all_known,
        })
    };
    inputs.iter().enumerate().find_map(|(number, input)| {
        let has_keys = outputs.iter().all(|output| input.user_keys.is_subset(&output.user_keys));
        let checks = [
            ("time range", covers(|stated| stated.time, input)),
            ("window", covers(|stated| stated.window, input)),
            ("annotation key", has_keys),
            ("metric metadata", input.metrics.iter().all(|metric| metrics.contains(&metric))),
        ];
        checks.into_iter().find(|(_, is_there)| !is_there).map(|(what, _)| (number, what))
    })
}

/// Adds the name of the file to an error.
fn named(error: CompactError, paths: &[&PathBuf]) -> Unproven {
    match error.input().and_then(|input| paths.get(input)) {
        Some(path) => Unproven::Block { path: path.to_path_buf(), error },
        None => Unproven::Compact(error),
    }
}
