//! [`SeriesColumn`]: the values of a series column (COLUMNS.md).

use std::fmt;
use std::iter::FusedIterator;
use std::ops::Range;

use zerocopy::FromBytes;

use super::numbers::{GROUP_LEN, Group, Numbers};
use super::texts::TextRun;
use crate::bits::Bits;
use crate::column::{ColumnMerge, Value, ValueType};
use crate::error::{Place, corrupt, corrupt_at};
use crate::layout::{MAX_COLUMN_NAME_LEN, SeriesColumnHeader, VALUE_GROUP};
use crate::number::{index, length};
use crate::view::BlockView;
use crate::{Result, Rule, SeriesRef};

/// Number of values from which decoding their group as a whole should be faster than reading each: an estimate.
const FEW_VALUES: u32 = 16;

/// A column of values of a block's series: a value for each, or none.
///
/// ```
/// use chronoxide_format::column::{ColumnMerge, Value, ValueType};
/// use chronoxide_format::layout::RowForm;
/// use chronoxide_format::view::BlockView;
/// use chronoxide_format::write::{BlockBuilder, BlockMeta, ColumnWriter};
/// use chronoxide_format::SeriesRef;
///
/// let mut builder = BlockBuilder::new(RowForm::BitPacked);
/// let symbols = ["__name__", "down", "up"].map(|symbol| builder.push_symbol(symbol));
/// let [key, down, up] = symbols;
/// let name = builder.push_key(key?, &[down?, up?])?;
/// builder.push_keyset(&[name], &[0, 1])?;
/// let mut first_time = ColumnWriter::new("chronoxide.first_time", ValueType::I64, ColumnMerge::Min)?;
/// first_time.push(Some(Value::I64(1_700_000_000)))?;
/// first_time.push(None)?;
/// let bytes = builder.finish(&BlockMeta { columns: vec![first_time.finish()], ..BlockMeta::default() })?;
///
/// let block = BlockView::open(&bytes)?;
/// let column = block.series_column("chronoxide.first_time")?.expect("the block has it");
/// assert_eq!(column.get(SeriesRef(0))?, Some(Value::I64(1_700_000_000)));
/// assert_eq!(column.get(SeriesRef(1))?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct SeriesColumn<'a> {
    /// Id of the section.
    pub(crate) id: u32,
    name: &'a str,
    value_type: ValueType,
    merge: ColumnMerge,
    unit: u64,
    pub(crate) values: Numbers<'a>,
    /// Starts of the texts, and a number more: their end.
    pub(crate) starts: Option<Numbers<'a>>,
    pub(crate) texts: &'a [u8],
    texts_start: u64,
}

impl fmt::Debug for SeriesColumn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value_type, merge, .. } = self;
        let mut debug = f.debug_struct("SeriesColumn");
        debug.field("name", name).field("value_type", value_type).field("merge", merge).finish_non_exhaustive()
    }
}

impl<'a> SeriesColumn<'a> {
    /// Places the parts of column `id`, which must be in range. Costs O(1).
    fn open(view: &BlockView<'a>, id: u32) -> Result<Self> {
        let place = Place::SeriesColumn(id);
        let (section, proofs) = view.column_section(id).unwrap_or_default();
        let bits = Bits::with_proofs(section, Rule::ValueLength, proofs);
        let header_len = length(size_of::<SeriesColumnHeader>());
        let (header, rest) = SeriesColumnHeader::ref_from_prefix(section)
            .map_err(|_| corrupt(Rule::ValueHeader, place, length(section.len()), header_len))?;
        let name_len = header.name_len.get();
        bits.touch(0, header_len + u64::from(name_len))?;
        let Some(name) = rest.get(..index(name_len.into())) else {
            return Err(corrupt(Rule::ValueHeader, place, name_len.into(), length(rest.len())));
        };
        let name = std::str::from_utf8(name).map_err(|_| corrupt_at(Rule::ValueName, place))?;
        if name.is_empty() || u32::from(name_len) > MAX_COLUMN_NAME_LEN {
            return Err(corrupt(Rule::ValueName, place, name_len.into(), MAX_COLUMN_NAME_LEN.into()));
        }
        let value_type = ValueType::from_code(header.value_type);
        let merge = ColumnMerge::from_code(header.merge);
        let unit = header.unit.get();
        let (Some(value_type), Some(merge)) = (value_type, merge) else {
            return Err(corrupt_at(Rule::ValueHeader, place));
        };
        if !merge.allows(value_type) || !value_type.allows_unit(unit) {
            return Err(corrupt_at(Rule::ValueHeader, place));
        }
        let values = Numbers::open(bits, section, header_len + u64::from(name_len), id)?;
        let series = u64::from(view.series_count()?);
        if u64::from(values.count) != series {
            return Err(corrupt(Rule::ValueCount, place, values.count.into(), series));
        }
        let starts = match value_type {
            ValueType::Bytes => Some(Numbers::open(bits, section, values.end(), id)?),
            ValueType::I64 | ValueType::U64 => None,
        };
        let texts_start = starts.map_or(values.end(), |starts| starts.end());
        // Each array was found to be inside.
        let texts = usize::try_from(texts_start).ok().and_then(|start| section.get(start..)).unwrap_or_default();
        if let Some(starts) = starts {
            // More texts than series have no meaning: the number of series bounds the work.
            let text_count = starts.count.checked_sub(1).filter(|&count| count <= values.count);
            if text_count.is_none() {
                return Err(corrupt(Rule::ValueTexts, place, starts.count.into(), series + 1));
            }
        } else if !texts.is_empty() {
            return Err(corrupt(Rule::ValueLength, place, length(section.len()), texts_start));
        }
        Ok(Self { id, name, value_type, merge, unit, values, starts, texts, texts_start })
    }

