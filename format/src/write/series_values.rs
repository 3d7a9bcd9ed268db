//! [`SeriesValues`]: values of a series column that come in any order of series.

use super::{BuildError, ColumnWriter, PackedColumn};
use crate::SeriesRef;
use crate::column::{ColumnMerge, Value, ValueType};
use crate::number::{index, length, low32};
use crate::view::SeriesColumn;

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
    /// Numbers in units, and which series have one. Signed numbers as the unsigned ones of the same bits.
    Numbers(Vec<u64>, Vec<bool>),
    Bytes(Vec<Option<Box<[u8]>>>),
}

impl SeriesValues {
    /// Returns a column without values. `column` has none either.
    #[must_use]
    pub fn new(column: ColumnWriter) -> Self {
        let values = match column.value_type() {
            ValueType::Bytes => Values::Bytes(Vec::new()),
            ValueType::I64 | ValueType::U64 => Values::Numbers(Vec::new(), Vec::new()),
        };
        Self { column: column.with_combined_unit(), values }
    }

    /// Makes room for the values of series up to a number, which can have values beyond it as well.
    #[must_use]
    pub fn with_room(mut self, series: u32) -> Self {
        match &mut self.values {
            Values::Numbers(numbers, known) => {
                make_room(numbers, known, index(series));
            }
            Values::Bytes(bytes) => bytes.resize(bytes.len().max(index(series)), None),
        }
        self
    }

    /// Returns the name of the column.
    #[must_use]
    pub fn name(&self) -> &str {
        self.column.name()
    }

    /// Returns the value of a series.
    #[must_use]
    pub fn get(&self, series: u32) -> Option<Value<'_>> {
        let at = index(series);
        match &self.values {
            Values::Numbers(numbers, known) => {
                let number = numbers.get(at).filter(|_| known.get(at) == Some(&true))?;
                Some(self.column.number(*number))
            }
            Values::Bytes(bytes) => bytes.get(at)?.as_deref().map(Value::Bytes),
        }
    }

    /// Returns each series with a value, in the order of their numbers.
    pub fn values(&self) -> impl Iterator<Item = (u32, Value<'_>)> {
        let count = match &self.values {
            Values::Numbers(numbers, _) => numbers.len(),
            Values::Bytes(bytes) => bytes.len(),
        };
        (0..u32::try_from(count).unwrap_or(u32::MAX)).filter_map(|series| Some((series, self.get(series)?)))
    }

    /// Gives a series a value, and combines it with the one that it has.
    ///
    /// # Errors
    /// `SeriesColumn` for a value that the column cannot have, and for values that cannot be combined: different ones
    /// that must be the same, and a sum that the type does not hold. The series keeps its value then.
    pub fn set(&mut self, series: u32, value: Value<'_>) -> Result<(), BuildError> {
        let number = self.column.in_units(value)?;
        let is_combined = match (&mut self.values, value) {
            (Values::Numbers(numbers, known), _) => {
                let combine = self.column.combination();
                place(numbers, known, series).is_none_or(|place| place.combine(number, combine))
            }
            (Values::Bytes(all), Value::Bytes(bytes)) => combine_bytes(all, series, bytes, self.column.merge()),
            // The type was checked.
            (Values::Bytes(_), Value::I64(_) | Value::U64(_)) => true,
        };
        self.combined(is_combined)
    }

    /// Gives series the values of a block's series, as [`SeriesValues::set`] does: `targets` has the series for the one
    /// with ref `first` and those behind it, `None` for those that are left out. The column of the block has the same
    /// type and way to merge, and a unit that is a multiple of this one's.
    ///
    /// # Errors
    /// `SeriesColumn` for values that cannot be combined, and `Corrupt` if a byte that was read is damaged.
    pub fn combine<E: From<BuildError> + From<crate::Error>>(
        &mut self,
        column: &SeriesColumn<'_>,
        first: SeriesRef,
        targets: &[Option<u32>],
    ) -> Result<(), E> {
        let series = first..SeriesRef(first.0.saturating_add(low32(length(targets.len()))));
        let merge = self.column.merge();
        let mut is_combined = true;
        match &mut self.values {
            Values::Numbers(numbers, known) => {
                let factor = column.unit().checked_div(self.column.unit).unwrap_or(1);
                let combine = self.column.combination();
                let mut targets = targets;
                column.read_units::<crate::Error>(series, |group| {
                    let (of_group, others) = targets.split_at_checked(group.len()).unwrap_or_default();
                    targets = others;
                    if let Some(last) = of_group.iter().flatten().max() {
                        make_room(numbers, known, index(*last) + 1);
                    }
                    for (number, target) in group.iter().zip(of_group) {
                        let (Some(number), Some(target)) = (number, target) else { continue };
                        if let Some(place) = Number::at(numbers, known, *target) {
                            is_combined &= place.combine(number.wrapping_mul(factor), combine);
                        }
                    }
                    Ok(())
                })?;
            }
            Values::Bytes(all) => column.read::<crate::Error>(series, |series, value| {
                let target = targets.get(index(series.0 - first.0)).copied().flatten();
                if let (Some(Value::Bytes(bytes)), Some(target)) = (value, target) {
                    is_combined &= combine_bytes(all, target, bytes, merge);
                }
                Ok(())
            })?,
        }
        Ok(self.combined(is_combined)?)
    }

    fn combined(&self, is_combined: bool) -> Result<(), BuildError> {
        if is_combined {
            return Ok(());
        }
        let reason = "two values of a series cannot be combined";
        Err(BuildError::SeriesColumn { name: self.column.name().to_owned(), reason })
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

    /// Appends the values of series, in an order, to the column that this one was made of, or another of its type.
    ///
    /// # Errors
    /// As [`ColumnWriter::push`].
    pub fn push_to(&self, series: impl IntoIterator<Item = u32>, column: &mut ColumnWriter) -> Result<(), BuildError> {
        let mut series = series.into_iter();
        let is_alike = (column.value_type(), column.unit) == (self.column.value_type(), self.column.unit);
        match &self.values {
            Values::Numbers(numbers, known) if is_alike => series.try_for_each(|series| {
                let at = index(series);
                column.push_units(numbers.get(at).copied().filter(|_| known.get(at) == Some(&true)))
            }),
            _ => series.try_for_each(|series| column.push(self.get(series))),
        }
    }
}

