//! Rows of a batch to series: [`Rows`].

use arrow_array::cast::AsArray;
use arrow_array::types::{
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, MapArray, RecordBatch};
use arrow_schema::{DataType, TimeUnit};

use super::error::ColumnsError;
use super::schema::LabelColumns;
use super::texts::Texts;
use crate::series::{KnownLabels, SeriesSink};

/// Reader of the rows of batches with one schema.
pub(crate) struct Rows {
    columns: LabelColumns,
    known: Vec<Known>,
}

/// Labels of a column, by tokens.
#[derive(Default)]
struct Known {
    labels: KnownLabels,
    /// Dictionary whose codes are the tokens. Owned, so that no other dictionary takes its place in memory.
    dictionary: Option<ArrayRef>,
}

/// Error of reading rows. `E` is the error of the sink.
pub(crate) enum RowsError<E> {
    Columns(ColumnsError),
    Sink(E),
}

impl<E> From<ColumnsError> for RowsError<E> {
    fn from(error: ColumnsError) -> Self {
        Self::Columns(error)
    }
}

impl Rows {
    pub(super) fn new(columns: LabelColumns) -> Self {
        let known = columns.texts.iter().map(|_| Known::default()).collect();
        Self { columns, known }
    }

    pub(super) fn columns(&self) -> &LabelColumns {
        &self.columns
    }

    /// Gives each row of a batch of the projected columns to the sink, as one series.
    ///
    /// # Errors
    ///
    /// A text is not UTF-8, a key of a map is NULL, or the sink refuses a part. Rows before were given.
    pub(super) fn give<S: SeriesSink>(&mut self, batch: &RecordBatch, sink: &mut S) -> Result<(), RowsError<S::Error>> {
        let texts = self.texts(batch)?;
        let map = self.columns.map.as_ref().and_then(|&(position, _)| batch.columns().get(position));
        let map = map.map(Map::new).transpose()?;
        let times = self.columns.timestamp.and_then(|position| batch.columns().get(position));
        self.forget_tokens(&texts);
        for row in 0..batch.num_rows() {
            sink.series_begins().map_err(RowsError::Sink)?;
            if let (Some(map), Some((_, column))) = (&map, &self.columns.map) {
                map.give(row, column, sink)?;
            }
            for ((texts, (_, name)), known) in texts.iter().zip(&self.columns.texts).zip(&mut self.known) {
                let Some(value) = texts.get(row).filter(|value| !value.is_empty()) else { continue };
                let token = texts.token(row);
                let known_value = token.is_some_and(|token| sink.known_label(&known.labels, token));
                if !known_value {
                    let value = text(value, row, "value", name)?;
                    sink.keep_label(&mut known.labels, token, name, value).map_err(RowsError::Sink)?;
                }
            }
            if let Some(time) = times.and_then(|times| nanoseconds(times, row)) {
                sink.points(time, time).map_err(RowsError::Sink)?;
            }
            sink.series_ends().map_err(RowsError::Sink)?;
        }
        Ok(())
    }

    fn texts(&self, batch: &RecordBatch) -> Result<Vec<Texts>, ColumnsError> {
        let texts = self.columns.texts.iter();
        texts.map(|&(position, _)| batch.columns().get(position).and_then(Texts::new).ok_or_else(other_type)).collect()
    }

    /// Forgets the tokens of the last batch, except for codes of a dictionary that this batch has too.
    fn forget_tokens(&mut self, texts: &[Texts]) {
        for (texts, known) in texts.iter().zip(&mut self.known) {
            let is_same = match (texts.dictionary(), &known.dictionary) {
                (Some(now), Some(before)) => now.to_data().ptr_eq(&before.to_data()),
                _ => false,
            };
            if !is_same {
                known.labels.clear();
                known.dictionary = texts.dictionary().cloned();
            }
        }
    }
}

/// Entries of a column of maps.
struct Map {
    map: MapArray,
    keys: Texts,
    values: Texts,
}

impl Map {
    fn new(column: &ArrayRef) -> Result<Self, ColumnsError> {
        let map = column.as_map_opt().ok_or_else(other_type)?;
        let keys = Texts::new(map.keys()).ok_or_else(other_type)?;
        let values = Texts::new(map.values()).ok_or_else(other_type)?;
        Ok(Self { map: map.clone(), keys, values })
    }

    fn give<S: SeriesSink>(&self, row: usize, column: &str, sink: &mut S) -> Result<(), RowsError<S::Error>> {
        let offsets = self.map.value_offsets();
        let (Some(&start), Some(&end)) = (offsets.get(row), offsets.get(row + 1)) else { return Ok(()) };
        if self.map.is_null(row) {
            return Ok(());
        }
        for entry in start.max(0) as usize..end.max(0) as usize {
            let Some(value) = self.values.get(entry).filter(|value| !value.is_empty()) else { continue };
            let Some(key) = self.keys.get(entry) else {
                let (row, column) = (row as u64 + 1, column.to_owned());
                return Err(ColumnsError::NullKey { row, column }.into());
            };
            // Entries have no tokens: looking up pairs of them took longer than interning the texts.
            let (name, value) = (text(key, row, "key", column)?, text(value, row, "value", column)?);
            sink.label(name, value).map_err(RowsError::Sink)?;
        }
        Ok(())
    }
}

fn text<'a>(bytes: &'a [u8], row: usize, part: &'static str, column: &str) -> Result<&'a str, ColumnsError> {
    str::from_utf8(bytes).map_err(|_| ColumnsError::Utf8 { row: row as u64 + 1, part, column: column.to_owned() })
}

/// Returns the time of a row in nanoseconds since 1970, or `None` if it is NULL or does not fit into 64 bits.
fn nanoseconds(times: &ArrayRef, row: usize) -> Option<i64> {
    let DataType::Timestamp(unit, _) = times.data_type() else { return None };
    if times.is_null(row) {
        return None;
    }
    let (time, factor) = match unit {
        TimeUnit::Second => (times.as_primitive_opt::<TimestampSecondType>()?.value(row), 1_000_000_000),
        TimeUnit::Millisecond => (times.as_primitive_opt::<TimestampMillisecondType>()?.value(row), 1_000_000),
        TimeUnit::Microsecond => (times.as_primitive_opt::<TimestampMicrosecondType>()?.value(row), 1_000),
        TimeUnit::Nanosecond => (times.as_primitive_opt::<TimestampNanosecondType>()?.value(row), 1),
    };
    time.checked_mul(factor)
}

fn other_type() -> ColumnsError {
    ColumnsError::Message("a column has another type than in the schema")
}
