//! Class `Batches`: record batches for any consumer of Arrow.

use std::collections::{BTreeSet, VecDeque};

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::error::ArrowError;
use chronoxide_arrow::{Batches, Column, Guarded, Scan, Strings, schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::capsules;
use crate::errors::Raise;
use crate::table::Part;

/// Columns, order and size of record batches.
pub(crate) struct Shape {
    /// Names of labels; `None` for all.
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) as_map: bool,
    pub(crate) dictionaries: bool,
    pub(crate) in_label_order: bool,
    pub(crate) batch_size: usize,
    pub(crate) limit: Option<u64>,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            columns: None,
            as_map: false,
            dictionaries: true,
            in_label_order: false,
            batch_size: Scan::DEFAULT_BATCH_SIZE,
            limit: None,
        }
    }
}

/// Series as record batches of Arrow. Each consumer reads them from the beginning.
#[pyclass(frozen, module = "chronoxide", name = "Batches")]
pub(crate) struct PyBatches {
    /// Scans of one block each, read one after the other.
    scans: Vec<Scan>,
    columns: Vec<Column>,
    strings: Strings,
    limit: u64,
}

impl PyBatches {
    /// Describes the batches of parts.
    pub(crate) fn new(parts: Vec<Part>, has_block_column: bool, shape: &Shape) -> PyResult<Self> {
        if shape.as_map && shape.columns.is_some() {
            return Err(PyValueError::new_err("as_map has all labels: leave out columns"));
        }
        if shape.batch_size == 0 {
            return Err(PyValueError::new_err("batch_size must be at least 1"));
        }
        let mut labels = match &shape.columns {
            Some(columns) => columns.clone(),
            None => Vec::new(),
        };
        if shape.columns.is_none() && !shape.as_map {
            let mut names = BTreeSet::new();
            for (table, _) in &parts {
                names.extend(table.label_names().map_err(Raise::raise)?);
            }
            labels.extend(names);
        }
        let names = || labels.iter().map(String::as_str);
        let mut columns = Vec::with_capacity(labels.len() + 2);
        if has_block_column {
            columns.push(Column::block_id().beside(names()));
        }
        columns.push(Column::series_ref().beside(names()));
        if shape.as_map {
            columns.push(Column::labels());
        }
        columns.extend(labels.into_iter().map(Column::label));
        let strings = if shape.dictionaries { Strings::Dictionary } else { Strings::View };
        schema(&columns, strings).map_err(Raise::raise)?;

        let scan = |(table, selection): Part| {
            let scan = table.scan().with_columns(columns.clone()).with_batch_size(shape.batch_size);
            let scan = if shape.in_label_order { scan.in_label_order() } else { scan };
            match selection {
                Some(selection) => scan.with_selection(selection),
                None => scan,
            }
        };
        let scans = parts.into_iter().map(scan).collect();
        Ok(Self { scans, columns, strings, limit: shape.limit.unwrap_or(u64::MAX) })
    }

    fn reader(&self, strings: Strings) -> PyResult<Chained> {
        let scans = self.scans.iter().map(|scan| scan.clone().with_strings(strings)).collect();
        let schema = schema(&self.columns, strings).map_err(Raise::raise)?;
        Ok(Chained { schema, scans, current: None, left: self.limit })
    }
}

#[pymethods]
impl PyBatches {
    /// Consumers that ask for a schema without dictionaries get strings.
    #[pyo3(signature = (requested_schema=None))]
    pub(crate) fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let strings = match requested_schema.map(capsules::requested).transpose()? {
            Some(requested) if !has_dictionaries(&requested) => Strings::View,
            _ => self.strings,
        };
        capsules::stream(py, Box::new(Guarded::new(self.reader(strings)?)))
    }

    pub(crate) fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsules::schema(py, &*schema(&self.columns, self.strings).map_err(Raise::raise)?)
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(Column::name).collect();
        format!("<chronoxide.Batches: {}>", names.join(", "))
    }
}

fn has_dictionaries(schema: &Schema) -> bool {
    schema.fields().iter().any(|field| matches!(field.data_type(), DataType::Dictionary(..)))
}

/// Batches of several scans.
struct Chained {
    schema: SchemaRef,
    scans: VecDeque<Scan>,
    current: Option<Batches>,
    /// Maximum number of series that are still to come.
    left: u64,
}

impl Chained {
    fn take(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        loop {
            if let Some(batches) = &mut self.current
                && let Some(batch) = batches.next()
            {
                let batch = batch?;
                self.left = self.left.saturating_sub(batch.num_rows() as u64);
                return Ok(Some(batch));
            }
            self.current = None;
            let Some(scan) = self.scans.pop_front().filter(|_| self.left > 0) else { return Ok(None) };
            self.current = Some(scan.with_limit(self.left).batches()?);
        }
    }
}

impl Iterator for Chained {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let taken = self.take();
        if taken.is_err() {
            self.scans.clear();
            self.current = None;
        }
        taken.transpose()
    }
}

impl RecordBatchReader for Chained {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
