//! Classes `Column` and `Values`: values that an engine keeps of each series.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Int64Type, TimestampNanosecondType, UInt64Type};
use chronoxide::{BlockId, ColumnMerge, SeriesId, Value, ValueType};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};

use crate::capsules;
use crate::errors::{ChronoxideError, Raise};
use crate::opened::Opened;
use crate::table::PyTable;

/// Returns the type with a name.
pub(crate) fn value_type(name: &str) -> PyResult<ValueType> {
    let found = ValueType::ALL.iter().find(|known| known.name() == name);
    let names = ValueType::ALL.iter().map(|known| known.name());
    found.copied().ok_or_else(|| unknown("type", name, names))
}

/// Returns the way to merge with a name.
pub(crate) fn merge(name: &str) -> PyResult<ColumnMerge> {
    let found = ColumnMerge::ALL.iter().find(|known| known.name() == name);
    let names = ColumnMerge::ALL.iter().map(|known| known.name());
    found.copied().ok_or_else(|| unknown("merge", name, names))
}

fn unknown<'n>(argument: &str, name: &str, names: impl Iterator<Item = &'n str>) -> PyErr {
    let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
    PyValueError::new_err(format!("{argument}: {name:?} is not one of {}", names.join(", ")))
}

/// Returns the columns of blocks as a dict, by their names.
pub(crate) fn columns<'py>(py: Python<'py>, opened: &Arc<Opened>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for info in opened.blocks.columns().map_err(Raise::raise)? {
        let (name, value_type, merge) = (info.name.to_owned(), info.value_type, info.merge);
        dict.set_item(info.name, PyColumn { opened: Arc::clone(opened), name, value_type, merge })?;
    }
    Ok(dict)
}

/// Values of series: integers or bytes, or none. `column[ref]` is the value of a series of a block, and
/// `column[block_id, ref]` that of one of a folder, as `find` returns them; None if it has none.
#[pyclass(frozen, module = "chronoxide", name = "Column")]
pub(crate) struct PyColumn {
    opened: Arc<Opened>,
    name: String,
    value_type: ValueType,
    merge: ColumnMerge,
}

impl PyColumn {
    fn column(&self) -> PyResult<chronoxide::Column<'_>> {
        let column = self.opened.blocks.column(&self.name).map_err(Raise::raise)?;
        column.ok_or_else(|| ChronoxideError::new_err(format!("the column {:?} is gone", self.name)))
    }

    /// Returns the id of a series, which must be there.
    fn id(&self, series: &Bound<'_, PyAny>) -> PyResult<SeriesId> {
        let blocks = &self.opened.blocks;
        let (block, series) = match series.extract::<(String, u32)>() {
            Ok((block, series)) => {
                let block: BlockId = block.parse().map_err(|_| PyKeyError::new_err(block))?;
                (Some(block), series)
            }
            Err(_) if blocks.is_folder() => return Err(PyTypeError::new_err("expected a block id and a ref")),
            Err(_) => (None, series.extract()?),
        };
        for info in blocks.iter() {
            let info = info.map_err(Raise::raise)?;
            if block.is_none_or(|block| block == info.id) {
                return match series < info.series_count {
                    true => Ok(SeriesId { block: info.id, series }),
                    false => Err(PyIndexError::new_err(format!(
                        "ref {series} is out of range: there are {} series",
                        info.series_count
                    ))),
                };
            }
        }
        Err(PyKeyError::new_err(block.map(|block| block.to_string())))
    }
}

