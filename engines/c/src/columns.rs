//! Series columns: values that an engine keeps per series.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;

use blocks::{Blocks, Column, ColumnInfo, SeriesId, Value, ValueType};

use crate::blocks::CxBlocks;
use crate::error::{CxError, Failure, guard, guard_value};
use crate::label::{CxSeriesId, CxString, first_element};
use crate::pointer::{self, give, required};
use crate::status::{CX_INTERNAL, CxStatus};

/// Type of the values of a column: one of CX_VALUE_....
pub type CxValueType = i32;

/// Signed numbers of 64 bits.
pub const CX_VALUE_I64: CxValueType = 1;
/// Unsigned numbers of 64 bits.
pub const CX_VALUE_U64: CxValueType = 2;
/// Bytes.
pub const CX_VALUE_BYTES: CxValueType = 3;

/// Way to combine the values of series that a merge makes one: one of CX_MERGE_....
pub type CxMerge = i32;

/// The column is left out.
pub const CX_MERGE_DROP: CxMerge = 0;
/// The value that all have.
pub const CX_MERGE_SAME: CxMerge = 1;
/// The least value.
pub const CX_MERGE_MIN: CxMerge = 2;
/// The greatest value.
pub const CX_MERGE_MAX: CxMerge = 3;
/// The sum of the values.
pub const CX_MERGE_SUM: CxMerge = 4;
/// Each bit that a value has.
pub const CX_MERGE_OR: CxMerge = 5;
/// The value of the newest block.
pub const CX_MERGE_NEWEST: CxMerge = 6;

/// Facts about a column. The name is valid as long as the blocks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxColumnInfo {
    /// Name, in UTF-8.
    pub name: CxString,
    /// Type of the values: one of CX_VALUE_....
    pub value_type: CxValueType,
    /// Way to combine values: one of CX_MERGE_....
    pub merge: CxMerge,
}

impl From<ColumnInfo<'_>> for CxColumnInfo {
    fn from(info: ColumnInfo<'_>) -> Self {
        let (value_type, merge) = (info.value_type.code().into(), info.merge.code().into());
        Self { name: info.name.into(), value_type, merge }
    }
}

/// Facts about the columns of blocks, in the byte order of their names. It does not change: several threads may use one
/// handle at once.
pub struct CxColumns {
    items: Box<[CxColumnInfo]>,
    /// Owner of the names.
    _blocks: Blocks,
}

/// A column of blocks. It does not change: several threads may use one handle at once.
pub struct CxColumn {
    blocks: Blocks,
    name: String,
}

/// A value of a column of bytes. It points into a block: it is valid until the last handle of its blocks is freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CxBytes {
    /// First byte; NULL if the series has no value. That of an empty value is not NULL.
    pub data: *const u8,
    /// Length in bytes: at most 65535.
    pub len: usize,
}

impl CxColumn {
    /// Returns the column. Blocks do not change: it is there.
    fn column(&self) -> Result<Column<'_>, Failure> {
        let column = self.blocks.column(&self.name)?;
        column.ok_or_else(|| Failure::new(CX_INTERNAL, format!("the column {:?} is gone", self.name)))
    }

    /// Calls `each` with the value of each series at its position, after a check of the type.
    fn read<'a>(
        &'a self,
        wanted: ValueType,
        ids: &[CxSeriesId],
        mut each: impl FnMut(usize, Option<Value<'a>>),
    ) -> Result<(), Failure> {
        /// Ids that are converted at once: they stay in the cache.
        const PART: usize = 1024;

        let column = self.column()?;
        let found = column.info().value_type;
        if found != wanted {
            return Err(Failure::usage(format!("the values of column {:?} have the type {found}", self.name)));
        }
        let mut part: Vec<SeriesId> = Vec::with_capacity(ids.len().min(PART));
        for (number, ids) in ids.chunks(PART).enumerate() {
            part.clear();
            part.extend(ids.iter().map(|&id| SeriesId::from(id)));
            column.read_ids(&part, |position, value| {
                each(number * PART + position, value);
                Ok::<(), blocks::Error>(())
            })?;
        }
        Ok(())
    }
}

