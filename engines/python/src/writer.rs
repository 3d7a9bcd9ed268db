//! Class `Writer`: labelsets to a block.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chronoxide::{BlockWriter, ErrorKind, WriteOptions};
use pyo3::exceptions::{PyFileExistsError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

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
    writer: Mutex<Option<BlockWriter>>,
}

impl PyWriter {
    fn lock(&self) -> MutexGuard<'_, Option<BlockWriter>> {
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
        Ok(Self { writer: Mutex::new(Some(BlockWriter::with_options(options))) })
    }

    /// Adds a series, and returns its number; that of the first time for a series that is there. Labels with an empty
    /// value are ignored.
    fn insert(&self, labels: Labels) -> PyResult<u32> {
        let mut writer = self.lock();
        let writer = writer.as_mut().ok_or_else(finished)?;
        Ok(writer.insert(labels.iter()).map_err(Raise::raise)?.0)
    }

    fn __len__(&self) -> usize {
        self.lock().as_ref().map_or(0, BlockWriter::len)
    }

    /// Writes the block to a file, whole or not at all. Returns a dict: its `path` and `id`, its size `nbytes`, and
    /// `refs`, the ref of each series by its number. After an error, the writer still has its series.
    fn finish<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
        let written = py.detach(|| {
            // Held without Python's lock: who waits for this one may hold that.
            let mut writer = self.lock();
            let written = writer.as_ref().ok_or_else(finished)?.finish(&path).map_err(|error| match error.kind() {
                ErrorKind::Exists => PyFileExistsError::new_err(format!("{error} (force=True replaces it)")),
                _ => error.raise(),
            })?;
            *writer = None;
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