#[pymethods]
impl PyColumn {
    /// Name of the column.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Type of the values: "i64", "u64" or "bytes".
    #[getter]
    fn r#type(&self) -> &'static str {
        self.value_type.name()
    }

    /// Way to combine the values of series that become one: "drop", "same", "min", "max", "sum", "or" or "newest".
    #[getter]
    fn merge(&self) -> &'static str {
        self.merge.name()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, series: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = self.column()?.get(self.id(series)?).map_err(Raise::raise)?;
        Ok(match value {
            None => None,
            Some(Value::I64(number)) => Some(number.into_pyobject(py)?.into_any()),
            Some(Value::U64(number)) => Some(number.into_pyobject(py)?.into_any()),
            Some(Value::Bytes(bytes)) => Some(PyBytes::new(py, bytes).into_any()),
        })
    }

    /// Returns the values of selected series, in the order of their refs, as an array for numpy and for libraries that
    /// read Arrow; those of all series if there is no selection. Groups of 256 values are decoded at once.
    ///
    /// >>> import numpy, pyarrow
    /// >>> writer = chronoxide.Writer()
    /// >>> column = writer.add_column("app.bytes", "u64", "sum")
    /// >>> for pod in ["web-1", "web-2"]:
    /// ...     writer.set(column, writer.insert({"__name__": "up", "pod": pod}), 4096)
    /// >>> block = chronoxide.open(writer.finish("values.cx")["path"])
    /// >>> values = block.columns["app.bytes"].read(block.select('up{pod="web-2"}'))
    /// >>> int(numpy.asarray(values).sum()), pyarrow.array(values).to_pylist()
    /// (4096, [4096])
    #[pyo3(signature = (selection=None))]
    fn read(&self, py: Python<'_>, selection: Option<&Bound<'_, PyTable>>) -> PyResult<PyValues> {
        let selection = selection.map(|table| table.get());
        py.detach(|| {
            let selection = match selection {
                Some(table) => table.selection()?,
                None => crate::table::Rows::selection(&*self.opened)?,
            };
            Ok(PyValues { array: self.column()?.to_array(&selection).map_err(Raise::raise)? })
        })
    }

    fn __repr__(&self) -> String {
        format!("<chronoxide.Column {:?}: {}, {}>", self.name, self.value_type, self.merge)
    }
}

/// Values of selected series: an array of Arrow, which `pyarrow.array(values)` and `polars.Series(values)` take, and
/// `numpy.asarray(values)` without a copy if they are integers and none is absent.
#[pyclass(frozen, module = "chronoxide", name = "Values")]
pub(crate) struct PyValues {
    array: ArrayRef,
}

#[pymethods]
impl PyValues {
    fn __len__(&self) -> usize {
        self.array.len()
    }

    /// Number of series without a value.
    #[getter]
    fn null_count(&self) -> usize {
        self.array.null_count()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // There is one type: the protocol allows to ignore the wish.
        let _ = requested_schema;
        capsules::array(py, &self.array)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(capsules::array(py, &self.array.slice(0, 0))?.0)
    }

    /// Interface of numpy: integers where they are.
    #[getter(__array_interface__)]
    fn array_interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.array.null_count() > 0 {
            let text = format!("{} of {} series have no value: use pyarrow.array", self.null_count(), self.__len__());
            return Err(PyValueError::new_err(text));
        }
        let (address, kind) = match self.array.data_type() {
            DataType::Int64 => (self.array.as_primitive::<Int64Type>().values().as_ptr().addr(), "i8"),
            DataType::Timestamp(..) => {
                (self.array.as_primitive::<TimestampNanosecondType>().values().as_ptr().addr(), "i8")
            }
            DataType::UInt64 => (self.array.as_primitive::<UInt64Type>().values().as_ptr().addr(), "u8"),
            _ => return Err(PyValueError::new_err("values of type bytes are not numbers: use pyarrow.array")),
        };
        let dict = PyDict::new(py);
        dict.set_item("version", 3)?;
        dict.set_item("shape", (self.array.len(),))?;
        dict.set_item("typestr", format!("{}{kind}", if cfg!(target_endian = "little") { "<" } else { ">" }))?;
        // True: the array is read-only. It keeps this object, and so the memory.
        dict.set_item("data", (address, true))?;
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        format!("<chronoxide.Values: {} of {}>", self.array.len(), self.array.data_type())
    }
}
