//! Rows of a batch to series: [`Rows`].

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use chronoxide_format::metadata::MetricMetadata;

use super::entries::Entries;
use super::schema::{Content, LabelColumn, LabelColumns, MetadataColumns};
use super::texts::Texts;
use super::values::{Cell, Values, nanoseconds};
use crate::columns::error::{ColumnsError, RowsError, SkippedRows};
use crate::series::{KnownLabels, SeriesSink};

/// Maximum number of reasons of skipped rows that are kept. Further rows are counted.
const MAX_REASONS: usize = 20;

/// Reader of the rows of batches with one schema.
pub(crate) struct Rows {
    columns: LabelColumns,
    states: Vec<State>,
    /// Times of all rows: the first and the last nanosecond since 1970.
    times: Option<(i64, i64)>,
    skips: bool,
    skipped: SkippedRows,
    last_metadata: [String; 3],
}

/// State of a column of labels between batches.
#[derive(Default)]
struct State {
    /// Labels by tokens.
    known: KnownLabels,
    /// Dictionary whose codes are the tokens. Owned, so that no other dictionary takes its place in memory.
    dictionary: Option<ArrayRef>,
    /// True if bytes are text, or `None` if there were none yet.
    is_text: Option<bool>,
}

/// Column of labels of a batch.
enum Cells {
    Texts(Texts),
    Entries(Box<Entries>),
    /// Not text, and ignored.
    Nothing,
}

impl Rows {
    /// Creates a reader. With `skips`, a bad value costs its row and is not an error.
    pub(super) fn new(columns: LabelColumns, skips: bool) -> Self {
        let states = columns.labels.iter().map(|_| State::default()).collect();
        let (skipped, last_metadata) = (SkippedRows::default(), Default::default());
        Self { columns, states, times: None, skips, skipped, last_metadata }
    }

    /// Sets the times of all rows that have none.
    pub(super) fn set_times(&mut self, times: Option<(i64, i64)>) {
        self.times = times;
    }

    pub(super) fn columns(&self) -> &LabelColumns {
        &self.columns
    }

    /// Returns the rows that were skipped since the last call.
    pub(super) fn take_skipped(&mut self) -> SkippedRows {
        std::mem::take(&mut self.skipped)
    }

    /// Gives each row of a batch of the projected columns to the sink, as one series.
    ///
    /// # Errors
    ///
    /// Rows with bad values are not skipped and a text is not UTF-8 or a key of a map is NULL; or the sink refuses a
    /// part. Rows before were given.
    pub(super) fn give<S: SeriesSink>(&mut self, batch: &RecordBatch, sink: &mut S) -> Result<(), RowsError<S::Error>> {
        let cells = self.cells(batch)?;
        let metadata = self.columns.metadata.map(|metadata| Metadata::new(metadata, batch)).transpose()?;
        let times = self.columns.timestamp.and_then(|position| batch.columns().get(position));
        let mut values = Vec::with_capacity(self.columns.values.len());
        for (position, facts) in &self.columns.values {
            let column = batch.columns().get(*position).and_then(Values::new).ok_or_else(other_type)?;
            values.push((sink.column(facts).map_err(RowsError::Sink)?, column));
        }
        for row in 0..batch.num_rows() {
            if let Some(metadata) = &metadata {
                metadata.give(row, &mut self.last_metadata, sink).map_err(RowsError::Sink)?;
            }
            // Discards a row before that has a bad value.
            sink.series_begins().map_err(RowsError::Sink)?;
            let given = give_labels(row, &cells, &self.columns.labels, &mut self.states, sink)
                .and_then(|()| give_values(row, &values, sink));
            match given {
                Err(RowsError::Columns(error)) if self.skips => {
                    self.skipped.count += 1;
                    if self.skipped.reasons.len() < MAX_REASONS {
                        self.skipped.reasons.push(error);
                    }
                    continue;
                }
                given => given?,
            }
            match (times.filter(|times| !times.is_null(row)), self.times) {
                (Some(times), _) => match nanoseconds(times, row) {
                    Some(time) => sink.points(time, time),
                    None => sink.point_without_time(),
                },
                (None, Some((first, last))) => sink.points(first, last),
                (None, None) => Ok(()),
            }
            .map_err(RowsError::Sink)?;
            sink.series_ends().map_err(RowsError::Sink)?;
        }
        Ok(())
    }

    fn cells(&mut self, batch: &RecordBatch) -> Result<Vec<Cells>, ColumnsError> {
        let Self { columns, states, .. } = self;
        let LabelColumns { labels, ignored, .. } = columns;
        let mut all = Vec::with_capacity(labels.len());
        for (column, state) in labels.iter().zip(states) {
            let array = batch.columns().get(column.position).ok_or_else(other_type)?;
            let cells = match &column.content {
                Content::Entries => Cells::Entries(Box::new(Entries::new(array).ok_or_else(other_type)?)),
                Content::Text => Cells::Texts(Texts::new(array).ok_or_else(other_type)?),
                &Content::Field(field) => {
                    let structs = array.as_struct_opt().ok_or_else(other_type)?;
                    // NULL of a struct is NULL of its fields.
                    let structs = structs.clone().into_parts();
                    let (_, fields, nulls) = structs;
                    let array = fields.get(field).ok_or_else(other_type)?;
                    Cells::Texts(Texts::new(&with_nulls(array, nulls.as_ref())?).ok_or_else(other_type)?)
                }
                Content::Binary(shown) => {
                    let texts = Texts::new(array).ok_or_else(other_type)?;
                    if state.is_text.is_none() {
                        state.is_text = most_are_text(&texts, batch.num_rows());
                        if state.is_text == Some(false) {
                            ignored.push(shown.clone());
                        }
                    }
                    if state.is_text == Some(false) { Cells::Nothing } else { Cells::Texts(texts) }
                }
            };
            if let Cells::Texts(texts) = &cells {
                state.forget_tokens(texts);
            }
            all.push(cells);
        }
        Ok(all)
    }
}

