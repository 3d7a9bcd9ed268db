//! Class `Batches`: record batches for any consumer of Arrow.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use arrow::error::ArrowError;
use chronoxide::{BatchOptions, Selection};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::capsules;
use crate::errors::Raise;

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
}

/// Columns, order and size of record batches.
pub(crate) struct Shape {
    /// Names of labels; `None` for all.
    pub(crate) labels: Option<Vec<String>>,
    /// Names of series columns.
    pub(crate) values: Vec<String>,
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
            values: Vec::new(),
            as_map: false,
            strings: StringType::Dictionary,
            in_label_order: false,
            batch_size: BatchOptions::DEFAULT_BATCH_SIZE,
            limit: None,
        }
    }
}

/// Series as record batches of Arrow. Each consumer reads them from the beginning.
#[pyclass(frozen, module = "chronoxide", name = "Batches")]
pub(crate) struct PyBatches {
    selection: Selection,
    options: BatchOptions,
    strings: StringType,
}

impl PyBatches {
    /// Describes the batches of selected series.
    pub(crate) fn new(selection: Selection, shape: &Shape) -> PyResult<Self> {
        if shape.as_map && shape.labels.is_some() {
            return Err(PyValueError::new_err("as_map has all labels: leave out labels"));
        }
        if shape.batch_size == 0 {
            return Err(PyValueError::new_err("batch_size must be at least 1"));
        }
        let blocks = selection.blocks();
        let mut options = BatchOptions::new()
            .block_ids(blocks.is_folder())
            .as_map(shape.as_map)
            .values(&shape.values)
            .sorted(shape.in_label_order)
            .batch_size(shape.batch_size);
        if let Some(limit) = shape.limit {
            options = options.limit(limit);
        }
        if let Some(labels) = &shape.labels {
            let known = blocks.query("{}").and_then(|query| query.label_names()).map_err(Raise::raise)?;
            let reserved =
                |name: &&String| ["series_ref", "block"].contains(&name.as_str()) && !known.contains(&name.as_str());
            if let Some(name) = labels.iter().find(reserved) {
                return Err(PyValueError::new_err(format!("{name} is not a label; its column is always there")));
            }
            options = options.labels(labels);
        }
        let batches = Self { selection, options, strings: shape.strings };
        batches.reader(shape.strings)?;
        Ok(batches)
    }

    fn reader(&self, strings: StringType) -> PyResult<Converted> {
        let options = self.options.clone().without_dictionaries(strings != StringType::Dictionary);
        let batches = self.selection.batches(&options).map_err(Raise::raise)?;
        let schema = batches.schema();
        let schema = if strings == StringType::Utf8 { Arc::new(copied_schema(&schema)) } else { schema };
        Ok(Converted { schema, batches })
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
        capsules::stream(py, Box::new(self.reader(strings)?))
    }

    pub(crate) fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsules::schema(py, &self.reader(self.strings)?.schema)
    }

    fn __repr__(&self) -> PyResult<String> {
        let schema = self.reader(self.strings)?.schema;
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().escape_debug().collect()).collect();
        Ok(format!("<chronoxide.Batches: {}>", names.join(", ")))
    }
}

/// Returns a schema with views of strings and bytes replaced by strings and bytes.
fn copied_schema(schema: &Schema) -> Schema {
    Schema::new(schema.fields().iter().map(|field| copied_field(field)).collect::<Vec<_>>())
}

fn copied_field(field: &Field) -> Field {
    let copied = |fields: &Fields| fields.iter().map(|field| copied_field(field)).collect::<Fields>();
    let data_type = match field.data_type() {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Map(entries, is_sorted) => DataType::Map(Arc::new(copied_field(entries)), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(copied(fields)),
        other => other.clone(),
    };
    field.clone().with_data_type(data_type)
}

/// Batches whose strings are copied if the schema says so.
struct Converted {
    schema: SchemaRef,
    batches: chronoxide::Batches,
}

impl Iterator for Converted {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        if self.batches.schema() == self.schema {
            return Some(batch);
        }
        Some(batch.and_then(|batch| {
            let columns = batch.columns().iter().zip(self.schema.fields());
            let columns = columns.map(|(column, field)| cast(column, field.data_type())).collect::<Result<_, _>>()?;
            RecordBatch::try_new(Arc::clone(&self.schema), columns)
        }))
    }
}

impl RecordBatchReader for Converted {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
