//! [`compact`]: blocks merged into one.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use chronoxide_compactor::{CompactError, Compaction, CompactionError, verify_block};
use chronoxide_labels::Layout;
use chronoxide_publish::Existing;
use chronoxide_reader::{Block, BlockId};
use chronoxide_select::Selector;

use crate::blocks::read_verified;
use crate::error::kind_of_block;
use crate::{Error, ErrorKind};

/// How blocks are merged.
#[derive(Clone, Debug, Default)]
pub struct CompactOptions {
    keep: Vec<Selector>,
    drop: Vec<Selector>,
    layout: Layout,
    replaces: bool,
    max_memory: Option<usize>,
}

impl CompactOptions {
    /// Returns the default: all series are kept, and an existing file is an error.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps only the series that this selector matches, or another one that is given so.
    ///
    /// # Errors
    /// An error of kind `Usage` if the text is not a selector, or one that matches series without its labels, as `{}`
    /// does: it may be a mistake.
    pub fn keep(mut self, selector: &str) -> Result<Self, Error> {
        self.keep.push(selector.parse()?);
        Ok(self)
    }

    /// Drops the series that this selector matches.
    ///
    /// # Errors
    /// As [`CompactOptions::keep`].
    pub fn drop(mut self, selector: &str) -> Result<Self, Error> {
        self.drop.push(selector.parse()?);
        Ok(self)
    }

    /// Sets the layout of rows: all are read alike.
    #[must_use]
    pub fn layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// Replaces the output if it exists.
    #[must_use]
    pub fn replace(self, replaces: bool) -> Self {
        Self { replaces, ..self }
    }

    /// Refuses a merge that could need more bytes of memory.
    #[must_use]
    pub fn max_memory(self, bytes: usize) -> Self {
        Self { max_memory: Some(bytes), ..self }
    }
}

/// Counts of a merge: `series_in` is the sum of `series_out`, `duplicates` and `dropped`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// The output.
    pub path: PathBuf,
    /// Id of the output.
    pub block: BlockId,
    /// Size of the output in bytes.
    pub byte_len: u64,
    /// Series of all inputs.
    pub series_in: u64,
    /// Series that another input has, too.
    pub duplicates: u64,
    /// Series that selectors dropped.
    pub dropped: u64,
    /// Series of the output.
    pub series_out: u64,
}

/// Merges blocks into one, which has each series once. The inputs are read into memory, and not changed.
///
/// In a folder, the output takes the place of its inputs. If selectors leave series out, it does not: all of these
/// blocks are live then. The output is written whole, and verified, or not at all. Folders that are compacted again and
/// again are the task of the command `chronoxide-compact`.
///
/// ```
/// # let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden");
/// # let folder = tempfile::tempdir()?;
/// let inputs = ["plain-bitpacked.cx", "lists-fixedwidth.cx"].map(|name| format!("{golden}/{name}"));
/// let merged = chronoxide::compact(&inputs, folder.path().join("all.cx"), &Default::default())?;
/// assert_eq!(merged.series_in, merged.series_out + merged.duplicates);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The output has the time range of all inputs, and says that it replaces them: readers of a folder see it instead of
/// them as soon as it is there. Inputs may be deleted then; open blocks stay readable. Its series have other ids: the
/// [sorted series](crate::Query::sorted_series) of inputs and output are the same, so that walking over both at once
/// tells the old ids and the new one of each. `docs/engine.md` does it before the output is moved into the folder.
///
/// # Errors
/// Errors of kind `Io`, of kind `Corrupt` for a damaged input, of kind `OutOfResources` above
/// the limit of memory, and of kind `Exists` if the output exists.
pub fn compact<P: AsRef<Path>>(
    inputs: impl IntoIterator<Item = P>,
    output: impl AsRef<Path>,
    options: &CompactOptions,
) -> Result<Compacted, Error> {
    let blocks = inputs.into_iter().map(|input| read_verified(input.as_ref())).collect::<Result<Vec<_>, _>>()?;
    if blocks.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "there are no blocks to merge"));
    }
    let views: Vec<_> = blocks.iter().map(|block| *block.view()).collect();
    let CompactOptions { keep, drop, layout, replaces, max_memory } = options.clone();
    let options = chronoxide_compactor::CompactOptions {
        // Inputs stay: where series were left out, the output does not take their place in a folder.
        keeps_inputs: !keep.is_empty() || !drop.is_empty(),
        keep,
        drop,
        layout,
        memory_limit: max_memory,
        ..chronoxide_compactor::CompactOptions::default()
    };
    let existing = if replaces { Existing::Replace } else { Existing::Refuse };
    let compaction = Compaction::new(&views, &options);
    let block = Cell::new(BlockId::default());
    let verify = |path: &Path| verify_block(path).inspect(|lineage| block.set(lineage.id));
    let merged = compaction.merge_to_file(output.as_ref(), existing, &verify);
    let (summary, published) = merged.map_err(|error| failure(error, &blocks))?;
    Ok(Compacted {
        path: published.path,
        block: block.get(),
        byte_len: published.byte_len,
        series_in: summary.series_in,
        duplicates: summary.duplicates,
        dropped: summary.dropped,
        series_out: summary.series_out,
    })
}

/// Returns the error of a merge, with the path of the input that it is about.
fn failure(error: CompactionError, inputs: &[Block]) -> Error {
    let error = match error {
        CompactionError::Compact(error) => error,
        CompactionError::Publish(error) => return error.into(),
        other => return Error::new(ErrorKind::Io, other),
    };
    let kind = match &error {
        CompactError::Input { source, .. } => kind_of_block(source),
        CompactError::ReadOnly { .. } => ErrorKind::Unsupported,
        CompactError::Memory { .. } => ErrorKind::OutOfResources,
        CompactError::Spool(_) | CompactError::Write(_) | CompactError::Unbalanced { .. } => ErrorKind::Io,
        CompactError::Cancelled => ErrorKind::Cancelled,
        _ => ErrorKind::Usage,
    };
    if let CompactError::Memory { needed, limit } = error {
        // The text of the commands names an option.
        let text = format!("the merge could need {needed} bytes or more, and the limit is {limit}: merge fewer blocks");
        return Error::new(kind, text);
    }
    let reason = match &error {
        // That of the commands names options.
        CompactError::Differs { what, .. } => format!("differs from the first input in its {what}"),
        CompactError::ColumnsDiffer { other, name, .. } => {
            let other = inputs.get(*other).and_then(Block::path).map(|path| path.display().to_string());
            let other = other.unwrap_or_default();
            format!("its column {name:?} differs from that of {other} in type or way to merge")
        }
        error => error.reason(),
    };
    let path = error.input().and_then(|input| inputs.get(input)).and_then(Block::path);
    match path {
        Some(path) => Error::new(kind, format!("{}: {reason}", path.display())).with_path(path),
        None => Error::new(kind, error),
    }
}
