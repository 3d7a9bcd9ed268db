//! Class `Folder`: the live blocks of a folder.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use chronoxide_datafusion::SeriesTable;
use chronoxide_reader::{Block, FileError};
use chronoxide_select::{BlockSet, Partial, SelectError, Selection};
use chronoxide_text::human;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::block::{OpenBlock, PyBlock, reopened};
use crate::capsules;
use crate::counts::cardinality;
use crate::errors::{Raise, raise_open};
use crate::labels::{Labels, limits, matchers, parse_optional, texts};
use crate::notebook;
use crate::selection::{PyFolderSelection, Selected};
use crate::series::PySeriesIterator;
use crate::table::{Part, PyTable, Rows};

/// The blocks of a folder, and their table when it was needed.
struct OpenFolder {
    path: PathBuf,
    set: BlockSet,
    /// Made by the first query, with the indexes of the blocks.
    table: OnceLock<SeriesTable>,
}

impl OpenFolder {
    /// Returns the blocks as a table. The first call makes their indexes.
    fn table(&self) -> PyResult<&SeriesTable> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let made = SeriesTable::from_set(&self.set).map_err(Raise::raise)?;
        Ok(self.table.get_or_init(|| made))
    }

    fn blocks(&self) -> Vec<Block> {
        self.set.blocks().iter().map(|block| block.block().clone()).collect()
    }

    fn series_count(&self) -> PyResult<usize> {
        self.set.blocks().iter().try_fold(0, |sum, block| {
            let count = block.block().view().series_count();
            Ok(sum + count.map_err(|error| block.block().locate(error).raise())? as usize)
        })
    }

    fn title(&self) -> PyResult<String> {
        let series = format!("{} series", human::count(self.series_count()? as u64));
        let blocks = human::count_of(self.set.blocks().len() as u64, "block");
        Ok(format!("{}: {blocks}, {series}", self.path.display()))
    }
}

impl Rows for OpenFolder {
    fn parts(&self) -> PyResult<Vec<Part>> {
        Ok(self.table()?.blocks().iter().map(|table| (table.clone(), None)).collect())
    }

    fn has_block_column(&self) -> bool {
        true
    }
}

/// The live blocks of a folder, as they were when it was opened: blocks that a compaction replaced are left out.
///
/// `len(folder)` is the number of series of all blocks, and iteration yields their labels; a series that several blocks
/// have appears once per block. Like a block, a folder is a table for libraries that read Arrow, and for DataFusion. It
/// has one more column `block` of block ids.
///
/// A damaged block is an error: a result would silently lack its series.
#[pyclass(frozen, extends = PyTable, module = "chronoxide", name = "Folder")]
pub(crate) struct PyFolder {
    open: Arc<OpenFolder>,
}

impl PyFolder {
    /// Creates the object, unless a file is not a valid block.
    pub(crate) fn create(py: Python<'_>, path: PathBuf, set: BlockSet) -> PyResult<Bound<'_, Self>> {
        if let Some((_, error)) = set.unreadable().first() {
            return Err(raise_open(error));
        }
        let open = Arc::new(OpenFolder { path, set, table: OnceLock::new() });
        let table = PyTable::new(Arc::clone(&open) as Arc<dyn Rows>);
        Bound::new(py, (Self { open }, table))
    }

    fn set(&self) -> &BlockSet {
        &self.open.set
    }
}

/// Returns a result, unless a block is damaged.
fn whole<T>(partial: Partial<T>) -> PyResult<T> {
    check(&partial.failed)?;
    Ok(partial.found)
}

fn check(failed: &[FileError<SelectError>]) -> PyResult<()> {
    failed.first().map_or(Ok(()), |error| Err(error.clone().raise()))
}

#[pymethods]
impl PyFolder {
    /// Path of the folder, as it was given.
    #[getter]
    fn path(&self) -> PathBuf {
        self.open.path.clone()
    }

    /// The live blocks.
    #[getter]
    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBlock>>> {
        let tables = py.detach(|| self.open.table())?.blocks();
        tables.iter().map(|table| PyBlock::create(py, OpenBlock::from_table(table))).collect()
    }

    fn __len__(&self) -> PyResult<usize> {
        self.open.series_count()
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<PySeriesIterator> {
        let tables = py.detach(|| self.open.table())?.blocks();
        let all: Vec<_> = tables.iter().map(|table| (table.block(), table.all())).collect();
        Ok(PySeriesIterator::new(all.iter().map(|(block, selection)| (*block, selection))))
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
        let found = whole(py.detach(|| self.set().query().find(labels.pairs())).map_err(Raise::raise)?)?;
        let blocks = self.set().blocks();
        Ok(found.iter().map(|place| (blocks[place.block].id().to_string(), place.series.0)).collect())
    }

    /// Returns the series that a PromQL selector selects; all if there is none.
    ///
    /// Fails with MemoryError if the refs of the series take more than `max_memory` bytes, 1 GiB unless given: 8 bytes
    /// per range of refs.
    #[pyo3(signature = (selector=None, *, max_memory=None))]
    fn select<'py>(
        &self,
        py: Python<'py>,
        selector: Option<&str>,
        max_memory: Option<u64>,
    ) -> PyResult<Bound<'py, PyFolderSelection>> {
        let selector = parse_optional(selector)?;
        let query = self.set().query().with_limits(limits(max_memory));
        let parts = py.detach(|| {
            let selected = query.select(matchers(&selector)).map_err(Raise::raise)?;
            check(selected.failed())?;
            let tables = self.open.table()?.blocks();
            let mut series = vec![Selection::default(); tables.len()];
            for block in selected.blocks() {
                series[block.block] = block.series.clone();
            }
            let parts = tables.iter().zip(series);
            Ok::<_, PyErr>(parts.map(|(table, series)| Selected::new(&OpenBlock::from_table(table), series)).collect())
        })?;
        PyFolderSelection::create(py, parts)
    }

    /// Returns the names of labels, in byte order: all, or those of selected series.
    #[pyo3(signature = (selector=None))]
    fn label_names(&self, py: Python<'_>, selector: Option<&str>) -> PyResult<Vec<String>> {
        let selector = parse_optional(selector)?;
        texts(whole(py.detach(|| self.set().query().label_names(matchers(&selector))).map_err(Raise::raise)?)?, None)
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
        let values = py.detach(|| self.set().query().label_values(name, matchers(&selector), limit));
        texts(whole(values.map_err(Raise::raise)?)?, None)
    }

    /// Returns the numbers of series, names and values, as `Block.cardinality`. A series that several blocks have is
    /// counted once.
    #[pyo3(signature = (selector=None, *, limit=Some(10)), text_signature = "($self, selector=None, *, limit=10)")]
    fn cardinality<'py>(
        &self,
        py: Python<'py>,
        selector: Option<&str>,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        cardinality(py, &self.open.blocks(), parse_optional(selector)?, limit)
    }

    /// Checks every rule of the format, in all blocks. Raises `CorruptBlockError` for the first that is broken.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            self.open
                .blocks()
                .iter()
                .try_for_each(|block| block.verify().map(|_| ()).map_err(|error| block.locate(error).raise()))
        })
    }

    fn __datafusion_table_provider__<'py>(&self, session: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
        capsules::table_provider(session, Arc::new(session.py().detach(|| self.open.table())?.clone()))
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<chronoxide.Folder {}>", self.open.title()?))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        notebook::table(&self.open.title()?, py.detach(|| self.open.table())?.blocks())
    }
}
