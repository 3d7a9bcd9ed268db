//! Class `Block`.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use chronoxide_arrow::BlockTable;
use chronoxide_datafusion::SeriesTable;
use chronoxide_reader::{Block, SeriesRef};
use chronoxide_select::{IndexedBlock, Limits, Searcher, SelectError, Selection};
use chronoxide_text::human;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::capsules;
use crate::counts::cardinality;
use crate::errors::Raise;
use crate::labels::{Labels, limits, matchers, parse_optional, texts};
use crate::notebook;
use crate::selection::PySelection;
use crate::series::{self, PySeriesIterator};
use crate::table::{Part, PyTable, Rows};

/// A block, and its table of Arrow when it was needed.
pub(crate) struct OpenBlock {
    open: IndexedBlock,
    /// Made by the first query that needs it.
    table: OnceLock<BlockTable>,
}

impl OpenBlock {
    pub(crate) fn new(block: Block) -> Arc<Self> {
        Arc::new(Self { open: block.into(), table: OnceLock::new() })
    }

    /// Returns the block of a table.
    pub(crate) fn from_table(table: &BlockTable) -> Arc<Self> {
        Arc::new(Self { open: table.indexed().clone(), table: OnceLock::from(table.clone()) })
    }

    pub(crate) fn block(&self) -> &Block {
        self.open.block()
    }

    /// Returns the block as a table. The first call makes its index.
    pub(crate) fn table(&self) -> PyResult<&BlockTable> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        // Two threads may both make it, which is harmless.
        let made = BlockTable::new(self.open.clone()).map_err(Raise::raise)?;
        Ok(self.table.get_or_init(|| made))
    }

    /// Answers a query.
    fn ask<T>(&self, query: impl FnOnce(&Searcher<'_, '_>) -> Result<T, SelectError>) -> PyResult<T> {
        self.open.search(Limits::default(), query).map_err(Raise::raise)
    }

    /// Returns the series with exactly these labels.
    pub(crate) fn find(&self, labels: &Labels) -> PyResult<Option<SeriesRef>> {
        self.open.find(labels.pairs()).map_err(Raise::raise)
    }

    pub(crate) fn series_count(&self) -> PyResult<u32> {
        self.block().view().series_count().map_err(|error| self.block().locate(error).raise())
    }

    /// Returns the path, or the id of a block without one.
    pub(crate) fn name(&self) -> String {
        self.block()
            .path()
            .map_or_else(|| self.block().view().block_id().to_string(), |path| path.display().to_string())
    }

    /// Returns the name and the size of the block.
    pub(crate) fn title(&self) -> PyResult<String> {
        let (path, view) = (self.name(), self.block().view());
        let series = format!("{} series", human::count(self.series_count()?.into()));
        let names = human::count_of(view.key_count().into(), "label name");
        Ok(format!("{path}: {series}, {names}, {}", human::bytes(self.block().bytes().len() as u64)))
    }
}

impl Rows for OpenBlock {
    fn parts(&self) -> PyResult<Vec<Part>> {
        Ok(vec![(self.table()?.clone(), None)])
    }
}

/// An open block: `len(block)` is the number of series, `block[ref]` the labels of one as a dict, `block[:9]` a list of
/// dicts, and iteration yields the labels of all series, in the order of their refs.
///
/// A block is also a table for any library that reads Arrow, such as pyarrow, Polars, pandas and DuckDB, and for
/// DataFusion: see the documentation of the package.
///
/// The file stays open as long as the block, or anything made from it, is referenced.
#[pyclass(frozen, extends = PyTable, module = "chronoxide", name = "Block")]
pub(crate) struct PyBlock {
    open: Arc<OpenBlock>,
}

impl PyBlock {
    pub(crate) fn create(py: Python<'_>, open: Arc<OpenBlock>) -> PyResult<Bound<'_, Self>> {
        let table = PyTable::new(Arc::clone(&open) as Arc<dyn Rows>);
        Bound::new(py, (Self { open }, table))
    }

    fn block(&self) -> &Block {
        self.open.block()
    }
}

/// Returns the call that opens a path, for pickle.
pub(crate) fn reopened(py: Python<'_>, path: Option<PathBuf>) -> PyResult<(Bound<'_, PyAny>, (PathBuf,))> {
    let path = path.ok_or_else(|| PyTypeError::new_err("a block without a file cannot be pickled"))?;
    Ok((py.import("chronoxide")?.getattr("open")?, (path,)))
}

#[pymethods]
impl PyBlock {
    /// Path of the file, as it was given.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.block().path().map(ToOwned::to_owned)
    }

    /// Id of the block. Blocks with equal ids have equal content.
    #[getter]
    fn id(&self) -> String {
        self.block().view().block_id().to_string()
    }

