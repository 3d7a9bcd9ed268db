//! Series as dicts, and iterators over them.

use std::sync::{Mutex, PoisonError};

use chronoxide::{Blocks, Label, OwnedRows, Selection, SeriesId};
use pyo3::exceptions::{PyIndexError, PyOverflowError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyString};

use crate::errors::Raise;

/// Returns labels as a dict, in their order.
fn dict<'py>(py: Python<'py>, labels: &[Label<'_>]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for label in labels {
        // A block has few names, and each is repeated in many series.
        dict.set_item(PyString::intern(py, label.name), label.value)?;
    }
    Ok(dict)
}

/// Number of items between two looks for Ctrl-C.
const ITEMS_PER_LOOK: usize = 4096;

/// Returns item `index` of a sequence of series, or the items of a slice. `id` returns the id at a position.
pub(crate) fn get_item<'py>(
    index: &Bound<'py, PyAny>,
    blocks: &Blocks,
    len: usize,
    id: impl Fn(usize) -> Option<SeriesId>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = index.py();
    let mut reader = blocks.reader();
    let mut item = |position| {
        let labels = id(position).map(|id| reader.labels(id)).transpose().map_err(Raise::raise)?;
        dict(py, labels.flatten().unwrap_or_default())
    };
    if let Ok(slice) = index.cast::<PySlice>() {
        let indices = slice.indices(isize::try_from(len)?)?;
        let positions = (0..indices.slicelength).map(|number| indices.start + number as isize * indices.step);
        let mut items = Vec::new();
        for position in positions {
            if items.len() % ITEMS_PER_LOOK == 0 {
                py.check_signals()?;
            }
            items.push(item(usize::try_from(position)?)?);
        }
        return Ok(PyList::new(py, items)?.into_any());
    }
    let number = match index.extract::<isize>() {
        Err(error) if !error.is_instance_of::<PyOverflowError>(py) => return Err(error),
        number => number.ok(),
    };
    let position = number.and_then(|number| if number < 0 { number.checked_add_unsigned(len) } else { Some(number) });
    match position.and_then(|position| usize::try_from(position).ok()).filter(|position| *position < len) {
        Some(position) => Ok(item(position)?.into_any()),
        None => Err(PyIndexError::new_err(format!("index {index} is out of range: there are {len} series"))),
    }
}

/// Iterator over the labels of series, as dicts.
#[pyclass(frozen, module = "chronoxide", name = "SeriesIterator")]
pub(crate) struct PySeriesIterator {
    rows: Mutex<OwnedRows>,
}

impl PySeriesIterator {
    pub(crate) fn new(selection: Selection) -> Self {
        Self { rows: Mutex::new(selection.into_series()) }
    }
}

#[pymethods]
impl PySeriesIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    pub(crate) fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let series = rows.next().map_err(Raise::raise)?;
        series.map(|series| dict(py, series.labels())).transpose()
    }
}
