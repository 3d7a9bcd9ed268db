//! Classes `Selection` and `FolderSelection`: selected series.

use std::sync::Arc;

use chronoxide_reader::{Block, SeriesRef};
use chronoxide_select::Selection;
use chronoxide_text::human;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::block::{OpenBlock, PyBlock};
use crate::labels::Labels;
use crate::notebook;
use crate::series::{self, PySeriesIterator};
use crate::table::{Part, PyTable, Rows};

/// Selected series of a block.
pub(crate) struct Selected {
    open: Arc<OpenBlock>,
    selection: Selection,
}

impl Selected {
    pub(crate) fn new(open: &Arc<OpenBlock>, selection: Selection) -> Arc<Self> {
        Arc::new(Self { open: Arc::clone(open), selection })
    }

    fn block(&self) -> &Block {
        self.open.block()
    }
}

impl Rows for Selected {
    fn parts(&self) -> PyResult<Vec<Part>> {
        Ok(vec![(self.open.table()?.clone(), Some(self.selection.clone()))])
    }
}

/// Selected series of a block, in the order of their refs.
///
/// Selections of one block can be united (`|`), intersected (`&`) and subtracted (`-`). A selection is a sequence of
/// labels and a table, as its block is.
#[pyclass(frozen, extends = PyTable, module = "chronoxide", name = "Selection")]
pub(crate) struct PySelection {
    selected: Arc<Selected>,
}

impl PySelection {
    pub(crate) fn create<'py>(
        py: Python<'py>,
        open: &Arc<OpenBlock>,
        selection: Selection,
    ) -> PyResult<Bound<'py, Self>> {
        Self::from_selected(py, Selected::new(open, selection))
    }

    fn from_selected(py: Python<'_>, selected: Arc<Selected>) -> PyResult<Bound<'_, Self>> {
        let table = PyTable::new(Arc::clone(&selected) as Arc<dyn Rows>);
        Bound::new(py, (Self { selected }, table))
    }

    fn combined<'py>(
        &self,
        py: Python<'py>,
        other: &Self,
        combine: impl FnOnce(&Selection, &Selection) -> Selection,
    ) -> PyResult<Bound<'py, Self>> {
        let (this, other) = (&self.selected, &other.selected);
        if this.block().view().block_id() != other.block().view().block_id() {
            return Err(PyValueError::new_err("the selections are of different blocks"));
        }
        // Damaged blocks of one id can have different numbers of series.
        let all = Selection::from_range(SeriesRef(0)..SeriesRef(this.open.series_count()?));
        Self::create(py, &this.open, combine(&this.selection, &other.selection).intersection(&all))
    }
}

#[pymethods]
impl PySelection {
    /// Block of the series.
    #[getter]
    fn block<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBlock>> {
        PyBlock::create(py, Arc::clone(&self.selected.open))
    }

    /// Returns the refs of the series, in order. Column `series_ref` of `batches` needs less memory.
    fn refs(&self) -> Vec<u32> {
        self.selected.selection.iter().map(|series| series.0).collect()
    }

    fn __len__(&self) -> usize {
        self.selected.selection.count() as usize
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        series::get_item(index, self.__len__(), |position| {
            let (_, rest) = self.selected.selection.split_at(u32::try_from(position)?);
            let labels = |series| series::labels(index.py(), self.selected.block(), series);
            let found = rest.iter().next().map(labels).transpose()?;
            Ok(found.flatten().unwrap_or_else(|| PyDict::new(index.py())))
        })
    }

    fn __iter__(&self) -> PySeriesIterator {
        PySeriesIterator::new([(self.selected.block(), &self.selected.selection)])
    }

    /// True if a series with exactly these labels is selected.
    fn __contains__(&self, labels: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(labels) = labels.extract::<Labels>() else { return Ok(false) };
        Ok(self.selected.open.find(&labels)?.is_some_and(|series| self.selected.selection.contains(series)))
    }

    /// True if the selections have the same series of equal blocks.
    fn __eq__(&self, other: &Self) -> bool {
        let (this, other) = (&self.selected, &other.selected);
        this.block().view().block_id() == other.block().view().block_id() && this.selection == other.selection
    }

    /// Returns true if a ref is selected.
    fn has_ref(&self, series: u32) -> bool {
        self.selected.selection.contains(SeriesRef(series))
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
        let [selected, all] = [self.__len__() as u64, self.selected.open.series_count()?.into()].map(human::count);
        Ok(format!("<chronoxide.Selection {}: {selected} of {all} series>", self.selected.open.name()))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        notebook::series(py, &self.selected.open.name(), self.__len__(), &self.__iter__())
    }
}

/// Selected series of the blocks of a folder.
struct SelectedOfFolder {
    parts: Vec<Arc<Selected>>,
}

impl Rows for SelectedOfFolder {
    fn parts(&self) -> PyResult<Vec<Part>> {
        self.parts.iter().map(|part| Ok((part.open.table()?.clone(), Some(part.selection.clone())))).collect()
    }

    fn has_block_column(&self) -> bool {
        true
    }
}

/// Selected series of the blocks of a folder. A series that several blocks have appears once per block.
#[pyclass(frozen, extends = PyTable, module = "chronoxide", name = "FolderSelection")]
pub(crate) struct PyFolderSelection {
    selected: Arc<SelectedOfFolder>,
}

impl PyFolderSelection {
    pub(crate) fn create(py: Python<'_>, parts: Vec<Arc<Selected>>) -> PyResult<Bound<'_, Self>> {
        let selected = Arc::new(SelectedOfFolder { parts });
        let table = PyTable::new(Arc::clone(&selected) as Arc<dyn Rows>);
        Bound::new(py, (Self { selected }, table))
    }
}

#[pymethods]
impl PyFolderSelection {
    /// Selections of each block, in the order of the folder's blocks. Some may be empty.
    #[getter]
    fn selections<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PySelection>>> {
        self.selected.parts.iter().map(|part| PySelection::from_selected(py, Arc::clone(part))).collect()
    }

    fn __len__(&self) -> usize {
        self.selected.parts.iter().map(|part| part.selection.count() as usize).sum()
    }

    fn __iter__(&self) -> PySeriesIterator {
        PySeriesIterator::new(self.selected.parts.iter().map(|part| (part.block(), &part.selection)))
    }

    fn __repr__(&self) -> String {
        let count = format!("{} series", human::count(self.__len__() as u64));
        let blocks = human::count_of(self.selected.parts.len() as u64, "block");
        format!("<chronoxide.FolderSelection: {count} of {blocks}>")
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        notebook::series(py, "folder", self.__len__(), &self.__iter__())
    }
}
