//! Values of the series of a window: [`WindowValues`]; and the columns of all inputs: [`InputColumns`].

use std::num::NonZeroU64;

use chronoxide_format::column::{Value, ValueType};
use chronoxide_format::layout::MAX_SERIES_COLUMNS;
use chronoxide_format::write::{BuildError, ColumnWriter, SeriesValues};

use super::error::AssembleError;
use crate::series::ColumnFacts;

/// Series of a page, as of times: a series with a high number costs one page.
const PAGE_LEN: usize = 32;

/// Pages by which the list of pages grows.
const PAGES_PER_GROWTH: usize = 16;

/// Overhead of an allocation in bytes.
const OVERHEAD: usize = 16;

/// Memory in bytes per series of a column of bytes while it is sealed, besides the texts: two lists that have grown to
/// twice their content, and packed numbers of up to 5 bytes in 7 copies.
const BYTES_SEALING: usize = 2 * 16 + 8 + 2 * 7 * 5;

/// Copies of texts while they are sealed: those of the columns, and six of the section and the block.
const TEXT_COPIES: usize = 8;

/// Memory in bytes per series of a column of numbers while it is sealed: a list of 9 bytes that has grown to twice its
/// content, its order, and packed numbers of all 64 bits in 7 copies.
const NUMBER_SEALING: usize = 2 * 9 + 8 + 7 * 9;

/// A column of the inputs.
#[derive(Debug, Clone)]
struct InputColumn {
    facts: ColumnFacts,
    /// Name of the first input that has it.
    input: String,
    /// Upper bound of the numbers of series with values that were not sealed yet.
    count: usize,
    /// Bytes of texts that were not sealed yet.
    text_len: usize,
}

/// Columns of all inputs so far, by their numbers.
#[derive(Debug, Default, Clone)]
pub(super) struct InputColumns(Vec<InputColumn>);

impl InputColumns {
    /// Returns the number of a column of an input.
    ///
    /// # Errors
    /// Another input has a column of this name with another type or way to merge, or there are too many columns.
    pub(super) fn number(&mut self, facts: &ColumnFacts, input: &str) -> Result<usize, AssembleError> {
        let Some(number) = self.0.iter().position(|column| column.facts.name == facts.name) else {
            let (facts, input) = (facts.clone(), input.to_owned());
            if self.0.len() == MAX_SERIES_COLUMNS {
                return Err(AssembleError::TooManyColumns { input, name: facts.name });
            }
            self.0.push(InputColumn { facts, input, count: 0, text_len: 0 });
            return Ok(self.0.len() - 1);
        };
        let known = &mut self.0[number];
        if (known.facts.value_type, known.facts.merge) != (facts.value_type, facts.merge) {
            let shown = |facts: &ColumnFacts| format!("{} {}", facts.value_type, facts.merge);
            return Err(AssembleError::ColumnsDiffer {
                name: facts.name.clone(),
                first: (known.input.clone(), shown(&known.facts)),
                second: (input.to_owned(), shown(facts)),
            });
        }
        known.facts.unit = facts.merge.common_unit(known.facts.unit, facts.unit);
        Ok(number)
    }

    /// Makes the unit of a column one of a value.
    pub(super) fn note(&mut self, number: usize, value: Value<'_>) {
        let Some(column) = self.0.get_mut(number) else { return };
        let magnitude = match value {
            Value::I64(number) => number.unsigned_abs(),
            Value::U64(number) => number,
            Value::Bytes(_) => return,
        };
        if !magnitude.is_multiple_of(column.facts.unit) {
            column.facts.unit = column.facts.merge.common_unit(column.facts.unit, magnitude);
        }
    }

    /// Notes what the memory of sealing a value depends on: the number of its series, and by how much its text grew.
    fn note_series(&mut self, number: usize, series: usize, grown_text: usize) {
        if let Some(column) = self.0.get_mut(number) {
            column.count = column.count.max((series + 1).next_multiple_of(PAGE_LEN));
            column.text_len += grown_text;
        }
    }

    /// Returns the columns for the values so far, which do not count any more.
    pub(super) fn take_sealed(&mut self) -> Self {
        let sealed = self.clone();
        for column in &mut self.0 {
            (column.count, column.text_len) = (0, 0);
        }
        sealed
    }