    /// Size of the file in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.block().bytes().len()
    }

    /// Times of the first sample and after the last one, in nanoseconds since 1970, or None if they are not known.
    #[getter]
    fn time_range(&self) -> PyResult<Option<(i64, i64)>> {
        let meta = self.block().view();
        let meta = meta.meta().map_err(|error| self.block().locate(error).raise())?;
        Ok(meta.time().map(|time| (time.start, time.end)))
    }

    /// External labels of the block, which belong to all its series and are not among their labels.
    #[getter]
    fn external_labels(&self) -> PyResult<BTreeMap<String, String>> {
        let damaged = |error| self.block().locate(error).raise();
        let view = self.block().view();
        let pairs = view.meta().and_then(|meta| meta.external_labels()).map_err(damaged)?;
        let pairs = pairs.map(|pair| pair.map_err(damaged));
        pairs.map(|pair| pair.map(|(name, value)| (name.to_owned(), value.to_owned()))).collect()
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.open.series_count()? as usize)
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        series::get_item(index, self.open.series_count()? as usize, |position| {
            let series = SeriesRef(u32::try_from(position)?);
            Ok(series::labels(index.py(), self.block(), series)?.unwrap_or_else(|| PyDict::new(index.py())))
        })
    }

    fn __iter__(&self) -> PyResult<PySeriesIterator> {
        let all = Selection::from_range(SeriesRef(0)..SeriesRef(self.open.series_count()?));
        Ok(PySeriesIterator::new([(self.block(), &all)]))
    }

    /// True if the block has a series with exactly these labels.
    fn __contains__(&self, py: Python<'_>, labels: &Bound<'_, PyAny>) -> PyResult<bool> {
        labels.extract().map_or(Ok(false), |labels| Ok(self.find(py, labels)?.is_some()))
    }

    /// Blocks with equal ids have equal content.
    fn __eq__(&self, other: &Self) -> bool {
        self.id() == other.id()
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.id().hash(&mut hasher);
        hasher.finish()
    }

    /// Another process opens the file.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (PathBuf,))> {
        reopened(py, self.path())
    }

    /// Returns the ref of the series with exactly these labels, or None. Labels with an empty value are ignored.
    ///
    /// >>> block = chronoxide.open("week.cx")
    /// >>> block.find({"__name__": "up", "job": "api", "pod": "api-2"})
    /// 5
    fn find(&self, py: Python<'_>, labels: Labels) -> PyResult<Option<u32>> {
        Ok(py.detach(|| self.open.find(&labels))?.map(|series| series.0))
    }

    /// Returns the series that a PromQL selector selects; all if there is none.
    ///
    /// >>> block = chronoxide.open("week.cx")
    /// >>> [labels["pod"] for labels in block.select('up{pod=~"api.*"}')]
    /// ['api-1', 'api-2']
    ///
    /// Fails with MemoryError if the refs of the series take more than `max_memory` bytes, 1 GiB unless given: 8 bytes
    /// per range of refs.
    #[pyo3(signature = (selector=None, *, max_memory=None))]
    fn select<'py>(
        &self,
        py: Python<'py>,
        selector: Option<&str>,
        max_memory: Option<u64>,
    ) -> PyResult<Bound<'py, PySelection>> {
        let selector = parse_optional(selector)?;
        let limits = limits(max_memory);
        let select = || self.open.ask(|searcher| searcher.with_limits(limits).select(matchers(&selector)));
        let selection = py.detach(select)?;
        PySelection::create(py, &self.open, selection)
    }

    /// Returns the names of labels, in byte order: all, or those of selected series.
    #[pyo3(signature = (selector=None))]
    fn label_names(&self, py: Python<'_>, selector: Option<&str>) -> PyResult<Vec<String>> {
        let selector = parse_optional(selector)?;
        py.detach(|| {
            self.open.ask(|searcher| Ok(texts(searcher.label_names(matchers(&selector))?, Some(self.block()))))
        })?
    }

    /// Returns the distinct values of a label, in byte order: all, or those of selected series; at most `limit`.
    #[pyo3(signature = (name, selector=None, *, limit=None))]
    fn label_values(
        &self,
        py: Python<'_>,
        name: &str,
        selector: Option<&str>,
        limit: Option<usize>,
    ) -> PyResult<Vec<String>> {
        let selector = parse_optional(selector)?;
        py.detach(|| {
            self.open
                .ask(|searcher| Ok(texts(searcher.label_values(name, matchers(&selector), limit)?, Some(self.block()))))
        })?
    }

    /// Returns the numbers of series, names and values of selected series, and the largest of them: a dict with the
    /// fields of `chronoxide-inspect cardinality --json`. Lists have at most `limit` entries.
    ///
    /// >>> block = chronoxide.open("week.cx")
    /// >>> block.cardinality(limit=1)["metrics_by_series"]
    /// [{'metric': 'up', 'series': 5}]
    #[pyo3(signature = (selector=None, *, limit=Some(10)), text_signature = "($self, selector=None, *, limit=10)")]
    fn cardinality<'py>(
        &self,
        py: Python<'py>,
        selector: Option<&str>,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        cardinality(py, std::slice::from_ref(self.block()), parse_optional(selector)?, limit)
    }

    /// Checks every rule of the format. Raises `CorruptBlockError` for the first that is broken.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.block().verify()).map(|_| ()).map_err(|error| self.block().locate(error).raise())
    }

    fn __datafusion_table_provider__<'py>(&self, session: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
        let table = session.py().detach(|| self.open.table())?.clone();
        capsules::table_provider(session, Arc::new(SeriesTable::from_block_table(table).map_err(Raise::raise)?))
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<chronoxide.Block {}>", self.open.title()?))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        notebook::table(&self.open.title()?, std::slice::from_ref(py.detach(|| self.open.table())?))
    }
}
