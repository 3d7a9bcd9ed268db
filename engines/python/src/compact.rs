//! Function `compact`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chronoxide_compactor::engine::{Publisher, Refused, Workplace};
use chronoxide_compactor::{
    CompactOptions, Compaction, CompactionError, KeptColumns, Observer, Phase, Rewrite, Summary, verify_file,
};
use chronoxide_format::view::BlockView;
use chronoxide_locations::{Cache, DEFAULT_CACHE_LEN, Facts, Location};
use chronoxide_publish::{Disk, make_folder};
use chronoxide_reader::{Block, Checks, Folder, FolderError, OpenError};
use chronoxide_select::{Patterns, Selector};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{CompactError, Raise, io_cause, message, raise_open};
use crate::ingest::{Output, layout};
use crate::labels::{Paths, parse};
use crate::watch::{self, Watch};

/// Progress of a phase, as it is reported.
struct Step {
    phase: Phase,
    done: u64,
    total: u64,
}

struct Reporting(Arc<Watch<Step>>);

impl Observer for Reporting {
    fn progress(&self, phase: Phase, done: u64, total: u64) -> bool {
        self.0.report(Step { phase, done, total })
    }
}

/// Merges blocks. Inputs are verified first, and never changed or deleted. Returns a dict: `paths` of the blocks, and
/// the numbers `series_in`, `series_out`, `duplicates` and `dropped`.
///
/// inputs: paths of blocks or open blocks, or one folder, whose live blocks are merged
/// output: a file for one block, whose name ends in `.cx`, or a folder, in which blocks are named by their ids
/// layout: "factored", "bitpacked" or "fixed"
/// archive: compresses the strings of blocks, which takes longer to write and to open
/// replan: plans factored blocks afresh instead of adopting the plan of the largest input
/// max_series: maximum number of series per block; needs a folder
/// keep: selectors; if there are any, series that match none of them are dropped
/// drop: selectors; series that match one of them are dropped
/// drop_labels: names of labels to drop
/// rename_labels: a dict of old and new names of labels
/// keep_columns: names of columns, or their beginnings and `*`; if there are any, other columns are dropped
/// drop_columns: names of columns to drop, or their beginnings and `*`
/// force: replaces an existing output file
/// progress: is called with the phase, the steps that are done, and their total
///
/// Ctrl-C and exceptions of `progress` end the run. Blocks are published whole or not at all.
///
/// >>> done = chronoxide.compact(["week.cx", "other.cx"], "both.cx")
/// >>> done["series_in"], done["series_out"]
/// (170, 170)
#[pyfunction]
#[pyo3(signature = (
    inputs, output, *, layout="factored", archive=false, replan=false, max_series=None, keep=Vec::new(),
    drop=Vec::new(), drop_labels=Vec::new(), rename_labels=BTreeMap::new(), keep_columns=Vec::new(),
    drop_columns=Vec::new(), force=false, progress=None
), text_signature = "(inputs, output, *, layout=\"factored\", archive=False, replan=False, max_series=None, \
    keep=(), drop=(), drop_labels=(), rename_labels={}, keep_columns=(), drop_columns=(), force=False, progress=None)")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn compact<'py>(
    py: Python<'py>,
    inputs: Paths,
    output: PathBuf,
    layout: &str,
    archive: bool,
    replan: bool,
    max_series: Option<u32>,
    keep: Vec<String>,
    drop: Vec<String>,
    drop_labels: Vec<String>,
    rename_labels: BTreeMap<String, String>,
    keep_columns: Vec<String>,
    drop_columns: Vec<String>,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let kind = Output::new(&output, force)?;
    kind.allow_several("max_series", max_series.is_some())?;
    let max_series_per_block = match max_series.map(NonZeroU32::new) {
        Some(None) => return Err(PyValueError::new_err("max_series must be at least 1")),
        max_series => max_series.flatten(),
    };
    let mut patterns = Patterns::default();
    let options = CompactOptions {
        layout: self::layout(layout)?,
        archive,
        replan,
        max_series_per_block,
        keep: selectors(&mut patterns, &keep)?,
        drop: selectors(&mut patterns, &drop)?,
        rewrite: Rewrite { drop_labels, rename_labels: rename_labels.into_iter().collect(), ..Rewrite::default() },
        columns: KeptColumns { keep: keep_columns, drop: drop_columns },
        keeps_inputs: true,
        ..CompactOptions::default()
    };
    kind.refuse_inputs(&output, &inputs.0)?;
    let blocks = py.detach(|| open(inputs.0))?;
    if blocks.is_empty() {
        return Err(PyValueError::new_err("there are no blocks to merge"));
    }
    let on_progress = |py: Python<'_>, Step { phase, done, total }| {
        progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (phase.name(), done, total)).map(|_| ()))
    };
    let merged = watch::run(py, on_progress, |watch| {
        let views: Vec<BlockView<'_>> = blocks.iter().map(|block| *block.view()).collect();
        let reporting = Reporting(Arc::clone(watch));
        let compaction = Compaction { observer: &reporting, ..Compaction::new(&views, &options) };
        merge(&compaction, &output, kind, &blocks)
    })?;
    let (summary, paths) = merged?;
    let dict = PyDict::new(py);
    dict.set_item("paths", paths)?;
    dict.set_item("series_in", summary.series_in)?;
    dict.set_item("series_out", summary.series_out)?;
    dict.set_item("duplicates", summary.duplicates)?;
    dict.set_item("dropped", summary.dropped)?;
    Ok(dict)
}

