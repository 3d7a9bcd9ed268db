//! [`ColumnWriter`]: packs series columns (COLUMNS.md).

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{U16, U32, U64};

use super::numbers::NumbersWriter;
use super::{BuildError, SectionBytes};
use crate::Error;
use crate::column::{ColumnMerge, Value, ValueType};
use crate::layout::{MAX_COLUMN_NAME_LEN, MAX_SERIES_COLUMNS, MAX_VALUE_LEN, SectionKind, SeriesColumnHeader};
use crate::number::length;
use crate::view::{BlockView, SeriesColumn};

/// Packs the values of a series column, in the order of series refs.
#[derive(Clone, Debug)]
pub struct ColumnWriter {
    name: String,
    value_type: ValueType,
    merge: ColumnMerge,
    pub(super) unit: u64,
    values: NumbersWriter,
    starts: NumbersWriter,
    texts: Vec<u8>,
    /// First byte of the last text.
    last: usize,
}

/// A series column that can be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedColumn {
    name: String,
    /// Number of values.
    count: u32,
    section: Vec<u8>,
}

impl ColumnWriter {
    /// Returns a column without values.
    ///
    /// # Errors
    /// `SeriesColumn` for a name that is empty or too long, and a way to merge that the type does not allow.
    pub fn new(name: &str, value_type: ValueType, merge: ColumnMerge) -> Result<Self, BuildError> {
        Self::with_unit(name, value_type, merge, 1)
    }

    /// Returns a column without values, whose values will be multiples of a unit. Numbers are stored in units:
    /// times of whole minutes in nanoseconds take 36 bits less.
    ///
    /// # Errors
    /// As [`ColumnWriter::new`], and for a unit that is 0, not a value of the type, or not 1 for bytes.
    pub fn with_unit(name: &str, value_type: ValueType, merge: ColumnMerge, unit: u64) -> Result<Self, BuildError> {
        let refuse = |reason| Err(BuildError::SeriesColumn { name: name.to_owned(), reason });
        if name.is_empty() || length(name.len()) > u64::from(MAX_COLUMN_NAME_LEN) {
            return refuse("a name has 1 to 255 bytes");
        }
        if !merge.allows(value_type) {
            return refuse("values of this type are not merged in this way");
        }
        if !value_type.allows_unit(unit) {
            return refuse("the unit is 0, or no value of the type");
        }
        Ok(Self {
            name: name.to_owned(),
            value_type,
            merge,
            unit,
            values: NumbersWriter::default(),
            starts: NumbersWriter::default(),
            texts: Vec::new(),
            last: 0,
        })
    }

    /// Checks that the column can have a value.
    ///
    /// # Errors
    /// `SeriesColumn` for a value of another type, one that is not a multiple of the unit, and bytes that are too long.
    pub fn check(&self, value: Value<'_>) -> Result<(), BuildError> {
        self.in_units(value).map(drop)
    }

    /// Returns a number in units, and 0 for bytes.
    ///
    /// # Errors
    /// As [`ColumnWriter::check`].
    #[inline]
    pub(super) fn in_units(&self, value: Value<'_>) -> Result<u64, BuildError> {
        let number = match value {
            _ if value.value_type() != self.value_type => return self.refuse("a value has another type"),
            Value::Bytes(bytes) if length(bytes.len()) > u64::from(MAX_VALUE_LEN) => {
                return self.refuse("a value has more than 65535 bytes");
            }
            Value::Bytes(_) => return Ok(0),
            Value::U64(number) if self.unit == 1 => return Ok(number),
            Value::I64(number) if self.unit == 1 => return Ok(number.cast_unsigned()),
            Value::U64(number) => number.checked_div(self.unit).filter(|units| units.wrapping_mul(self.unit) == number),
            Value::I64(number) => {
                let unit = self.unit.cast_signed();
                let units = number.checked_div(unit).filter(|units| units.wrapping_mul(unit) == number);
                units.map(i64::cast_unsigned)
            }
        };
        number.map_or_else(|| self.refuse("a value is not a multiple of the unit"), Ok)
    }

