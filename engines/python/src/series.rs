//! Series as dicts, and iterators over them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use chronoxide_reader::{Block, Error, SeriesRef};
use chronoxide_select::Selection;
use pyo3::exceptions::{PyIndexError, PyOverflowError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyString};

use crate::errors::Raise;

/// Returns the labels of a series as a dict, in the order of names, or `None` if its ref is out of range.
pub(crate) fn labels<'py>(py: Python<'py>, block: &Block, series: SeriesRef) -> PyResult<Option<Bound<'py, PyDict>>> {
    let damaged = |error: Error| block.locate(error).raise();
    let view = block.view();
    let Some(found) = view.series(series).map_err(damaged)? else { return Ok(None) };
    let dict = PyDict::new(py);
    for label in view.text().map_err(damaged)?.labels(&found) {
        let label = label.map_err(damaged)?;
        // A block has few names, and each is repeated in many series.
        dict.set_item(PyString::intern(py, label.name), label.value)?;
    }
    Ok(Some(dict))
}

/// Number of items between two looks for Ctrl-C.
const ITEMS_PER_LOOK: usize = 4096;

/// Returns item `index` of a sequence of series, or the items of a slice. `item` returns one by its position.
pub(crate) fn get_item<'py>(
    index: &Bound<'py, PyAny>,
    len: usize,
    item: impl Fn(usize) -> PyResult<Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = index.py();
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
    ranges: Mutex<VecDeque<(Block, Range<SeriesRef>)>>,
}

impl PySeriesIterator {
    /// Creates an iterator over selected series of blocks.
    pub(crate) fn new<'s>(parts: impl IntoIterator<Item = (&'s Block, &'s Selection)>) -> Self {
        let ranges =
            |(block, selection): (&'s Block, &'s Selection)| selection.ranges().map(|range| (block.clone(), range));
        Self { ranges: Mutex::new(parts.into_iter().flat_map(ranges).collect()) }
    }

    /// Takes the next series.
    fn take(&self) -> Option<(Block, SeriesRef)> {
        let mut ranges = self.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (block, range) = ranges.front_mut()?;
            if range.start < range.end {
                let series = range.start;
                range.start = SeriesRef(series.0 + 1);
                return Some((block.clone(), series));
            }
            ranges.pop_front();
        }
    }
}

#[pymethods]
impl PySeriesIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    pub(crate) fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        match self.take() {
            Some((block, series)) => labels(py, &block, series),
            None => Ok(None),
        }
    }
}