    /// Returns the memory in bytes that the columns of a window take while they are sealed.
    pub(super) fn sealing_bytes(&self) -> usize {
        let bytes = |column: &InputColumn| match column.facts.value_type {
            ValueType::Bytes => column.count * BYTES_SEALING + column.text_len * TEXT_COPIES,
            ValueType::I64 | ValueType::U64 => column.count * NUMBER_SEALING,
        };
        self.0.iter().map(bytes).sum()
    }
}

/// A value that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OwnedValue {
    I64(i64),
    U64(u64),
    Bytes(Box<[u8]>),
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::I64(number) => Self::I64(number),
            Value::U64(number) => Self::U64(number),
            Value::Bytes(bytes) => Self::Bytes(bytes.into()),
        }
    }
}

impl OwnedValue {
    pub(super) fn borrowed(&self) -> Value<'_> {
        match self {
            Self::I64(number) => Value::I64(*number),
            Self::U64(number) => Value::U64(*number),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }

    fn text_len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len() + OVERHEAD,
            Self::I64(_) | Self::U64(_) => 0,
        }
    }
}

type Page = [Option<OwnedValue>; PAGE_LEN];

/// Values of the series of a window, by the numbers of columns and of series in the store.
#[derive(Debug, Default)]
pub(super) struct WindowValues(Vec<Vec<Option<Box<Page>>>>);

impl WindowValues {
    /// Gives a series a value, and combines it with the one that it has. Returns the growth of memory in bytes.
    ///
    /// # Errors
    /// The values cannot be combined.
    pub(super) fn add(
        &mut self,
        series: usize,
        (number, value): (usize, &OwnedValue),
        columns: &mut InputColumns,
    ) -> Result<usize, AssembleError> {
        let Some(facts) = columns.0.get(number).map(|column| &column.facts) else { return Ok(0) };
        if self.0.len() <= number {
            self.0.resize_with(number + 1, Vec::new);
        }
        let pages = &mut self.0[number];
        let mut grown = 0;
        let (page, place) = (series / PAGE_LEN, series % PAGE_LEN);
        if pages.len() <= page {
            let before = pages.capacity();
            pages.resize_with((page + 1).next_multiple_of(PAGES_PER_GROWTH), || None);
            grown += (pages.capacity() - before) * size_of::<Option<Box<Page>>>();
        }
        let page = pages[page].get_or_insert_with(|| {
            grown += size_of::<Page>() + OVERHEAD;
            Box::new([const { None }; PAGE_LEN])
        });
        let slot = &mut page[place];
        let before = slot.as_ref().map_or(0, OwnedValue::text_len);
        let combined = match &*slot {
            Some(known) => match facts.merge.combine(known.borrowed(), value.borrowed()) {
                Some(combined) => OwnedValue::from(combined),
                None => return Err(AssembleError::Values { name: facts.name.clone(), merge: facts.merge }),
            },
            None => value.clone(),
        };
        let text_len = combined.text_len();
        *slot = Some(combined);
        // Shorter texts replace longer ones, whose memory is counted until the values are sealed.
        let grown_text = text_len.saturating_sub(before);
        columns.note_series(number, series, grown_text);
        Ok(grown + grown_text)
    }

    /// Adds the values to the columns of times: to the one of the same name, and otherwise as columns of their own.
    ///
    /// # Errors
    /// None is known: the values were checked.
    pub(super) fn add_to(
        &self,
        times: Vec<SeriesValues>,
        step: Option<NonZeroU64>,
        columns: &InputColumns,
    ) -> Result<Vec<SeriesValues>, BuildError> {
        let mut all = times;
        for (InputColumn { facts, .. }, pages) in columns.0.iter().zip(&self.0) {
            if pages.is_empty() {
                continue;
            }
            let known = all.iter().position(|column| column.name() == facts.name);
            let unit = known.and(step).map_or(facts.unit, |step| facts.merge.common_unit(facts.unit, step.get()));
            let writer = ColumnWriter::with_unit(&facts.name, facts.value_type, facts.merge, unit)?;
            let mut column = SeriesValues::new(writer);
            for (first, page) in (0..).step_by(PAGE_LEN).zip(pages) {
                for (series, value) in (first..).zip(page.iter().flat_map(|page| page.iter())) {
                    if let Some(value) = value {
                        column.set(series, value.borrowed())?;
                    }
                }
            }
            match known.and_then(|position| all.get_mut(position)) {
                Some(times) => {
                    times.values().try_for_each(|(series, value)| column.set(series, value))?;
                    *times = column;
                }
                None => all.push(column),
            }
        }
        Ok(all)
    }
}
