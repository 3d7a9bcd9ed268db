//! [`compact`]: blocks merged into one.

use std::path::{Path, PathBuf};

use chronoxide_compactor::Compaction;
use chronoxide_compactor::job::verify_block;
use chronoxide_labels::Layout;
use chronoxide_publish::Existing;
use chronoxide_reader::{Block, Checks};
use chronoxide_select::Selector;

use crate::Error;

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
    /// An error of kind `Usage` if the text is not a selector.
    pub fn keep(mut self, selector: &str) -> Result<Self, Error> {
        self.keep.push(selector.parse()?);
        Ok(self)
    }

    /// Drops the series that this selector matches.
    ///
    /// # Errors
    /// An error of kind `Usage` if the text is not a selector.
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
/// # Errors
/// Errors of kind `Io`, of kind `Corrupt` for a damaged input, and of kind `Usage` if the output exists.
pub fn compact<P: AsRef<Path>>(
    inputs: impl IntoIterator<Item = P>,
    output: impl AsRef<Path>,
    options: &CompactOptions,
) -> Result<Compacted, Error> {
    let mut blocks = Vec::new();
    for input in inputs {
        let block = Block::read(input, Checks::Eager)?;
        block.verify().map_err(|error| block.locate(error))?;
        blocks.push(block);
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
    let (summary, published) = compaction.merge_to_file(output.as_ref(), existing, &verify_block)?;
    Ok(Compacted {
        path: published.path,
        byte_len: published.byte_len,
        series_in: summary.series_in,
        duplicates: summary.duplicates,
        dropped: summary.dropped,
        series_out: summary.series_out,
    })
}