/// Place of a number of a series.
struct Number<'v> {
    number: &'v mut u64,
    is_known: &'v mut bool,
}

impl<'v> Number<'v> {
    /// Returns the place of a series, or `None` if there is no room for it.
    #[inline]
    fn at(numbers: &'v mut [u64], known: &'v mut [bool], series: u32) -> Option<Self> {
        let at = index(series);
        Some(Self { number: numbers.get_mut(at)?, is_known: known.get_mut(at)? })
    }

    /// Combines a number with the one that is there. Returns false, and changes nothing, if that cannot be done.
    #[inline]
    fn combine(self, newer: u64, combine: impl Fn(u64, u64) -> Option<u64>) -> bool {
        let combined = if *self.is_known { combine(*self.number, newer) } else { Some(newer) };
        if let Some(combined) = combined {
            *self.number = combined;
            *self.is_known = true;
        }
        combined.is_some()
    }
}

/// Returns the place of a series, which is made if there is none.
#[inline]
fn place<'v>(numbers: &'v mut Vec<u64>, known: &'v mut Vec<bool>, series: u32) -> Option<Number<'v>> {
    make_room(numbers, known, index(series) + 1);
    Number::at(numbers, known, series)
}

/// Makes places for the numbers of at least `count` series.
#[inline]
fn make_room(numbers: &mut Vec<u64>, known: &mut Vec<bool>, count: usize) {
    if numbers.len() < count {
        numbers.resize(count, 0);
        known.resize(count, false);
    }
}

/// Combines the bytes of a series with those that are there. Returns false, and changes nothing, if that cannot be
/// done.
fn combine_bytes(all: &mut Vec<Option<Box<[u8]>>>, series: u32, newer: &[u8], merge: ColumnMerge) -> bool {
    let at = index(series);
    if all.len() <= at {
        all.resize(at + 1, None);
    }
    let Some(place) = all.get_mut(at) else { return true };
    let combined = match place.as_deref() {
        Some(known) => merge.combine(Value::Bytes(known), Value::Bytes(newer)),
        None => Some(Value::Bytes(newer)),
    };
    match combined {
        // The text that is there is kept.
        Some(Value::Bytes(bytes)) if place.as_deref() == Some(bytes) => true,
        Some(Value::Bytes(bytes)) => {
            *place = Some(bytes.into());
            true
        }
        _ => false,
    }
}
