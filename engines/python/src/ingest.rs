//! Function `ingest`.

use std::collections::BTreeMap;
use std::error::Error;
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chronoxide_ingest::prometheus::tsdb::is_block;
use chronoxide_ingest::prometheus::wal::is_wal;
use chronoxide_ingest::publish::Destination;
use chronoxide_ingest::{AssembleOptions, BlockSink, Ingest, IngestOptions, Progress, SealedBlock};
use chronoxide_planner::Layout;
use chronoxide_publish::Existing;
use pyo3::exceptions::{PyFileExistsError, PyIsADirectoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{IngestError, io_cause, message, os_error};
use crate::labels::Paths;
use crate::watch::{self, Watch};

/// Memory for assembling the series of a folder's blocks, unless set: blocks are cut to stay below it.
const FOLDER_MEMORY: usize = 1 << 30;

/// Maximum window of a zstd stream: what the longest distance of the command-line tool needs.
const ZSTD_WINDOW: usize = 128 << 20;

/// Returns the layout of a name.
pub(crate) fn layout(name: &str) -> PyResult<Layout> {
    match name {
        "factored" => Ok(Layout::Factored),
        "bitpacked" => Ok(Layout::BitPacked),
        "fixed" => Ok(Layout::FixedWidth),
        _ => Err(PyValueError::new_err(format!("layout: {name:?} is not one of 'factored', 'bitpacked', 'fixed'"))),
    }
}

/// Place of blocks, as an argument.
#[derive(Clone, Copy)]
pub(crate) enum Output {
    /// A file that must not exist, or is replaced.
    File(Existing),
    Folder,
}

impl Output {
    /// Returns the kind of a path: a file if it ends in `.cx`, and a folder otherwise.
    pub(crate) fn new(path: &Path, force: bool) -> PyResult<Self> {
        if path.is_dir() || path.extension().is_none_or(|extension| extension != "cx") {
            return Ok(Self::Folder);
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        folder.metadata().map_err(|error| os_error(&error, folder))?;
        if force {
            return Ok(Self::File(Existing::Replace));
        }
        if path.symlink_metadata().is_ok() {
            let message = format!("{}: already exists (force=True replaces it)", path.display());
            return Err(PyFileExistsError::new_err(message));
        }
        Ok(Self::File(Existing::Refuse))
    }

    /// Refuses to replace an input.
    pub(crate) fn refuse_inputs(self, output: &Path, inputs: &[PathBuf]) -> PyResult<()> {
        let Ok(output) = output.canonicalize() else { return Ok(()) };
        let is_output = |input: &&PathBuf| input.canonicalize().is_ok_and(|input| input == output);
        match (self, inputs.iter().find(is_output)) {
            (Self::File(_), Some(input)) => {
                Err(PyValueError::new_err(format!("{}: an input cannot be the output", input.display())))
            }
            _ => Ok(()),
        }
    }

    /// Refuses an option that makes several blocks, unless they go to a folder.
    pub(crate) fn allow_several(self, option: &str, is_given: bool) -> PyResult<()> {
        match self {
            Self::File(_) if is_given => {
                Err(PyValueError::new_err(format!("{option} makes several blocks: the output must be a folder")))
            }
            _ => Ok(()),
        }
    }
}

/// Position in the inputs, as it is reported.
struct Read {
    input: String,
    bytes: u64,
    total: Option<u64>,
}

/// Publishes blocks as they are sealed.
struct Published {
    destination: Destination,
    paths: Vec<PathBuf>,
}

impl BlockSink for Published {
    fn take(&mut self, sealed: SealedBlock) -> Result<(), Box<dyn Error + Send + Sync>> {
        let id = chronoxide_format::view::BlockView::open(&sealed.block)?.block_id();
        let path = self.destination.publish(id, &sealed.block)?;
        if !self.paths.contains(&path) {
            self.paths.push(path);
        }
        Ok(())
    }
}

/// Turns captures into blocks. Returns a dict: `paths` of the blocks, and the `report` of `chronoxide-ingest --json`.
///
/// inputs: a capture or several: files of OTLP, Prometheus text, Parquet and other formats of `chronoxide-ingest`,
///     compressed or not, and folders that are blocks or write-ahead logs of Prometheus
/// output: a file for one block, whose name ends in `.cx`, or a folder for several, each named by its id
/// layout: "factored", "bitpacked" or "fixed"
/// archive: compresses the strings of blocks, which takes longer to write and to open
/// window: length of time windows as a timedelta; each window gets its own blocks; needs a folder
/// time_step: keeps the first and last time of each series in the columns `chronoxide.first_time` and
///     `chronoxide.last_time`, rounded outwards to multiples of this timedelta
/// max_series: maximum number of series per block; needs a folder
/// external_labels: labels that belong to all series, stored once per block
/// annotations: notes about the blocks
/// prometheus_names: series of OTLP get the names and labels of Prometheus's OTLP receiver
/// skip_bad_records: skips malformed records instead of raising IngestError at the first
/// force: replaces existing outputs
/// progress: is called with the name of the input, the bytes that were read, and its size or None
///
/// Ctrl-C and exceptions of `progress` end the run. Blocks are published whole or not at all.
///
/// >>> done = chronoxide.ingest("metrics.prom", "metrics.cx")
/// >>> done["report"]["series"]
/// 2
#[pyfunction]
#[pyo3(signature = (
    inputs, output, *, layout="factored", archive=false, window=None, time_step=None, max_series=None,
    external_labels=None, annotations=None, prometheus_names=false, skip_bad_records=false, force=false, progress=None
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn ingest<'py>(
    py: Python<'py>,
    inputs: Paths,
    output: PathBuf,
    layout: &str,
    archive: bool,
    window: Option<Duration>,
    time_step: Option<Duration>,
    max_series: Option<u32>,
    external_labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    prometheus_names: bool,
    skip_bad_records: bool,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let kind = Output::new(&output, force)?;
    kind.allow_several("window", window.is_some())?;
    kind.allow_several("max_series", max_series.is_some())?;
    let is_folder = matches!(kind, Output::Folder);
    let window = nanoseconds("window", window)?;
    let time_step = nanoseconds("time_step", time_step)?;
    if max_series == Some(0) {
        return Err(PyValueError::new_err("max_series must be at least 1"));
    }
    let options = IngestOptions {
        skip_broken_records: skip_bad_records,
        assemble: AssembleOptions {
            layout: self::layout(layout)?,
            archive,
            window,
            time_step,
            separate_input_windows: is_folder,
            max_series: max_series.unwrap_or(u32::MAX),
            max_memory: is_folder.then_some(FOLDER_MEMORY),
            one_block: !is_folder,
            external_labels: external_labels.unwrap_or_default().into_iter().collect(),
            annotations: annotations.unwrap_or_default().into_iter().collect(),
            prometheus_names,
            ..AssembleOptions::default()
        },
        ..IngestOptions::default()
    };
    let Paths(inputs) = inputs;
    if inputs.is_empty() {
        return Err(PyValueError::new_err("there are no inputs"));
    }
    kind.refuse_inputs(&output, &inputs)?;
    for input in &inputs {
        let metadata = input.metadata().map_err(|error| os_error(&error, input))?;
        if metadata.is_dir() && !is_block(input) && !is_wal(input) {
            let message = format!("{}: name the captures in this folder, such as by glob.glob", input.display());
            return Err(PyIsADirectoryError::new_err(message));
        }
    }
    let destination = match kind {
        Output::File(existing) => Destination::file(&output, existing),
        Output::Folder => {
            let existing = if force { Existing::Replace } else { Existing::Refuse };
            Destination::folder(&output, existing).map_err(|error| PyOSError::new_err(message(&error)))?
        }
    };

    let on_progress = |py: Python<'_>, Read { input, bytes, total }| {
        progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (input, bytes, total)).map(drop))
    };
    let done = watch::run(py, on_progress, |watch| read(&inputs, options, destination, watch))?;
    let (report, published) = done.map_err(|error| raise(&error))?;
    let report = serde_json::to_string(&report).map_err(|error| IngestError::new_err(error.to_string()))?;
    let dict = PyDict::new(py);
    dict.set_item("paths", published.paths)?;
    dict.set_item("report", py.import("json")?.call_method1("loads", (report,))?)?;
    Ok(dict)
}