impl State {
    /// Forgets the tokens of the last batch, except for codes of a dictionary that this batch has too.
    fn forget_tokens(&mut self, texts: &Texts) {
        let is_same = match (texts.dictionary(), &self.dictionary) {
            (Some(now), Some(before)) => now.to_data().ptr_eq(&before.to_data()),
            _ => false,
        };
        if !is_same {
            self.known.clear();
            self.dictionary = texts.dictionary().cloned();
        }
    }
}

/// Gives the labels of a row to the sink, the weakest first.
fn give_labels<S: SeriesSink>(
    row: usize,
    cells: &[Cells],
    columns: &[LabelColumn],
    states: &mut [State],
    sink: &mut S,
) -> Result<(), RowsError<S::Error>> {
    for ((cells, column), state) in cells.iter().zip(columns).zip(states) {
        let name = &column.name;
        match cells {
            Cells::Texts(texts) => {
                let Some(value) = texts.get(row).filter(|value| !value.is_empty()) else { continue };
                let token = texts.token(row);
                let is_known = token.is_some_and(|token| sink.known_label(&state.known, token));
                if !is_known {
                    let value = text(value, row, "value", name)?;
                    sink.keep_label(&mut state.known, token, name, value).map_err(RowsError::Sink)?;
                }
            }
            Cells::Entries(entries) => {
                for entry in entries.of_row(row) {
                    let Some(value) = entries.value(entry).filter(|value| !value.is_empty()) else { continue };
                    let Some(key) = entries.key(entry) else {
                        let (row, column) = (row as u64 + 1, name.clone());
                        return Err(ColumnsError::NullKey { row, column }.into());
                    };
                    // Entries have no tokens: looking up pairs of them took longer than interning the texts.
                    let (key, value) = (text(key, row, "key", name)?, text(value, row, "value", name)?);
                    sink.label(key, value).map_err(RowsError::Sink)?;
                }
            }
            Cells::Nothing => {}
        }
    }
    Ok(())
}

/// Gives the values of a row to the sink.
fn give_values<S: SeriesSink>(
    row: usize,
    columns: &[(usize, Values)],
    sink: &mut S,
) -> Result<(), RowsError<S::Error>> {
    for (number, values) in columns {
        match values.get(row)? {
            Cell::Null => Ok(()),
            Cell::Value(value) => sink.value(*number, value),
            Cell::OutOfRange => sink.value_out_of_range(*number),
        }
        .map_err(RowsError::Sink)?;
    }
    Ok(())
}

/// Names, units and descriptions of the metrics of a batch.
struct Metadata {
    name: Texts,
    unit: Option<Texts>,
    description: Option<Texts>,
}

impl Metadata {
    fn new(columns: MetadataColumns, batch: &RecordBatch) -> Result<Self, ColumnsError> {
        let texts = |position: usize| batch.columns().get(position).and_then(Texts::new).ok_or_else(other_type);
        let MetadataColumns { name, unit, description } = columns;
        let (unit, description) = (unit.map(texts).transpose()?, description.map(texts).transpose()?);
        Ok(Self { name: texts(name)?, unit, description })
    }

    /// Gives the metadata of a row to the sink, unless the row before has the same.
    fn give<S: SeriesSink>(&self, row: usize, last: &mut [String; 3], sink: &mut S) -> Result<(), S::Error> {
        // A text that is not UTF-8 is not worth the row, unless it is a label.
        let get =
            |texts: &Texts| texts.get(row).and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default().to_owned();
        let now = [
            get(&self.name),
            self.unit.as_ref().map(get).unwrap_or_default(),
            self.description.as_ref().map(get).unwrap_or_default(),
        ];
        if now == *last || now.iter().skip(1).all(String::is_empty) {
            return Ok(());
        }
        let [name, unit, description] = &now;
        sink.metadata(&MetricMetadata { name, unit, description, ..MetricMetadata::default() })?;
        *last = now;
        Ok(())
    }
}

/// Returns an array that is also NULL where `nulls` say so.
fn with_nulls(array: &ArrayRef, nulls: Option<&arrow_buffer::NullBuffer>) -> Result<ArrayRef, ColumnsError> {
    let Some(nulls) = nulls else { return Ok(array.clone()) };
    let all = arrow_buffer::NullBuffer::union(array.nulls(), Some(nulls));
    let data = array.to_data().into_builder().nulls(all).build();
    data.map(arrow_array::make_array).map_err(|error| ColumnsError::Data(error.to_string()))
}

/// Returns true if most values are text, or `None` if there are none.
fn most_are_text(texts: &Texts, row_count: usize) -> Option<bool> {
    let (mut count, mut text_count) = (0, 0);
    for value in (0..row_count).filter_map(|row| texts.get(row)).filter(|value| !value.is_empty()) {
        count += 1;
        text_count += usize::from(str::from_utf8(value).is_ok_and(|text| !text.chars().any(char::is_control)));
    }
    (count > 0).then_some(text_count * 2 > count)
}

fn text<'a>(bytes: &'a [u8], row: usize, part: &'static str, column: &str) -> Result<&'a str, ColumnsError> {
    str::from_utf8(bytes).map_err(|_| ColumnsError::Utf8 { row: row as u64 + 1, part, column: column.to_owned() })
}

fn other_type() -> ColumnsError {
    ColumnsError::Message("a column has another type than in the schema")
}
