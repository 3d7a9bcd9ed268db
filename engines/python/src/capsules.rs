//! Objects of Arrow and DataFusion as capsules, by the protocols of their Python packages.

use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow::array::RecordBatchReader;
use arrow::datatypes::Schema;
use arrow::ffi::FFI_ArrowSchema;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use datafusion::catalog::TableProvider;
use datafusion_ffi::proto::logical_extension_codec::FFI_LogicalExtensionCodec;
use datafusion_ffi::table_provider::FFI_TableProvider;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::Raise;

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";
const CODEC: &CStr = c"datafusion_logical_extension_codec";
const TABLE_PROVIDER: &CStr = c"datafusion_table_provider";

/// Returns a stream of batches as a capsule. An unused stream is released with the capsule.
pub(crate) fn stream(py: Python<'_>, reader: Box<dyn RecordBatchReader + Send>) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// Returns a schema as a capsule.
pub(crate) fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowSchema::try_from(schema).map_err(Raise::raise)?, SCHEMA)
}

/// Returns the schema of a capsule that a consumer passed.
pub(crate) fn requested(capsule: &Bound<'_, PyCapsule>) -> PyResult<Schema> {
    let schema: NonNull<FFI_ArrowSchema> = capsule.pointer_checked(Some(SCHEMA))?.cast();
    // SAFETY: by its name, the capsule points to such a structure, which lives as long as the capsule.
    let schema = unsafe { schema.as_ref() };
    Schema::try_from(schema).map_err(|error| PyValueError::new_err(format!("requested_schema: {error}")))
}

/// Returns a table as a capsule for a session of DataFusion's Python package.
pub(crate) fn table_provider<'py>(
    session: &Bound<'py, PyAny>,
    table: Arc<dyn TableProvider>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let codec = session.call_method0("__datafusion_logical_extension_codec__")?;
    let codec = codec.cast::<PyCapsule>().map_err(|_| PyTypeError::new_err("the session's codec is not a capsule"))?;
    let codec: NonNull<FFI_LogicalExtensionCodec> = codec.pointer_checked(Some(CODEC))?.cast();
    // SAFETY: by its name, the capsule points to such a structure, which lives as long as the capsule.
    let codec = unsafe { codec.as_ref() }.clone();
    // Scans of blocks do not wait, and need no runtime.
    let provider = FFI_TableProvider::new_with_ffi_codec(table, true, None, codec);
    PyCapsule::new_with_value(session.py(), provider, TABLE_PROVIDER)
}
