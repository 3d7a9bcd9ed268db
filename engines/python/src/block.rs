//! Class `Block`.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use chronoxide::{BlockInfo, SeriesId};
use chronoxide_text::human;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::capsules;
use crate::columns::columns;
use crate::counts::cardinality;
use crate::errors::{ChronoxideError, Raise};
use crate::labels::Labels;
use crate::notebook;
use crate::opened::{Asked, Opened};
use crate::selection::PySelection;
use crate::series::{self, PySeriesIterator};
use crate::table::{PyTable, Rows};

/// An open block: `len(block)` is the number of series, `block[ref]` the labels of one as a dict, `block[:9]` a list of
/// dicts, and iteration yields the labels of all series, in the order of their refs.
///
/// A block is also a table for any library that reads Arrow, such as pyarrow, Polars, pandas and DuckDB, and for
/// DataFusion: see the documentation of the package.
///
/// The file stays open as long as the block, or anything made from it, is referenced.
#[pyclass(frozen, extends = PyTable, module = "chronoxide", name = "Block")]
pub(crate) struct PyBlock {
    opened: Arc<Opened>,
}

impl PyBlock {
    pub(crate) fn create(py: Python<'_>, opened: Arc<Opened>) -> PyResult<Bound<'_, Self>> {
        let table = PyTable::new(Arc::clone(&opened) as Arc<dyn Rows>);
        Bound::new(py, (Self { opened }, table))
    }

    fn info(&self) -> PyResult<BlockInfo<'_>> {
        info(&self.opened)
    }

    fn title(&self) -> PyResult<String> {
        let info = self.info()?;
        let series = format!("{} series", human::count(info.series_count.into()));
        let names = self.opened.blocks.query("{}").and_then(|query| Ok(query.label_names()?.len()));
        let names = human::count_of(names.map_err(Raise::raise)? as u64, "label name");
        Ok(format!("{}: {series}, {names}, {}", name(&self.opened)?, human::bytes(info.byte_len)))
    }
}

/// Returns facts about the block.
pub(crate) fn info(opened: &Opened) -> PyResult<BlockInfo<'_>> {
    let info = opened.blocks.iter().next().ok_or_else(|| ChronoxideError::new_err("there is no block"))?;
    info.map_err(Raise::raise)
}

/// Returns the path or URL of a block, or the id of one without.
pub(crate) fn name(opened: &Opened) -> PyResult<String> {
    let info = info(opened)?;
    let path = info.path.map(|path| path.display().to_string());
    Ok(info.url.map(str::to_owned).or(path).unwrap_or_else(|| info.id.to_string()))
}

/// Returns the call that opens a path, for pickle.
pub(crate) fn reopened(py: Python<'_>, path: Option<PathBuf>) -> PyResult<(Bound<'_, PyAny>, (PathBuf,))> {
    let path = path.ok_or_else(|| PyTypeError::new_err("a block without a file cannot be pickled"))?;
    Ok((py.import("chronoxide")?.getattr("open")?, (path,)))
}

#[pymethods]
impl PyBlock {
    /// Path of the file, as it was given; that of the copy in the cache for a block of an object store.
    #[getter]
    fn path(&self) -> PyResult<Option<PathBuf>> {
        Ok(self.info()?.path.map(ToOwned::to_owned))
    }

    /// Id of the block. Blocks with equal ids have equal content.
    #[getter]
    fn id(&self) -> PyResult<String> {
        Ok(self.info()?.id.to_string())
    }

    /// Size of the file in bytes.
    #[getter]
    fn nbytes(&self) -> PyResult<u64> {
        Ok(self.info()?.byte_len)
    }

    /// Times of the first sample and after the last one, in nanoseconds since 1970, or None if they are not known.
    #[getter]
    fn time_range(&self) -> PyResult<Option<(i64, i64)>> {
        Ok(self.info()?.time)
    }

    /// External labels of the block, which belong to all its series and are not among their labels.
    #[getter]
    fn external_labels(&self) -> PyResult<BTreeMap<String, String>> {
        let labels = self.info()?.external_labels.into_iter();
        Ok(labels.map(|label| (label.name.to_owned(), label.value.to_owned())).collect())
    }

