//! Classes `Selection` and `FolderSelection`: selected series.

use std::sync::Arc;

use chronoxide::{Error, Selection, SeriesId};
use chronoxide_text::human;
use pyo3::prelude::*;

use crate::block::{PyBlock, info, name};
use crate::errors::Raise;
use crate::labels::Labels;
use crate::notebook;
use crate::opened::Opened;
use crate::series::{self, PySeriesIterator};
use crate::table::{PyTable, Rows};

impl Rows for Selection {
    fn selection(&self) -> PyResult<Selection> {
        Ok(self.clone())
    }
}

/// Selected series of a block, in the order of their refs.
///
/// Selections of one block can be united (`|`), intersected (`&`) and subtracted (`-`). A selection is a sequence of
/// labels and a table, as its block is.
#[pyclass(frozen, extends = PyTable, module = "chronoxide", name = "Selection")]
pub(crate) struct PySelection {
    opened: Arc<Opened>,
    selection: Arc<Selection>,
}

impl PySelection {
    pub(crate) fn create<'py>(
        py: Python<'py>,
        opened: &Arc<Opened>,
        selection: Selection,
    ) -> PyResult<Bound<'py, Self>> {
        let selection = Arc::new(selection);
        let table = PyTable::new(Arc::clone(&selection) as Arc<dyn Rows>);
        Bound::new(py, (Self { opened: Arc::clone(opened), selection }, table))
    }

    fn combined<'py>(
        &self,
        py: Python<'py>,
        other: &Self,
        combine: impl FnOnce(&Selection, &Selection) -> Result<Selection, Error>,
    ) -> PyResult<Bound<'py, Self>> {
        Self::create(py, &self.opened, combine(&self.selection, &other.selection).map_err(Raise::raise)?)
    }
}

#[pymethods]
impl PySelection {
    /// Block of the series.
    #[getter]
    fn block<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBlock>> {
        PyBlock::create(py, Arc::clone(&self.opened))
    }

    /// Returns the refs of the series, in order. Column `series_ref` of `batches` needs less memory.
    fn refs(&self) -> Vec<u32> {
        self.selection.ids().map(|id| id.series).collect()
    }

    fn __len__(&self) -> usize {
        self.selection.len() as usize
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let id = |position| self.selection.nth(position as u64);
        series::get_item(index, self.selection.blocks(), self.__len__(), id)
    }

    fn __iter__(&self) -> PySeriesIterator {
        PySeriesIterator::new(Selection::clone(&self.selection))
    }

    /// True if a series with exactly these labels is selected.
    fn __contains__(&self, labels: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(labels) = labels.extract::<Labels>() else { return Ok(false) };
        let found = self.selection.blocks().find(labels.iter()).map_err(Raise::raise)?;
        Ok(found.into_iter().any(|id| self.selection.contains(id)))
    }

    /// True if the selections have the same series of equal blocks.
    fn __eq__(&self, other: &Self) -> bool {
        self.selection == other.selection
    }

    /// Returns true if a ref is selected.
    fn has_ref(&self, series: u32) -> PyResult<bool> {
        let block = info(&self.opened)?.id;
        Ok(self.selection.contains(SeriesId { block, series }))
    }

    fn __or__<'py>(&self, py: Python<'py>, other: &Self) -> PyResult<Bound<'py, Self>> {
        self.combined(py, other, Selection::union)
    }

    fn __and__<'py>(&self, py: Python<'py>, other: &Self) -> PyResult<Bound<'py, Self>> {
        self.combined(py, other, Selection::intersection)
    }

    fn __sub__<'py>(&self, py: Python<'py>, other: &Self) -> PyResult<Bound<'py, Self>> {
        self.combined(py, other, Selection::difference)
    }

    fn __repr__(&self) -> PyResult<String> {
        let [selected, all] = [self.__len__() as u64, self.opened.series_count()? as u64].map(human::count);
        Ok(format!("<chronoxide.Selection {}: {selected} of {all} series>", name(&self.opened)?))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        notebook::series(py, &name(&self.opened)?, self.__len__(), &self.__iter__())
    }
}

/// Selected series of the blocks of a folder. A series that several blocks have appears once per block.
#[pyclass(frozen, extends = PyTable, module = "chronoxide", name = "FolderSelection")]
pub(crate) struct PyFolderSelection {
    selection: Arc<Selection>,
}

impl PyFolderSelection {
    pub(crate) fn create(py: Python<'_>, selection: Selection) -> PyResult<Bound<'_, Self>> {
        let selection = Arc::new(selection);
        let table = PyTable::new(Arc::clone(&selection) as Arc<dyn Rows>);
        Bound::new(py, (Self { selection }, table))
    }
}

#[pymethods]
impl PyFolderSelection {
    /// Selections of each block, in the order of the folder's blocks. Some may be empty.
    #[getter]
    fn selections<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PySelection>>> {
        let parts = self.selection.by_block().into_iter();
        parts.map(|part| PySelection::create(py, &Opened::new(part.blocks().clone()), part)).collect()
    }

    fn __len__(&self) -> usize {
        self.selection.len() as usize
    }

    fn __iter__(&self) -> PySeriesIterator {
        PySeriesIterator::new(Selection::clone(&self.selection))
    }

    fn __repr__(&self) -> String {
        let count = format!("{} series", human::count(self.selection.len()));
        let blocks = human::count_of(self.selection.blocks().len() as u64, "block");
        format!("<chronoxide.FolderSelection: {count} of {blocks}>")
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        notebook::series(py, "folder", self.__len__(), &self.__iter__())
    }
}
