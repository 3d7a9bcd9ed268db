//! [`ValuesBuilder`]: values of a series column as an array.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, Int64Builder, UInt64Builder};
use arrow_array::types::TimestampNanosecondType;
use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::{DataType, TimeUnit};
use chronoxide_format::column::{FIRST_TIME, LAST_TIME, Value, ValueType};
use chronoxide_format::{Error, SeriesRef};

use crate::{BlockTable, TableError};

/// Columns whose values are times, by the registry of the format.
const TIMES: [&str; 2] = [FIRST_TIME, LAST_TIME];

/// Makes an array of the values of a series column.
///
/// ```
/// use arrow_array::cast::AsArray;
/// use arrow_array::types::UInt64Type;
/// use chronoxide_arrow::ValuesBuilder;
/// use chronoxide_format::column::{Value, ValueType};
///
/// let mut builder = ValuesBuilder::new("app.bytes", ValueType::U64, 2);
/// builder.push(Some(Value::U64(7)));
/// builder.push(None);
/// let values = builder.finish();
/// assert_eq!(values.as_primitive::<UInt64Type>().iter().collect::<Vec<_>>(), [Some(7), None]);
/// ```
#[derive(Debug)]
pub struct ValuesBuilder(Typed);

#[derive(Debug)]
enum Typed {
    I64(Int64Builder),
    /// Nanoseconds since 1970.
    Times(Int64Builder),
    U64(UInt64Builder),
    Bytes(BinaryViewBuilder),
}

impl ValuesBuilder {
    /// Starts an array for the column with a name, which has room for `capacity` values.
    #[must_use]
    pub fn new(name: &str, value_type: ValueType, capacity: usize) -> Self {
        Self(match value_type {
            ValueType::I64 if TIMES.contains(&name) => Typed::Times(Int64Builder::with_capacity(capacity)),
            ValueType::I64 => Typed::I64(Int64Builder::with_capacity(capacity)),
            ValueType::U64 => Typed::U64(UInt64Builder::with_capacity(capacity)),
            ValueType::Bytes => Typed::Bytes(BinaryViewBuilder::with_capacity(capacity)),
        })
    }

    /// Returns the type of the array.
    #[must_use]
    pub fn data_type(name: &str, value_type: ValueType) -> DataType {
        match value_type {
            ValueType::I64 if TIMES.contains(&name) => {
                DataType::Timestamp(TimeUnit::Nanosecond, Some(Arc::from("UTC")))
            }
            ValueType::I64 => DataType::Int64,
            ValueType::U64 => DataType::UInt64,
            ValueType::Bytes => DataType::BinaryView,
        }
    }

    /// Adds a value, or null. Bytes are copied. A value of another type than the column's is null.
    pub fn push(&mut self, value: Option<Value<'_>>) {
        match (&mut self.0, value) {
            (Typed::I64(builder) | Typed::Times(builder), Some(Value::I64(number))) => builder.append_value(number),
            (Typed::U64(builder), Some(Value::U64(number))) => builder.append_value(number),
            (Typed::Bytes(builder), Some(Value::Bytes(bytes))) => builder.append_value(bytes),
            (Typed::I64(builder) | Typed::Times(builder), _) => builder.append_null(),
            (Typed::U64(builder), _) => builder.append_null(),
            (Typed::Bytes(builder), _) => builder.append_null(),
        }
    }

    /// Returns the array. It has no validity bitmap if no value is null.
    #[must_use]
    pub fn finish(self) -> ArrayRef {
        match self.0 {
            Typed::I64(mut builder) => Arc::new(builder.finish()),
            Typed::Times(mut builder) => {
                let numbers = builder.finish();
                Arc::new(numbers.reinterpret_cast::<TimestampNanosecondType>().with_timezone("UTC"))
            }
            Typed::U64(mut builder) => Arc::new(builder.finish()),
            Typed::Bytes(mut builder) => Arc::new(builder.finish()),
        }
    }
}

/// Returns the values of `len` series, which are given as runs: nulls if the block does not have the column.
pub(crate) fn values_of(
    table: &BlockTable,
    (name, value_type): (&str, ValueType),
    runs: &[Range<SeriesRef>],
    len: usize,
) -> Result<ArrayRef, TableError> {
    let column = table.block().view().series_column(name).map_err(|error| table.locate(error))?;
    let Some(column) = column else { return Ok(new_null_array(&ValuesBuilder::data_type(name, value_type), len)) };
    if column.value_type() != value_type {
        let (name, found) = (name.to_owned(), column.value_type());
        return Err(TableError::ColumnType { name, found, expected: value_type });
    }
    let mut builder = ValuesBuilder::new(name, value_type, len);
    for run in runs {
        let push = |_, value: Option<Value<'_>>| {
            builder.push(value);
            Ok::<(), Error>(())
        };
        column.read(run.clone(), push).map_err(|error| table.locate(error))?;
    }
    Ok(builder.finish())
}
