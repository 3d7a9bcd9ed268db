//! Series columns of a schema, and their values in a batch: [`series_column`], [`Values`].

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, Int64Array, UInt64Array};
use arrow_schema::{DataType, Field, TimeUnit};
use chronoxide_format::column::{ColumnMerge, FIRST_TIME, LAST_TIME, Value, ValueType, field_key};
use chronoxide_format::layout::{MAX_COLUMN_NAME_LEN, MAX_VALUE_LEN};

use super::texts::Texts;
use crate::columns::error::ColumnsError;
use crate::series::ColumnFacts;
use crate::series_json::is_ref_name;

/// Returns the series column of a field of integers, of timestamps, or of bytes whose metadata has a way to merge.
/// Returns `None` for other fields. A unit that is not allowed counts as 1.
///
/// # Errors
///
/// The reason why such a field cannot be a series column.
pub(super) fn series_column(field: &Field) -> Result<Option<ColumnFacts>, &'static str> {
    let metadata = field.metadata();
    let merge = metadata.get(field_key::MERGE);
    let value_type = match field.data_type() {
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::Timestamp(..) => {
            ValueType::I64
        }
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => ValueType::U64,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView if merge.is_some() => ValueType::Bytes,
        _ => return Ok(None),
    };
    let allowed = |name: &String| {
        let merge = ColumnMerge::from_name(name).filter(|merge| merge.allows(value_type));
        merge.ok_or("its metadata chronoxide.merge does not name a way to merge these values")
    };
    let merge = merge.map(allowed).transpose()?;
    // Exports have refs, which mean nothing in another block.
    if merge.is_none() && is_ref_name(field.name()) {
        return Ok(None);
    }
    let name = metadata.get(field_key::NAME).unwrap_or(field.name());
    if name.is_empty() || name.len() > MAX_COLUMN_NAME_LEN as usize {
        return Err("the name of a series column has 1 to 255 bytes");
    }
    let time_merge = match name.as_str() {
        FIRST_TIME => Some(ColumnMerge::Min),
        LAST_TIME => Some(ColumnMerge::Max),
        _ => None,
    };
    if time_merge.is_some() && value_type != ValueType::I64 {
        return Err("times of series are signed integers or timestamps");
    }
    let merge = time_merge.or(merge).unwrap_or(ColumnMerge::Newest);
    let unit = metadata.get(field_key::UNIT).and_then(|unit| unit.parse().ok());
    let unit = unit.filter(|&unit| value_type.allows_unit(unit)).unwrap_or(1);
    Ok(Some(ColumnFacts { name: name.clone(), value_type, merge, unit }))
}

/// Values of a series column in a batch.
pub(super) enum Values {
    Signed(Int64Array),
    Unsigned(UInt64Array),
    Times(ArrayRef),
    Bytes(Texts),
}

/// Value of a row.
pub(super) enum Cell<'a> {
    Null,
    Value(Value<'a>),
    /// A time that does not fit into 64 bits.
    OutOfRange,
}

impl Values {
    /// Returns the values of a column, or `None` if it has another type than those of [`series_column`].
    pub(super) fn new(array: &ArrayRef) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Int8 => Self::Signed(array.as_primitive_opt::<Int8Type>()?.unary(i64::from)),
            DataType::Int16 => Self::Signed(array.as_primitive_opt::<Int16Type>()?.unary(i64::from)),
            DataType::Int32 => Self::Signed(array.as_primitive_opt::<Int32Type>()?.unary(i64::from)),
            DataType::Int64 => Self::Signed(array.as_primitive_opt::<Int64Type>()?.clone()),
            DataType::UInt8 => Self::Unsigned(array.as_primitive_opt::<UInt8Type>()?.unary(u64::from)),
            DataType::UInt16 => Self::Unsigned(array.as_primitive_opt::<UInt16Type>()?.unary(u64::from)),
            DataType::UInt32 => Self::Unsigned(array.as_primitive_opt::<UInt32Type>()?.unary(u64::from)),
            DataType::UInt64 => Self::Unsigned(array.as_primitive_opt::<UInt64Type>()?.clone()),
            DataType::Timestamp(..) => Self::Times(array.clone()),
            _ => Self::Bytes(Texts::new(array)?),
        })
    }

    /// Returns the value of a row.
    ///
    /// # Errors
    ///
    /// Bytes are longer than a value may be.
    pub(super) fn get(&self, row: usize) -> Result<Cell<'_>, ColumnsError> {
        let value = match self {
            Self::Signed(numbers) => numbers.is_valid(row).then(|| Value::I64(numbers.value(row))),
            Self::Unsigned(numbers) => numbers.is_valid(row).then(|| Value::U64(numbers.value(row))),
            Self::Times(times) if times.is_null(row) => None,
            Self::Times(times) => match nanoseconds(times, row) {
                Some(time) => Some(Value::I64(time)),
                None => return Ok(Cell::OutOfRange),
            },
            Self::Bytes(bytes) => match bytes.get(row) {
                Some(bytes) if bytes.len() > MAX_VALUE_LEN as usize => {
                    return Err(ColumnsError::Message("bytes of a series column are longer than 65,535"));
                }
                bytes => bytes.map(Value::Bytes),
            },
        };
        Ok(value.map_or(Cell::Null, Cell::Value))
    }
}

/// Returns the time of a row in nanoseconds since 1970, or `None` if it does not fit into 64 bits.
pub(super) fn nanoseconds(times: &ArrayRef, row: usize) -> Option<i64> {
    let DataType::Timestamp(unit, _) = times.data_type() else { return None };
    let (time, factor) = match unit {
        TimeUnit::Second => (times.as_primitive_opt::<TimestampSecondType>()?.value(row), 1_000_000_000),
        TimeUnit::Millisecond => (times.as_primitive_opt::<TimestampMillisecondType>()?.value(row), 1_000_000),
        TimeUnit::Microsecond => (times.as_primitive_opt::<TimestampMicrosecondType>()?.value(row), 1_000),
        TimeUnit::Nanosecond => (times.as_primitive_opt::<TimestampNanosecondType>()?.value(row), 1),
    };
    time.checked_mul(factor)
}
