//! Class `Table`: base class of everything whose rows are series.

use std::sync::Arc;

use chronoxide::Selection;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::batches::{PyBatches, Shape, StringType};

/// Origin of the rows of a table.
pub(crate) trait Rows: Send + Sync {
    /// Returns the series. May open indexes.
    fn selection(&self) -> PyResult<Selection>;
}

/// Series as rows, for libraries that read Arrow: base class of blocks, folders and selections.
#[pyclass(frozen, subclass, module = "chronoxide", name = "Table")]
pub(crate) struct PyTable {
    rows: Arc<dyn Rows>,
}

impl PyTable {
    pub(crate) fn new(rows: Arc<dyn Rows>) -> Self {
        Self { rows }
    }

    /// Returns the series.
    pub(crate) fn selection(&self) -> PyResult<Selection> {
        self.rows.selection()
    }

    fn shaped(&self, py: Python<'_>, shape: &Shape) -> PyResult<PyBatches> {
        py.detach(|| PyBatches::new(self.rows.selection()?, shape))
    }
}

#[pymethods]
impl PyTable {
    /// Returns the series as record batches of Arrow, which any library that reads Arrow takes.
    ///
    /// labels: names of labels, each a column beside `series_ref`; all labels if None. A label that no series has is a
    ///     column of nulls
    /// values: names of series columns, each a column behind the labels, and `chronoxide.fingerprint` for 16 bytes that
    ///     are the same for equal labels in every block. Integers are `int64` or `uint64`, times
    ///     (`chronoxide.first_time` and `chronoxide.last_time`) `timestamp[ns, UTC]`, bytes `binary_view`; null if a
    ///     series has no value
    /// as_map: one column `labels` with a map of all labels, instead of a column per label
    /// strings: type of labels: "dictionary" (dictionary<uint32, string_view>), "view" (string_view), or "utf8"
    ///     (string, and binary for bytes), which copies them
    /// in_label_order: sorts the series of each block by their labels instead of their refs
    /// batch_size: number of series per batch
    /// limit: maximum number of series
    ///
    /// >>> import pyarrow
    /// >>> block = chronoxide.open("week.cx")
    /// >>> table = pyarrow.table(block.select('up{pod=~".+"}').batches(["pod"]))
    /// >>> table["pod"].to_pylist()
    /// ['api-1', 'api-2', 'db-1']
    #[pyo3(signature = (
        labels=None, *, values=None, as_map=false, strings="dictionary", in_label_order=false, batch_size=8192, limit=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn batches(
        &self,
        py: Python<'_>,
        labels: Option<Vec<String>>,
        values: Option<Vec<String>>,
        as_map: bool,
        strings: &str,
        in_label_order: bool,
        batch_size: usize,
        limit: Option<u64>,
    ) -> PyResult<PyBatches> {
        let (values, strings) = (values.unwrap_or_default(), StringType::from_name(strings)?);
        self.shaped(py, &Shape { labels, values, as_map, strings, in_label_order, batch_size, limit })
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.shaped(py, &Shape::default())?.__arrow_c_stream__(py, requested_schema)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        self.shaped(py, &Shape::default())?.__arrow_c_schema__(py)
    }
}
