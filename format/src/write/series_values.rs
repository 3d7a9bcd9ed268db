//! [`SeriesValues`]: values of a series column that come in any order of series.

use bitvec::vec::BitVec;

use super::{BuildError, ColumnWriter, PackedColumn};
use crate::column::{Value, ValueType};
use crate::number::index;

/// The values of a column by numbers of series. A series that is given several values has them combined, in the way in
/// which the column is merged.
///
/// ```
/// use chronoxide_format::column::{ColumnMerge, Value, ValueType};
/// use chronoxide_format::write::{ColumnWriter, SeriesValues};
///
/// let mut first_time = SeriesValues::new(ColumnWriter::new("app.first_time", ValueType::I64, ColumnMerge::Min)?);
/// first_time.set(7, Value::I64(30))?;
/// first_time.set(7, Value::I64(20))?;
/// assert_eq!(first_time.get(7), Some(Value::I64(20)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SeriesValues {
    /// Name, type, way to merge and unit, without values.
    column: ColumnWriter,
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    /// Numbers, and a bit for each series that has one. Signed numbers as the unsigned ones of the same bits.
    Numbers(Vec<u64>, BitVec),
    Bytes(Vec<Option<Box<[u8]>>>),
}

impl SeriesValues {
    /// Returns a column without values. `column` has none either.
    #[must_use]
    pub fn new(column: ColumnWriter) -> Self {
        let values = match column.value_type() {
            ValueType::Bytes => Values::Bytes(Vec::new()),
            ValueType::I64 | ValueType::U64 => Values::Numbers(Vec::new(), BitVec::new()),
        };
        Self { column, values }
    }

    /// Returns the name of the column.
    #[must_use]
    pub fn name(&self) -> &str {
        self.column.name()
    }

    /// Returns the value of a series.
    #[must_use]
    pub fn get(&self, series: u32) -> Option<Value<'_>> {
        match &self.values {
            Values::Numbers(numbers, known) => {
                let number =
                    *numbers.get(index(series)).filter(|_| known.get(index(series)).is_some_and(|bit| *bit))?;
                Some(match self.column.value_type() {
                    ValueType::I64 => Value::I64(number.cast_signed()),
                    ValueType::U64 | ValueType::Bytes => Value::U64(number),
                })
            }
            Values::Bytes(bytes) => bytes.get(index(series))?.as_deref().map(Value::Bytes),
        }
    }

    /// Gives a series a value, and combines it with the one that it has.
    ///
    /// # Errors
    /// `SeriesColumn` for a value that the column cannot have, and for values that cannot be combined: different ones
    /// that must be the same, and a sum that the type does not hold. The series keeps its value then.
    pub fn set(&mut self, series: u32, value: Value<'_>) -> Result<(), BuildError> {
        self.column.check(value)?;
        self.combine(series, value)
    }

    /// Gives a series a value as [`SeriesValues::set`] does, of a column with the same type and a unit that is a
    /// multiple of this one's.
    ///
    /// # Errors
    /// `SeriesColumn` for values that cannot be combined.
    pub fn combine(&mut self, series: u32, value: Value<'_>) -> Result<(), BuildError> {
        let combined = match self.get(series) {
            Some(known) => match self.column.merge().combine(known, value) {
                Some(combined) => Owned::from(combined),
                None => {
                    let (name, reason) = (self.column.name().to_owned(), "two values of a series cannot be combined");
                    return Err(BuildError::SeriesColumn { name, reason });
                }
            },
            None => Owned::from(value),
        };
        let at = index(series);
        match (&mut self.values, combined) {
            (Values::Numbers(numbers, known), Owned::Number(number)) => {
                if numbers.len() <= at {
                    numbers.resize(at + 1, 0);
                    known.resize(at + 1, false);
                }
                if let Some(place) = numbers.get_mut(at) {
                    *place = number;
                    known.set(at, true);
                }
            }
            (Values::Bytes(all), Owned::Bytes(bytes)) => {
                if all.len() <= at {
                    all.resize(at + 1, None);
                }
                if let Some(place) = all.get_mut(at) {
                    *place = Some(bytes);
                }
            }
            // The type was checked.
            (Values::Numbers(..), Owned::Bytes(_)) | (Values::Bytes(_), Owned::Number(_)) => {}
        }
        Ok(())
    }

    /// Packs the values of series in an order, which is that of the refs of a block.
    ///
    /// # Errors
    /// None is known: the values were checked.
    pub fn pack(&self, series: impl IntoIterator<Item = u32>) -> Result<PackedColumn, BuildError> {
        let mut column = self.column.clone();
        self.push_to(series, &mut column)?;
        Ok(column.finish())
    }

    /// Appends the values of series, in an order, to a column with the same type and unit.
    ///
    /// # Errors
    /// As [`ColumnWriter::push`], of a column with another type or unit.
    pub fn push_to(&self, series: impl IntoIterator<Item = u32>, column: &mut ColumnWriter) -> Result<(), BuildError> {
        series.into_iter().try_for_each(|series| column.push(self.get(series)))
    }
}

/// A value that is kept.
enum Owned {
    Number(u64),
    Bytes(Box<[u8]>),
}

impl From<Value<'_>> for Owned {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::I64(number) => Self::Number(number.cast_unsigned()),
            Value::U64(number) => Self::Number(number),
            Value::Bytes(bytes) => Self::Bytes(bytes.into()),
        }
    }
}