    /// Values that an engine keeps of each series, by the name of the column.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, &self.opened)
    }

    fn __len__(&self) -> PyResult<usize> {
        self.opened.series_count()
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (block, count) = (self.info()?.id, self.__len__()?);
        let id = |position| Some(SeriesId { block, series: u32::try_from(position).ok()? });
        series::get_item(index, &self.opened.blocks, count, id)
    }

    fn __iter__(&self) -> PyResult<PySeriesIterator> {
        Ok(PySeriesIterator::new(self.opened.selection()?))
    }

    /// True if the block has a series with exactly these labels.
    fn __contains__(&self, py: Python<'_>, labels: &Bound<'_, PyAny>) -> PyResult<bool> {
        labels.extract().map_or(Ok(false), |labels| Ok(self.find(py, labels)?.is_some()))
    }

    /// Blocks with equal ids have equal content.
    fn __eq__(&self, other: &Self) -> PyResult<bool> {
        Ok(self.id()? == other.id()?)
    }

    fn __hash__(&self) -> PyResult<u64> {
        let mut hasher = DefaultHasher::new();
        self.id()?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    /// Another process opens the file.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (PathBuf,))> {
        reopened(py, self.path()?)
    }

    /// Returns the ref of the series with exactly these labels, or None. Labels with an empty value are ignored.
    ///
    /// >>> block = chronoxide.open("week.cx")
    /// >>> block.find({"__name__": "up", "job": "api", "pod": "api-2"})
    /// 5
    fn find(&self, py: Python<'_>, labels: Labels) -> PyResult<Option<u32>> {
        let found = py.detach(|| self.opened.blocks.find(labels.iter())).map_err(Raise::raise)?;
        Ok(found.first().map(|id| id.series))
    }

    /// Returns the series that a PromQL selector selects; all if there is none.
    ///
    /// `between`, here and in the other questions, is a time range in nanoseconds since 1970, its end excluded. Series
    /// without data there are left out: those whose columns `chronoxide.first_time` and `chronoxide.last_time` do not
    /// meet it, and of a block without these columns all, if the block has no data there.
    ///
    /// >>> block = chronoxide.open("week.cx")
    /// >>> [labels["pod"] for labels in block.select('up{pod=~"api.*"}')]
    /// ['api-1', 'api-2']
    ///
    /// Fails with MemoryError if the refs of the series take more than `max_memory` bytes, 1 GiB unless given: 8 bytes
    /// per range of refs.
    #[pyo3(signature = (selector=None, *, between=None, max_memory=None))]
    fn select<'py>(
        &self,
        py: Python<'py>,
        selector: Option<&str>,
        between: Option<(i64, i64)>,
        max_memory: Option<u64>,
    ) -> PyResult<Bound<'py, PySelection>> {
        PySelection::create(py, &self.opened, self.opened.select(py, Asked { selector, between }, max_memory)?)
    }

    /// Returns the names of labels, in byte order: all, or those of selected series.
    #[pyo3(signature = (selector=None, *, between=None))]
    fn label_names(
        &self,
        py: Python<'_>,
        selector: Option<&str>,
        between: Option<(i64, i64)>,
    ) -> PyResult<Vec<String>> {
        self.opened.label_names(py, Asked { selector, between })
    }

    /// Returns the distinct values of a label, in byte order: all, or those of selected series; at most `limit`.
    #[pyo3(signature = (name, selector=None, *, between=None, limit=None))]
    fn label_values(
        &self,
        py: Python<'_>,
        name: &str,
        selector: Option<&str>,
        between: Option<(i64, i64)>,
        limit: Option<usize>,
    ) -> PyResult<Vec<String>> {
        self.opened.label_values(py, name, Asked { selector, between }, limit)
    }

    /// Returns the numbers of series, names and values of selected series, and the largest of them: a dict with the
    /// fields of `chronoxide-inspect cardinality --json`. Lists have at most `limit` entries.
    ///
    /// >>> block = chronoxide.open("week.cx")
    /// >>> block.cardinality(limit=1)["metrics_by_series"]
    /// [{'metric': 'up', 'series': 5}]
    #[pyo3(
        signature = (selector=None, *, between=None, limit=Some(10)),
        text_signature = "($self, selector=None, *, between=None, limit=10)"
    )]
    fn cardinality<'py>(
        &self,
        py: Python<'py>,
        selector: Option<&str>,
        between: Option<(i64, i64)>,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        cardinality(py, &self.opened, Asked { selector, between }, limit)
    }

    /// Checks every rule of the format. Raises `CorruptBlockError` for the first that is broken.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.opened.verify(py)
    }

    fn __datafusion_table_provider__<'py>(&self, session: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
        capsules::table_provider(session, Arc::new(session.py().detach(|| self.opened.table())?.clone()))
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<chronoxide.Block {}>", self.title()?))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let title = self.title()?;
        py.detach(|| notebook::table(&title, &self.opened.blocks)).map_err(Raise::raise)
    }
}
