//! Class `Batches`: record batches for any consumer of Arrow.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use arrow::error::ArrowError;
use chronoxide_arrow::{Batches, Column, Guarded, Scan, Strings, schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::capsules;
use crate::errors::Raise;
use crate::table::Part;

/// Type of the strings of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StringType {
    Dictionary,
    View,
    /// Copied, for consumers without views.
    Utf8,
}

impl StringType {
    pub(crate) fn from_name(name: &str) -> PyResult<Self> {
        match name {
            "dictionary" => Ok(Self::Dictionary),
            "view" => Ok(Self::View),
            "utf8" => Ok(Self::Utf8),
            _ => Err(PyValueError::new_err(format!("strings: {name:?} is not one of 'dictionary', 'view', 'utf8'"))),
        }
    }

    /// Returns the type of strings that blocks hand over.
    fn of_block(self) -> Strings {
        match self {
            Self::Dictionary => Strings::Dictionary,
            Self::View | Self::Utf8 => Strings::View,
        }
    }
}

/// Columns, order and size of record batches.
pub(crate) struct Shape {
    /// Names of labels; `None` for all.
    pub(crate) labels: Option<Vec<String>>,
    pub(crate) as_map: bool,
    pub(crate) strings: StringType,
    pub(crate) in_label_order: bool,
    pub(crate) batch_size: usize,
    pub(crate) limit: Option<u64>,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            labels: None,
            as_map: false,
            strings: StringType::Dictionary,
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
    strings: StringType,
    limit: u64,
}

impl PyBatches {
    /// Describes the batches of parts.
    pub(crate) fn new(parts: Vec<Part>, has_block_column: bool, shape: &Shape) -> PyResult<Self> {
        if shape.as_map && shape.labels.is_some() {
            return Err(PyValueError::new_err("as_map has all labels: leave out labels"));
        }
        if shape.batch_size == 0 {
            return Err(PyValueError::new_err("batch_size must be at least 1"));
        }
        let mut known = BTreeSet::new();
        for (table, _) in &parts {
            known.extend(table.label_names().map_err(Raise::raise)?);
        }
        let reserved = |name: &&String| ["series_ref", "block"].contains(&name.as_str()) && !known.contains(*name);
        if let Some(name) = shape.labels.iter().flatten().find(reserved) {
            return Err(PyValueError::new_err(format!("{name} is not a label; its column is always there")));
        }
        let labels = match &shape.labels {
            _ if shape.as_map => Vec::new(),
            Some(labels) => labels.clone(),
            None => known.into_iter().collect(),
        };
        let own = has_block_column.then(Column::block_id).into_iter().chain([Column::series_ref()]);
        let own = own.chain(shape.as_map.then(Column::labels));
        let columns: Vec<Column> = Column::with_labels(own, labels).into_iter().map(Column::without_nul).collect();
        schema(&columns, shape.strings.of_block()).map_err(Raise::raise)?;

        let scan = |(table, selection): Part| {
            let scan = table.scan().with_columns(columns.clone()).with_batch_size(shape.batch_size);
            let scan = if shape.in_label_order { scan.in_label_order() } else { scan };
            match selection {
                Some(selection) => scan.with_selection(selection),
                None => scan,
            }
        };
        let scans = parts.into_iter().map(scan).collect();
        Ok(Self { scans, columns, strings: shape.strings, limit: shape.limit.unwrap_or(u64::MAX) })
    }

    fn schema(&self, strings: StringType) -> PyResult<SchemaRef> {
        let schema = schema(&self.columns, strings.of_block()).map_err(Raise::raise)?;
        Ok(if strings == StringType::Utf8 { Arc::new(copied_schema(&schema)) } else { schema })
    }

    fn reader(&self, strings: StringType) -> PyResult<Chained> {
        let scans = self.scans.iter().map(|scan| scan.clone().with_strings(strings.of_block())).collect();
        Ok(Chained { schema: self.schema(strings)?, scans, current: None, left: self.limit })
    }
}

#[pymethods]
impl PyBatches {
    /// Consumers that ask for another type of strings get it; other wishes of their schema are ignored.
    #[pyo3(signature = (requested_schema=None))]
    pub(crate) fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let requested = requested_schema.map(capsules::requested_strings).transpose()?;
        let strings = requested.flatten().unwrap_or(self.strings);
        capsules::stream(py, Box::new(Guarded::new(self.reader(strings)?)))
    }

    pub(crate) fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsules::schema(py, &*self.schema(self.strings)?)
    }

    fn __repr__(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|column| column.name().escape_debug().collect()).collect();
        format!("<chronoxide.Batches: {}>", names.join(", "))
    }
}

/// Returns a schema with views of strings replaced by strings.
fn copied_schema(schema: &Schema) -> Schema {
    Schema::new(schema.fields().iter().map(|field| copied_field(field)).collect::<Vec<_>>())
}

fn copied_field(field: &Field) -> Field {
    let copied = |fields: &Fields| fields.iter().map(|field| copied_field(field)).collect::<Fields>();
    let data_type = match field.data_type() {
        DataType::Utf8View => DataType::Utf8,
        DataType::Map(entries, is_sorted) => DataType::Map(Arc::new(copied_field(entries)), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(copied(fields)),
        other => other.clone(),
    };
    field.clone().with_data_type(data_type)
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
                if batch.schema() == self.schema {
                    return Ok(Some(batch));
                }
                let columns = batch.columns().iter().zip(self.schema.fields());
                let columns =
                    columns.map(|(column, field)| cast(column, field.data_type())).collect::<Result<_, _>>()?;
                return RecordBatch::try_new(Arc::clone(&self.schema), columns).map(Some);
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
