//! Objects of Arrow and DataFusion as capsules, by the protocols of their Python packages.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatchReader};
use arrow::datatypes::Schema;
use arrow::ffi::{FFI_ArrowSchema, to_ffi};
use arrow::ffi_stream::FFI_ArrowArrayStream;
use datafusion::catalog::TableProvider;
use datafusion_ffi::proto::logical_extension_codec::FFI_LogicalExtensionCodec;
use datafusion_ffi::table_provider::FFI_TableProvider;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::batches::StringType;
use crate::errors::Raise;

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
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

/// Returns the schema of an array, and the array, as capsules.
pub(crate) fn array<'py>(
    py: Python<'py>,
    array: &ArrayRef,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let (array, schema) = to_ffi(&array.to_data()).map_err(Raise::raise)?;
    Ok((PyCapsule::new_with_value(py, schema, SCHEMA)?, PyCapsule::new_with_value(py, array, ARRAY)?))
}

/// A schema of Arrow's C data interface. Only what is needed is read: names, metadata and nested types come from a
/// consumer, and may be anything.
#[repr(C)]
struct RequestedSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    child_count: i64,
    children: *const *const RequestedSchema,
    dictionary: *const RequestedSchema,
    /// Null once the schema was released: what it pointed to is gone.
    release: Option<unsafe extern "C" fn(*mut RequestedSchema)>,
    private_data: *mut c_void,
}

/// Returns the type of strings that a consumer asks for: that of the first column of strings in its schema.
pub(crate) fn requested_strings(capsule: &Bound<'_, PyCapsule>) -> PyResult<Option<StringType>> {
    let schema: NonNull<RequestedSchema> = capsule.pointer_checked(Some(SCHEMA))?.cast();
    // SAFETY: by its name, the capsule points to such a structure, which lives as long as the capsule, released or not.
    let schema = unsafe { schema.as_ref() };
    if schema.release.is_none() {
        return Err(PyValueError::new_err("requested_schema was released"));
    }
    let count = usize::try_from(schema.child_count).unwrap_or_default();
    if count == 0 || schema.children.is_null() {
        return Ok(None);
    }
    // SAFETY: a schema that was not released has as many children as it says, which are schemas too, and formats that
    // end with a NUL. The interpreter's lock is held, so that no other consumer releases it meanwhile.
    unsafe {
        for &child in slice::from_raw_parts(schema.children, count) {
            let Some(child) = child.as_ref().filter(|child| !child.format.is_null()) else { continue };
            match CStr::from_ptr(child.format).to_bytes() {
                _ if !child.dictionary.is_null() => return Ok(Some(StringType::Dictionary)),
                b"vu" => return Ok(Some(StringType::View)),
                b"u" | b"U" => return Ok(Some(StringType::Utf8)),
                _ => {}
            }
        }
    }
    Ok(None)
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
