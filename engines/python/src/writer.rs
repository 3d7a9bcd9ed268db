//! Class `Writer`: labelsets to a block.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chronoxide::{BlockWriter, ColumnNumber, ErrorKind, SeriesNumber, Value, ValueType, WriteOptions};
use pyo3::exceptions::{PyFileExistsError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::columns;
use crate::errors::Raise;
use crate::ingest::layout;
use crate::labels::Labels;

/// Writes a block: takes labelsets, and gives each distinct series a number.
///
/// time_range: times of the first sample and after the last one, in nanoseconds since 1970
/// layout: "factored", "bitpacked" or "fixed"
/// force: replaces an existing file
///
/// >>> writer = chronoxide.Writer()
/// >>> writer.insert({"__name__": "up", "job": "api"}), writer.insert({"__name__": "up", "job": "db"})
/// (0, 1)
/// >>> written = writer.finish("new.cx")
/// >>> chronoxide.open(written["path"])[written["refs"][1]]
/// {'__name__': 'up', 'job': 'db'}
#[pyclass(frozen, module = "chronoxide", name = "Writer")]
pub(crate) struct PyWriter {
    /// `None` after the block was written.
    writer: Mutex<Option<Writing>>,
}

/// A block that is not written yet.
struct Writing {
    writer: BlockWriter,
    /// Types of the columns, by their numbers.
    types: Vec<ValueType>,
}

impl PyWriter {
    fn lock(&self) -> MutexGuard<'_, Option<Writing>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("the block was written: make another Writer")
}

#[pymethods]
impl PyWriter {
    #[new]
    #[pyo3(signature = (*, time_range=None, layout="factored", force=false))]
    fn new(time_range: Option<(i64, i64)>, layout: &str, force: bool) -> PyResult<Self> {
        let options = WriteOptions::new().layout(self::layout(layout)?).replace(force);
        let options = match time_range {
            Some((start, end)) => options.time(start, end),
            None => options,
        };
        let writing = Writing { writer: BlockWriter::with_options(options), types: Vec::new() };
        Ok(Self { writer: Mutex::new(Some(writing)) })
    }

    /// Adds a series, and returns its number; that of the first time for a series that is there. Labels with an empty
    /// value are ignored.
    fn insert(&self, labels: Labels) -> PyResult<u32> {
        let mut writing = self.lock();
        let writing = writing.as_mut().ok_or_else(finished)?;
        Ok(writing.writer.insert(labels.iter()).map_err(Raise::raise)?.0)
    }

    /// Adds a column of values, and returns its number.
    ///
    /// name: a name without a point is for private use, others begin with a namespace, as in "app.chunks"
    /// type: "i64", "u64" or "bytes"
    /// merge: the way to combine the values of series that become one, and those that `set` gives one series: "drop",
    ///     "same", "min", "max", "sum", "or" or "newest"
    /// unit: a number that all values are multiples of: larger units take fewer bytes
    #[pyo3(signature = (name, r#type, merge, *, unit=1))]
    fn add_column(&self, name: &str, r#type: &str, merge: &str, unit: u64) -> PyResult<u32> {
        let (value_type, merge) = (columns::value_type(r#type)?, columns::merge(merge)?);
        let mut writing = self.lock();
        let writing = writing.as_mut().ok_or_else(finished)?;
        let column = writing.writer.add_column_of(name, value_type, merge, unit).map_err(Raise::raise)?;
        writing.types.push(value_type);
        Ok(column.0)
    }

    /// Gives a series a value, an int or bytes. `column` and `series` are numbers that `add_column` and `insert`
    /// returned. If the series has a value, both are combined in the way of the column: set the time of each sample,
    /// and a column that merges by "min" has the first.
    fn set(&self, column: u32, series: u32, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut writing = self.lock();
        let writing = writing.as_mut().ok_or_else(finished)?;
        let unknown = || PyValueError::new_err(format!("there is no column {column}"));
        let bytes: Vec<u8>;
        let value = match writing.types.get(column as usize).ok_or_else(unknown)? {
            ValueType::I64 => Value::I64(value.extract()?),
            ValueType::U64 => Value::U64(value.extract()?),
            ValueType::Bytes => {
                bytes = value.cast::<PyBytes>()?.as_bytes().to_vec();
                Value::Bytes(&bytes)
            }
        };
        writing.writer.set(ColumnNumber(column), SeriesNumber(series), value).map_err(Raise::raise)
    }

    fn __len__(&self) -> usize {
        self.lock().as_ref().map_or(0, |writing| writing.writer.len())
    }

    /// Writes the block to a file, whole or not at all. Returns a dict: its `path` and `id`, its size `nbytes`, and
    /// `refs`, the ref of each series by its number. After an error, the writer still has its series.
    fn finish<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
        let written = py.detach(|| {
            // Held without Python's lock: who waits for this one may hold that.
            let mut writing = self.lock();
            let writer = &writing.as_ref().ok_or_else(finished)?.writer;
            let written = writer.finish(&path).map_err(|error| match error.kind() {
                ErrorKind::Exists => PyFileExistsError::new_err(format!("{error} (force=True replaces it)")),
                _ => error.raise(),
            })?;
            *writing = None;
            Ok::<_, PyErr>(written)
        })?;
        let dict = PyDict::new(py);
        dict.set_item("path", &written.path)?;
        dict.set_item("id", written.block.to_string())?;
        dict.set_item("nbytes", written.byte_len)?;
        dict.set_item("refs", written.refs().to_vec())?;
        Ok(dict)
    }
}