/// Parses selectors, within the bounds of others.
fn selectors(patterns: &mut Patterns<'_>, texts: &[String]) -> PyResult<Vec<Selector>> {
    texts.iter().map(|text| parse(patterns, text)).collect()
}

/// Opens blocks, or those of a folder, without checks: merging verifies them.
fn open(paths: Vec<PathBuf>) -> PyResult<Vec<Block>> {
    if let [folder] = paths.as_slice()
        && folder.is_dir()
    {
        let folder = map_folder(folder).map_err(Raise::raise)?;
        if let Some((_, error)) = folder.unreadable().first() {
            return Err(raise_open(error));
        }
        return Ok(folder.live().iter().map(|entry| entry.block().clone()).collect());
    }
    paths.iter().map(|path| map(path).map_err(Raise::raise)).collect()
}

/// Merges blocks to a file or a folder.
fn merge(
    compaction: &Compaction<'_>,
    output: &Path,
    kind: Output,
    blocks: &[Block],
) -> PyResult<(Summary, Vec<PathBuf>)> {
    let failed = |error| raise(error, blocks);
    if let Output::File(existing) = kind {
        let (summary, published) = compaction.merge_to_file(output, existing, &verify).map_err(failed)?;
        return Ok((summary, vec![published.path]));
    }
    make_folder(&Disk, output).map_err(|error| PyOSError::new_err(message(&error)))?;
    let (location, cache) = (Location::folder(output), Cache::from_environment(DEFAULT_CACHE_LEN));
    let observer = compaction.observer;
    let place = Workplace { location: &location, cache: &cache, map: &map, memory_limit: None, observer };
    let _lock = place.lock().map_err(failed)?;
    let mut publisher = Publisher::new(&place, &verify);
    let summary = compaction.publish_in(output, |_, draft| publisher.publish(draft.into())).map_err(failed)?;
    let outputs = publisher.finish().map_err(failed)?;
    Ok((summary, outputs.iter().map(|published| output.join(&published.key)).collect()))
}

/// Returns the exception of a compaction, with the path of the block at fault.
fn raise(error: CompactionError, blocks: &[Block]) -> PyErr {
    use chronoxide_compactor::CompactError as Cause;
    match error {
        CompactionError::Compact(Cause::Input { input, source }) if input < blocks.len() => {
            blocks[input].locate(source).raise()
        }
        CompactionError::Compact(error @ (Cause::ReadOnly { input, .. } | Cause::Differs { input, .. }))
            if input < blocks.len() =>
        {
            CompactError::new_err(blocks[input].locate(error.reason()).to_string())
        }
        error if io_cause(&error).is_some() => PyOSError::new_err(message(&error)),
        error => CompactError::new_err(message(&error)),
    }
}

fn map(path: &Path) -> Result<Block, OpenError> {
    // SAFETY: published blocks are never changed, only deleted or replaced by renaming, which does not affect a map.
    // The documentation of the package forbids changing a block in place.
    unsafe { Block::map(path, Checks::Never) }
}

fn map_folder(path: &Path) -> Result<Folder, FolderError> {
    // SAFETY: as for `map`: blocks are published files.
    unsafe { Folder::map(path, Checks::Never) }
}

/// Verifies a written block.
fn verify(path: &Path) -> Result<Facts, Refused> {
    verify_file(path, &map)
}