    /// Returns the value of a number in units.
    #[inline]
    pub(super) fn number(&self, units: u64) -> Value<'static> {
        // A product of signed numbers has the same bits.
        let number = units.wrapping_mul(self.unit);
        match self.value_type {
            ValueType::I64 => Value::I64(number.cast_signed()),
            ValueType::U64 | ValueType::Bytes => Value::U64(number),
        }
    }

    /// Returns a function that combines two numbers in units.
    #[inline]
    pub(super) fn combination(&self) -> impl Fn(u64, u64) -> Option<u64> + Copy + use<> {
        let (merge, unit, is_signed) = (self.merge, self.unit, self.value_type == ValueType::I64);
        move |units: u64, newer: u64| {
            let is_less = if is_signed { newer.cast_signed() < units.cast_signed() } else { newer < units };
            match merge {
                ColumnMerge::Same => (units == newer).then_some(units),
                ColumnMerge::Min => Some(if is_less { newer } else { units }),
                ColumnMerge::Max => Some(if is_less { units } else { newer }),
                ColumnMerge::Sum if is_signed => {
                    let sum = units.cast_signed().checked_add(newer.cast_signed())?;
                    sum.checked_mul(unit.cast_signed()).map(|_| sum.cast_unsigned())
                }
                ColumnMerge::Sum => {
                    let sum = units.checked_add(newer)?;
                    sum.checked_mul(unit).map(|_| sum)
                }
                // The unit is a power of two.
                ColumnMerge::Or => Some(units | newer),
                ColumnMerge::Drop | ColumnMerge::Newest => Some(newer),
            }
        }
    }

    /// Sets the unit to that of combined values: see [`ColumnMerge::combined_unit`].
    pub(super) fn with_combined_unit(self) -> Self {
        let unit = self.merge.combined_unit(self.unit);
        Self { unit, ..self }
    }

    /// Appends the value of the next series, or none.
    ///
    /// # Errors
    /// As [`ColumnWriter::check`]. Nothing is appended then.
    pub fn push(&mut self, value: Option<Value<'_>>) -> Result<(), BuildError> {
        let number = value.map(|value| self.in_units(value)).transpose()?;
        match value {
            Some(Value::Bytes(bytes)) if !self.is_full() => {
                let text = self.push_text(bytes);
                self.push_units(Some(text))
            }
            _ => self.push_units(number),
        }
    }

    /// Appends the number of the next series in units, that of its text, or none.
    ///
    /// # Errors
    /// `SeriesColumn` if there are too many values.
    pub(super) fn push_units(&mut self, number: Option<u64>) -> Result<(), BuildError> {
        if self.is_full() {
            return self.refuse("there are too many values");
        }
        self.values.push(number);
        Ok(())
    }

    const fn is_full(&self) -> bool {
        self.values.count() == u32::MAX
    }

    /// Returns the number of a text: that of the last one if they are equal.
    fn push_text(&mut self, text: &[u8]) -> u64 {
        let known = u64::from(self.starts.count());
        if known > 0 && self.texts.get(self.last..) == Some(text) {
            return known - 1;
        }
        self.last = self.texts.len();
        self.starts.push(Some(length(self.last)));
        self.texts.extend_from_slice(text);
        known
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the type of the values.
    #[must_use]
    pub const fn value_type(&self) -> ValueType {
        self.value_type
    }

    /// Returns the way to combine values of series that become one.
    #[must_use]
    pub const fn merge(&self) -> ColumnMerge {
        self.merge
    }

    /// Returns the error of a value.
    fn refuse<T>(&self, reason: &'static str) -> Result<T, BuildError> {
        Err(BuildError::SeriesColumn { name: self.name.clone(), reason })
    }

    /// Returns the packed column.
    #[must_use]
    pub fn finish(self) -> PackedColumn {
        let Self { name, value_type, merge, unit, values, mut starts, texts, .. } = self;
        let count = values.count();
        let header = SeriesColumnHeader {
            value_type: value_type.code(),
            merge: merge.code(),
            name_len: U16::new(u16::try_from(name.len()).unwrap_or_default()),
            reserved: U32::ZERO,
            unit: U64::new(unit),
        };
        let mut section = header.as_bytes().to_vec();
        section.extend_from_slice(name.as_bytes());
        values.finish(&mut section);
        if value_type == ValueType::Bytes {
            starts.push(Some(length(texts.len())));
            starts.finish(&mut section);
            section.extend_from_slice(&texts);
        }
        PackedColumn { name, count, section }
    }
}

impl PackedColumn {
    /// Copies the columns of a block, for one that has the same series in the same order. Their bytes are not checked.
    ///
    /// # Errors
    /// `Corrupt` if the beginning of a column is damaged.
    pub fn copies(view: &BlockView<'_>) -> Result<Vec<Self>, Error> {
        let copy = |column: Result<SeriesColumn<'_>, Error>| {
            let column = column?;
            let (section, _) = view.column_section(column.id).unwrap_or_default();
            Ok(Self { name: column.name().to_owned(), count: column.values.count, section: section.to_vec() })
        };
        view.series_columns().map(copy).collect()
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of bytes in a block.
    #[must_use]
    pub const fn byte_len(&self) -> usize {
        self.section.len()
    }
}

/// Returns the sections of columns, by name.
pub(super) fn sections(columns: &[PackedColumn], series_count: u64) -> Result<Vec<SectionBytes>, BuildError> {
    let mut columns: Vec<&PackedColumn> = columns.iter().collect();
    columns.sort_unstable_by_key(|column| &column.name);
    let refuse = |column: &PackedColumn, reason| Err(BuildError::SeriesColumn { name: column.name.clone(), reason });
    if let Some([column, _]) = columns.array_windows().find(|[left, right]| left.name == right.name) {
        return refuse(column, "two columns have this name");
    }
    if let Some(column) = columns.get(MAX_SERIES_COLUMNS) {
        return refuse(column, "a block has at most 1,000 series columns");
    }
    if let Some(column) = columns.iter().find(|column| u64::from(column.count) != series_count) {
        return refuse(column, "it has not as many values as the block has series");
    }
    let section = |(id, column): (u32, &&PackedColumn)| SectionBytes {
        kind: SectionKind::SeriesColumn.code(),
        id,
        bytes: column.section.clone(),
    };
    Ok((0..).zip(&columns).map(section).collect())
}