/// Lists the columns of blocks. Costs a look at the header of each column of each block, and reads no value. Columns of
/// one name with different types or ways to combine values give CX_USAGE, with the paths of both blocks.
#[unsafe(no_mangle)]
pub extern "C" fn cx_blocks_columns(
    blocks: Option<&CxBlocks>,
    columns: Option<&mut MaybeUninit<*mut CxColumns>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        give(columns, "columns", || {
            let blocks = &required(blocks, "blocks")?.blocks;
            let items = blocks.columns()?.into_iter().map(CxColumnInfo::from).collect();
            Ok(CxColumns { items, _blocks: blocks.clone() })
        })
    })
}

/// Returns the number of columns; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_columns_count(columns: Option<&CxColumns>) -> usize {
    guard_value(|| columns.map_or(0, |columns| columns.items.len()))
}

/// Returns the columns, as many as cx_columns_count says; NULL for none, and for NULL. They are valid until the list is
/// freed.
#[unsafe(no_mangle)]
pub extern "C" fn cx_columns_items(columns: Option<&CxColumns>) -> *const CxColumnInfo {
    columns.map_or(ptr::null(), |columns| first_element(&columns.items))
}

/// Frees a list, or does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_columns_free(columns: Option<Box<CxColumns>>) {
    guard_value(|| drop(columns));
}

/// Finds the column with a name, and writes it to `column`; NULL if no block has it, which is not an error. Costs a
/// binary search over the columns of each block. Errors are those of cx_blocks_columns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_column_find(
    blocks: Option<&CxBlocks>,
    name: *const c_char,
    name_len: usize,
    column: Option<&mut MaybeUninit<*mut CxColumn>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let column = required(column, "column")?;
        column.write(ptr::null_mut());
        let blocks = &required(blocks, "blocks")?.blocks;
        // SAFETY: the caller's contract.
        let name = unsafe { pointer::text(name, name_len, "name") }?;
        if blocks.column(name)?.is_some() {
            column.write(Box::into_raw(Box::new(CxColumn { blocks: blocks.clone(), name: name.to_owned() })));
        }
        Ok(())
    })
}

/// Writes facts about a column.
#[unsafe(no_mangle)]
pub extern "C" fn cx_column_describe(
    column: Option<&CxColumn>,
    info: Option<&mut MaybeUninit<CxColumnInfo>>,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let (column, info) = (required(column, "column")?, required(info, "info")?);
        info.write(column.column()?.info().into());
        Ok(())
    })
}

/// Reads the values of `id_count` series of a column of type CX_VALUE_I64. `values` and `has_value` are arrays with
/// `id_count` elements: `has_value` is false, and the value 0, for a series without a value, one of a block that does
/// not have the column, and an id that no block has. Ids may come in any order and repeat.
///
/// Each call looks for the column in each block, as cx_column_find does: read many series at once. Then a value costs
/// the search of its block, a record of 256 values and a search among their exceptions; in runs of 16 and more
/// consecutive series, groups of 256 values are decoded as a whole, for a fraction of that. A call allocates at most
/// 24 KiB.
///
/// Another type of the column gives CX_USAGE. After CX_CORRUPT, the content of the arrays is unspecified.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_column_read_i64(
    column: Option<&CxColumn>,
    ids: *const CxSeriesId,
    id_count: usize,
    values: *mut i64,
    has_value: *mut bool,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        // SAFETY: the caller's contract.
        unsafe {
            read_numbers(column, ValueType::I64, ids, id_count, values, has_value, |value| match value {
                Value::I64(number) => Some(number),
                _ => None,
            })
        }
    })
}

