//! Class `Folder`: the live blocks of a folder.

use std::path::PathBuf;
use std::sync::Arc;

use chronoxide::Blocks;
use chronoxide_text::human;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::block::{PyBlock, reopened};
use crate::capsules;
use crate::columns::columns;
use crate::counts::cardinality;
use crate::errors::Raise;
use crate::labels::Labels;
use crate::notebook;
use crate::opened::{Asked, Opened};
use crate::selection::PyFolderSelection;
use crate::series::PySeriesIterator;
use crate::table::{PyTable, Rows};

/// The live blocks of a folder, as they were when it was opened: blocks that a compaction replaced are left out.
///
/// `len(folder)` is the number of series of all blocks, and iteration yields their labels; a series that several blocks
/// have appears once per block. Like a block, a folder is a table for libraries that read Arrow, and for DataFusion. It
/// has one more column `block` of block ids.
///
/// A damaged block is an error: a result would silently lack its series.
#[pyclass(frozen, extends = PyTable, module = "chronoxide", name = "Folder")]
pub(crate) struct PyFolder {
    path: PathBuf,
    opened: Arc<Opened>,
}

impl PyFolder {
    pub(crate) fn create(py: Python<'_>, path: PathBuf, blocks: Blocks) -> PyResult<Bound<'_, Self>> {
        let opened = Opened::new(blocks);
        let table = PyTable::new(Arc::clone(&opened) as Arc<dyn Rows>);
        Bound::new(py, (Self { path, opened }, table))
    }

    fn title(&self) -> PyResult<String> {
        let series = format!("{} series", human::count(self.opened.series_count()? as u64));
        let blocks = human::count_of(self.opened.blocks.len() as u64, "block");
        Ok(format!("{}: {blocks}, {series}", self.path.display()))
    }
}

#[pymethods]
impl PyFolder {
    /// Path of the folder, as it was given.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The live blocks.
    #[getter]
    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBlock>>> {
        let each = self.opened.blocks.each().into_iter();
        each.map(|block| PyBlock::create(py, Opened::new(block))).collect()
    }

    /// Values that an engine keeps of each series, by the name of the column: columns that a block has.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, &self.opened)
    }

    fn __len__(&self) -> PyResult<usize> {
        self.opened.series_count()
    }

    fn __iter__(&self) -> PyResult<PySeriesIterator> {
        Ok(PySeriesIterator::new(self.opened.selection()?))
    }

    /// True if a block has a series with exactly these labels.
    fn __contains__(&self, py: Python<'_>, labels: &Bound<'_, PyAny>) -> PyResult<bool> {
        labels.extract().map_or(Ok(false), |labels| Ok(!self.find(py, labels)?.is_empty()))
    }

    /// Another process opens the folder.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (PathBuf,))> {
        reopened(py, Some(self.path()))
    }

    /// Returns the block ids and refs of the series with exactly these labels, one for each block that has it.
    fn find(&self, py: Python<'_>, labels: Labels) -> PyResult<Vec<(String, u32)>> {
        let found = py.detach(|| self.opened.blocks.find(labels.iter())).map_err(Raise::raise)?;
        Ok(found.iter().map(|id| (id.block.to_string(), id.series)).collect())
    }

    /// Returns the series that a PromQL selector selects; all if there is none.
    ///
    /// `between`, here and in the other questions, is a time range in nanoseconds since 1970, its end excluded. Series
    /// without data there are left out: those whose columns `chronoxide.first_time` and `chronoxide.last_time` do not
    /// meet it, and of a block without these columns all, if the block has no data there.
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
    ) -> PyResult<Bound<'py, PyFolderSelection>> {
        PyFolderSelection::create(py, self.opened.select(py, Asked { selector, between }, max_memory)?)
    }

    /// Returns the number of blocks whose series may be in results although they had no data in a time range: the block
    /// has no columns of times, and has data outside of the range.
    fn untimed_blocks(&self, py: Python<'_>, between: (i64, i64)) -> PyResult<u64> {
        self.opened.ask(py, Asked { selector: None, between: Some(between) }, |query| query.untimed_blocks())
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

    /// Returns the numbers of series, names and values, as `Block.cardinality`. A series that several blocks have is
    /// counted once.
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

    /// Checks every rule of the format, in all blocks. Raises `CorruptBlockError` for the first that is broken.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.opened.verify(py)
    }

    fn __datafusion_table_provider__<'py>(&self, session: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
        capsules::table_provider(session, Arc::new(session.py().detach(|| self.opened.table())?.clone()))
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<chronoxide.Folder {}>", self.title()?))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let title = self.title()?;
        py.detach(|| notebook::table(&title, &self.opened.blocks)).map_err(Raise::raise)
    }
}