/// Returns the nanoseconds of a length of time, which is an argument of this name.
fn nanoseconds(name: &str, length: Option<Duration>) -> PyResult<Option<NonZeroU64>> {
    let Some(length) = length else { return Ok(None) };
    // Times are signed.
    let nanoseconds = u64::try_from(length.as_nanos()).ok().filter(|&nanoseconds| i64::try_from(nanoseconds).is_ok());
    match nanoseconds.and_then(NonZeroU64::new) {
        Some(nanoseconds) => Ok(Some(nanoseconds)),
        None => Err(PyValueError::new_err(format!("{name} must be longer than zero and shorter than 292 years"))),
    }
}

/// Reads all inputs.
fn read(
    inputs: &[PathBuf],
    options: IngestOptions,
    destination: Destination,
    watch: &Arc<Watch<Read>>,
) -> Result<(chronoxide_ingest::Report, Published), chronoxide_ingest::IngestError> {
    let watch = Arc::clone(watch);
    let mut ingest = Ingest::new(options, Published { destination, paths: Vec::new() }).on_progress(move |progress| {
        let Progress { input, position, .. } = progress;
        let read = Read { input: (*input).to_owned(), bytes: position.offset(), total: position.file_len() };
        if watch.report(read) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    for input in inputs {
        if input.is_dir() && is_wal(input) {
            ingest.read_wal(input)?;
        } else if input.is_dir() {
            ingest.read_tsdb_block(input)?;
        } else {
            let source = ingest.open(input, ZSTD_WINDOW)?;
            ingest.read(source)?;
        }
    }
    ingest.finish()
}

fn raise(error: &chronoxide_ingest::IngestError) -> PyErr {
    match io_cause(error) {
        Some(_) => PyOSError::new_err(message(error)),
        None => IngestError::new_err(message(error)),
    }
}