/// Reads the values of series of a column of type CX_VALUE_U64, as cx_column_read_i64 does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_column_read_u64(
    column: Option<&CxColumn>,
    ids: *const CxSeriesId,
    id_count: usize,
    values: *mut u64,
    has_value: *mut bool,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        // SAFETY: the caller's contract.
        unsafe {
            read_numbers(column, ValueType::U64, ids, id_count, values, has_value, |value| match value {
                Value::U64(number) => Some(number),
                _ => None,
            })
        }
    })
}

/// Reads numbers to two arrays of the caller.
///
/// # Safety
/// `ids` are `id_count` ids, and the other arrays have room for as many elements.
unsafe fn read_numbers<T: Copy + Default>(
    column: Option<&CxColumn>,
    value_type: ValueType,
    ids: *const CxSeriesId,
    id_count: usize,
    values: *mut T,
    has_value: *mut bool,
    number: impl Fn(Value<'_>) -> Option<T>,
) -> Result<(), Failure> {
    let column = required(column, "column")?;
    // SAFETY: this function's contract.
    let (ids, values, has_value) = unsafe {
        let ids = pointer::array(ids, id_count, "ids")?;
        (ids, pointer::buffer(values, id_count, "values")?, pointer::buffer(has_value, id_count, "has_value")?)
    };
    column.read(value_type, ids, |position, value| {
        let value = value.and_then(&number);
        if let (Some(to), Some(has_value)) = (values.get_mut(position), has_value.get_mut(position)) {
            to.write(value.unwrap_or_default());
            has_value.write(value.is_some());
        }
    })
}

/// Reads the values of `id_count` series of a column of type CX_VALUE_BYTES to an array with `id_count` elements, as
/// cx_column_read_i64 does. Bytes are not copied. A value costs three numbers: its own, and the two of the place of its
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cx_column_read_bytes(
    column: Option<&CxColumn>,
    ids: *const CxSeriesId,
    id_count: usize,
    values: *mut CxBytes,
    error: Option<&mut MaybeUninit<CxError>>,
) -> CxStatus {
    guard(error, || {
        let column = required(column, "column")?;
        // SAFETY: the caller's contract.
        let (ids, values) =
            unsafe { (pointer::array(ids, id_count, "ids")?, pointer::buffer(values, id_count, "values")?) };
        column.read(ValueType::Bytes, ids, |position, value| {
            if let Some(to) = values.get_mut(position) {
                to.write(match value {
                    // The address of an empty slice is not one of memory.
                    Some(Value::Bytes([])) => CxBytes { data: c"".as_ptr().cast(), len: 0 },
                    Some(Value::Bytes(bytes)) => CxBytes { data: bytes.as_ptr(), len: bytes.len() },
                    _ => CxBytes { data: ptr::null(), len: 0 },
                });
            }
        })
    })
}

/// Frees a column, or does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn cx_column_free(column: Option<Box<CxColumn>>) {
    guard_value(|| drop(column));
}

#[cfg(test)]
mod tests {
    use blocks::ColumnMerge;

    use super::*;

    #[test]
    fn constants_are_the_numbers_of_the_format() {
        let types = [CX_VALUE_I64, CX_VALUE_U64, CX_VALUE_BYTES];
        let known = [ValueType::I64, ValueType::U64, ValueType::Bytes];
        assert_eq!(known.map(|known| CxValueType::from(known.code())), types);
        assert_eq!(ValueType::ALL.len(), types.len());
        let merges = [
            (CX_MERGE_DROP, ColumnMerge::Drop),
            (CX_MERGE_SAME, ColumnMerge::Same),
            (CX_MERGE_MIN, ColumnMerge::Min),
            (CX_MERGE_MAX, ColumnMerge::Max),
            (CX_MERGE_SUM, ColumnMerge::Sum),
            (CX_MERGE_OR, ColumnMerge::Or),
            (CX_MERGE_NEWEST, ColumnMerge::Newest),
        ];
        for (number, merge) in merges {
            assert_eq!(CxMerge::from(merge.code()), number);
        }
        assert_eq!(ColumnMerge::ALL.len(), merges.len());
    }
}