    /// Returns the name.
    #[must_use]
    pub const fn name(&self) -> &'a str {
        self.name
    }

    /// Returns the type of the values.
    #[must_use]
    pub const fn value_type(&self) -> ValueType {
        self.value_type
    }

    /// Returns the way to combine the values of series that become one.
    #[must_use]
    pub const fn merge(&self) -> ColumnMerge {
        self.merge
    }

    /// Returns the number that all values are multiples of; 1 for bytes.
    #[must_use]
    pub const fn unit(&self) -> u64 {
        self.unit
    }

    /// Returns the number of texts; 0 for numbers.
    #[must_use]
    pub fn text_count(&self) -> u32 {
        self.starts.map_or(0, |starts| starts.count.saturating_sub(1))
    }

    /// Returns the number of bytes of all texts.
    #[must_use]
    pub fn text_len(&self) -> u64 {
        length(self.texts.len())
    }

    /// Returns the number of bytes of the whole column.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        self.texts_start + self.text_len()
    }

    /// Returns the value of a series, or `None` if it has none or is out of range. Allocates nothing; costs the record
    /// of a group and a field, a search among the exceptions of the group, and for bytes two more numbers.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    #[inline]
    pub fn get(&self, series: SeriesRef) -> Result<Option<Value<'a>>> {
        match self.values.get(series.0)? {
            Some(number) => self.value(series.0, number).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the value that a number stands for.
    #[inline]
    pub(crate) fn value(&self, series: u32, number: u64) -> Result<Value<'a>> {
        let value = match self.value_type {
            ValueType::U64 => number.checked_mul(self.unit).map(Value::U64),
            ValueType::I64 => {
                let unit = i64::try_from(self.unit).ok();
                unit.and_then(|unit| number.cast_signed().checked_mul(unit)).map(Value::I64)
            }
            ValueType::Bytes => Some(Value::Bytes(self.text(self.text_number(series, number)?)?)),
        };
        value.ok_or_else(|| corrupt_at(Rule::ValueRange, Place::Value(self.id, series)))
    }

    /// Returns the number of the text that a number stands for.
    #[inline]
    fn text_number(&self, series: u32, number: u64) -> Result<u32> {
        let text = u32::try_from(number).ok().filter(|&text| text < self.text_count());
        text.ok_or_else(|| corrupt_at(Rule::ValueRange, Place::Value(self.id, series)))
    }

    /// Returns the bytes of text `text`, which must be in range.
    pub(crate) fn text(&self, text: u32) -> Result<&'a [u8]> {
        self.text_between(text, self.start(text)?, self.start(text.saturating_add(1))?)
    }

    /// Returns the bytes of text `text` from its start and its end.
    pub(super) fn text_between(&self, text: u32, start: u64, end: u64) -> Result<&'a [u8]> {
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let Some(found) = range.and_then(|(start, end)| self.texts.get(start..end)) else {
            return Err(corrupt(Rule::ValueTexts, Place::ValueText(self.id, text), end, length(self.texts.len())));
        };
        self.values.bits.touch(self.texts_start + start, length(found.len()))?;
        Ok(found)
    }

    /// Returns the start of a text, for `text` up to and including their number.
    pub(crate) fn start(&self, text: u32) -> Result<u64> {
        let start = match self.starts {
            Some(starts) => starts.get(text)?,
            None => None,
        };
        start.ok_or_else(|| corrupt_at(Rule::ValueTexts, Place::ValueText(self.id, text)))
    }

    /// Calls `each` with the values of series in the order of refs, those of series out of range left out. Costs a
    /// fraction of as many calls of [`SeriesColumn::get`], since groups are decoded as a whole, and as much as these
    /// for a few series. Allocates nothing.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged; `each` was called with the values before.
    pub fn read<E: From<crate::Error>>(
        &self,
        series: Range<SeriesRef>,
        mut each: impl FnMut(SeriesRef, Option<Value<'a>>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let end = series.end.0.min(self.values.count);
        let (mut next, mut codes, mut texts) = (series.start.0, [0; GROUP_LEN], TextRun::new(self));
        while next < end {
            let number = next / VALUE_GROUP;
            if end - next < FEW_VALUES {
                each(SeriesRef(next), self.get(SeriesRef(next))?)?;
                next += 1;
                continue;
            }
            let group = self.values.group(number)?;
            let codes = self.values.codes(number, &group, &mut codes)?;
            let first = index(next % VALUE_GROUP);
            for &code in codes.get(first..).unwrap_or_default() {
                if next >= end {
                    break;
                }
                let value = match group.number(code) {
                    Some(number) if self.value_type == ValueType::Bytes => {
                        Some(Value::Bytes(texts.text(self.text_number(next, number)?)?))
                    }
                    Some(number) => Some(self.value(next, number)?),
                    None => None,
                };
                each(SeriesRef(next), value)?;
                next += 1;
            }
            if codes.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

impl SeriesColumn<'_> {
    /// Returns true if the bounds of a group say that all its numbers stand for values of the type.
    fn has_values_only(&self, group: &Group) -> bool {
        let (_, high) = group.bounds();
        match self.value_type {
            ValueType::U64 => group.base.checked_add(high).and_then(|last| last.checked_mul(self.unit)).is_some(),
            ValueType::I64 => {
                let (Ok(high), Ok(unit)) = (i64::try_from(high), i64::try_from(self.unit)) else { return false };
                let is_value = |number: i64| number.checked_mul(unit).is_some();
                let first = group.base.cast_signed();
                is_value(first) && first.checked_add(high).is_some_and(is_value)
            }
            ValueType::Bytes => false,
        }
    }

    /// Calls `each` with the numbers of series in units, in the order of refs: with those of up to 256 series at a
    /// time, series out of range left out.
    ///
    /// # Errors
    /// As [`SeriesColumn::read`].
    pub(crate) fn read_units<E: From<crate::Error>>(
        &self,
        series: Range<SeriesRef>,
        mut each: impl FnMut(&[Option<u64>]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let end = series.end.0.min(self.values.count);
        let (mut next, mut codes, mut numbers) = (series.start.0, [0; GROUP_LEN], [None; GROUP_LEN]);
        while next < end {
            let number = next / VALUE_GROUP;
            let group_start = number * VALUE_GROUP;
            let group_end = group_start.saturating_add(VALUE_GROUP).min(end);
            let group = self.values.group(number)?;
            let codes = self.values.codes(number, &group, &mut codes)?;
            let codes = codes.get(index(next - group_start)..index(group_end - group_start)).unwrap_or_default();
            numbers.iter_mut().zip(codes).for_each(|(out, &code)| *out = group.number(code));
            if !self.has_values_only(&group) {
                for (series, number) in (next..group_end).zip(&numbers) {
                    number.map_or(Ok(()), |number| self.value(series, number).map(|_| ()))?;
                }
            }
            each(numbers.get(..codes.len()).unwrap_or_default())?;
            next = group_end;
        }
        Ok(())
    }
}

impl<'data> BlockView<'data> {
    /// Returns the series columns, in the order of their names. Their headers are checked on each call.
    #[must_use]
    pub const fn series_columns(&self) -> SeriesColumns<'data, '_> {
        SeriesColumns { view: self, ids: 0..self.column_count() }
    }

    /// Returns the series column with a name, or `None` if the block does not have it. Costs a binary search over the
    /// columns.
    ///
    /// # Errors
    /// `Corrupt` if the beginning of a column's section is damaged.
    pub fn series_column(&self, name: &str) -> Result<Option<SeriesColumn<'data>>> {
        let (mut low, mut high) = (0, self.column_count());
        while low < high {
            let middle = low + (high - low) / 2;
            let column = SeriesColumn::open(self, middle)?;
            match column.name().cmp(name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(Some(column)),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }
}

/// Iterator over the series columns of a block. After an error it ends.
#[derive(Clone, Debug)]
pub struct SeriesColumns<'data, 'view> {
    view: &'view BlockView<'data>,
    ids: Range<u32>,
}

impl FusedIterator for SeriesColumns<'_, '_> {}

impl<'data> Iterator for SeriesColumns<'data, '_> {
    type Item = Result<SeriesColumn<'data>>;

    fn next(&mut self) -> Option<Self::Item> {
        let column = SeriesColumn::open(self.view, self.ids.next()?);
        if column.is_err() {
            self.ids = 0..0;
        }
        Some(column)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // An error may come before the last column.
        (0, self.ids.size_hint().1)
    }
}
