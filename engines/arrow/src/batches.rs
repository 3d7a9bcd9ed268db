//! [`Batches`]: the record batches of a scan.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader, StringViewArray, UInt64Array, new_null_array,
};
use arrow_schema::{ArrowError, SchemaRef};
use chronoxide_format::column::ValueType;
use chronoxide_format::view::TimeRange;
use chronoxide_format::{KeyId, SeriesRef};
use chronoxide_select::{CodeColumn, ColumnReader, Limits, Pages, Searcher, SelectError};

use crate::codes::{Codes, Nulls};
use crate::column::{ColumnContent, schema};
use crate::dictionary::damaged_key;
use crate::fingerprints::Fingerprints;
use crate::label_map::label_map;
use crate::scan::{ScannedSeries, timed};
use crate::values::values_of;
use crate::{BlockTable, Scan, Strings, TableError};

/// Iterator over the record batches of a [`Scan`]. After an error it ends.
///
/// Holds the block open, the dictionaries of the columns that were read, at most 32 MiB of decoded codes, and 16 bytes
/// per series for a column of fingerprints.
#[derive(Debug)]
pub struct Batches {
    table: BlockTable,
    schema: SchemaRef,
    strings: Strings,
    sources: Vec<Source>,
    /// Keys whose codes are read.
    keys: Vec<KeyId>,
    /// Columns without a value: batches share them.
    nulls: Nulls,
    pending: Pending,
    batch_size: usize,
    /// Number of series that are still to be read, at most.
    left: u64,
    reader: ColumnReader,
    /// Empty unless a column has fingerprints.
    fingerprints: Fingerprints,
}

/// Origin of a column.
#[derive(Clone, Debug)]
enum Source {
    SeriesRef,
    BlockId,
    /// Key, by its position among those whose codes are read.
    Key(usize),
    /// A label that the block does not have.
    Absent,
    Labels,
    Values(String, ValueType),
    Fingerprint,
}

/// Series that were not read yet.
#[derive(Debug)]
enum Pending {
    /// Ranges in order, and the pages of those after them.
    Ranges(VecDeque<Range<SeriesRef>>, Option<(Box<Pages>, Option<TimeRange>)>),
    /// Series in the order of their labels.
    Sorted(std::vec::IntoIter<SeriesRef>),
}

/// Number of series of a batch, the series as runs, and the codes of each key.
type Read = (usize, Vec<Range<SeriesRef>>, Vec<Codes>);

impl Batches {
    pub(crate) fn new(scan: &Scan) -> Result<Self, TableError> {
        let table = scan.table.clone();
        let columns = scan.columns()?;
        let schema = schema(&columns, scan.strings)?;
        let view = table.block().view();
        let has_map = columns.iter().any(|column| *column.content() == ColumnContent::Labels);
        let mut keys: Vec<KeyId> = if has_map { (0..view.key_count()).map(KeyId).collect() } else { Vec::new() };
        let mut sources = Vec::with_capacity(columns.len());
        for column in &columns {
            sources.push(match column.content() {
                ColumnContent::SeriesRef => Source::SeriesRef,
                ColumnContent::BlockId => Source::BlockId,
                ColumnContent::Labels => Source::Labels,
                ColumnContent::Values { name, value_type } => Source::Values(name.clone(), *value_type),
                ColumnContent::Fingerprint => Source::Fingerprint,
                ColumnContent::Label(name) => match view.key(name).map_err(|error| table.locate(error))? {
                    None => Source::Absent,
                    Some(key) => match keys.iter().position(|&known| known == key) {
                        Some(position) => Source::Key(position),
                        None => {
                            keys.push(key);
                            Source::Key(keys.len() - 1)
                        }
                    },
                },
            });
        }
        let pending = if scan.in_label_order {
            let selection = scan.selection()?;
            let sort =
                |searcher: &Searcher<'_, '_>| searcher.in_label_order(&selection)?.collect::<Result<Vec<_>, _>>();
            Pending::Sorted(table.indexed().search(Limits::default(), sort)?.into_iter())
        } else {
            match &scan.series {
                ScannedSeries::All => Pending::Ranges(table.all().ranges().collect(), None),
                ScannedSeries::Selected(selection) => Pending::Ranges(selection.ranges().collect(), None),
                ScannedSeries::Pages(pages, time) => Pending::Ranges(VecDeque::new(), Some((pages.clone(), *time))),
            }
        };
        let Scan { strings, batch_size, limit: left, .. } = *scan;
        let reader = ColumnReader::default();
        let nulls = Nulls::new(0);
        let fingerprints = if sources.iter().any(|source| matches!(source, Source::Fingerprint)) {
            let all = scan.selection()?;
            // The first in the order of labels are known after sorting only.
            let read = if scan.in_label_order { all } else { all.split_at(u32::try_from(left).unwrap_or(u32::MAX)).0 };
            Fingerprints::new(&table, &read)?
        } else {
            Fingerprints::default()
        };
        Ok(Self { table, schema, strings, sources, keys, nulls, pending, batch_size, left, reader, fingerprints })
    }

    /// Reads the series of the next batch, or `None` at the end.
    fn read(&mut self) -> Result<Option<Read>, TableError> {
        let table = self.table.clone();
        Ok(table.indexed().search(Limits::default(), |searcher| self.read_with(searcher))?)
    }

    fn read_with(&mut self, searcher: &Searcher<'_, '_>) -> Result<Option<Read>, SelectError> {
        let wanted = self.batch_size.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let Self { keys, pending, reader, .. } = self;
        let (mut len, mut runs) = (0, Vec::new());
        let codes = match pending {
            Pending::Sorted(series) => {
                let series: Vec<SeriesRef> = series.take(wanted).collect();
                runs = runs_of(&series);
                len = series.len();
                let projection = searcher.project_keys(&series, keys)?;
                (0..keys.len()).map(|column| Codes::from_projected(projection.codes(column))).collect()
            }
            Pending::Ranges(ranges, pages) => {
                let capacity = wanted.min(Scan::DEFAULT_BATCH_SIZE) as u32;
                let mut columns = vec![CodeColumn::with_capacity(capacity); keys.len()];
                while len < wanted {
                    let Some(range) = ranges.front_mut() else {
                        let Some((pages, time)) = pages else { break };
                        let Some(page) = pages.next_page(&timed(searcher, *time))? else { break };
                        ranges.extend(page.ranges());
                        continue;
                    };
                    let room = u32::try_from(wanted - len).unwrap_or(u32::MAX);
                    let next = range.start..range.end.min(SeriesRef(range.start.0.saturating_add(room)));
                    reader.read(searcher, next.clone(), keys, &mut columns)?;
                    len += (next.end.0 - next.start.0) as usize;
                    range.start = next.end;
                    runs.push(next);
                    if range.is_empty() {
                        ranges.pop_front();
                    }
                }
                columns.into_iter().map(Codes::from_column).collect()
            }
        };
        self.left -= len as u64;
        Ok(if len == 0 { None } else { Some((len, runs, codes)) })
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, TableError> {
        let Some((len, runs, codes)) = self.read()? else { return Ok(None) };
        let Self { table, strings, keys, schema, nulls, fingerprints, .. } = self;
        if nulls.len() != len {
            *nulls = Nulls::new(len);
        }
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.sources.len());
        for (source, field) in self.sources.iter().zip(schema.fields()) {
            arrays.push(match source {
                Source::SeriesRef => {
                    let refs = runs.iter().flat_map(|run| run.start.0..run.end.0);
                    Arc::new(UInt64Array::from_iter_values(refs.map(u64::from)))
                }
                Source::Values(name, value_type) => values_of(table, (name, *value_type), &runs, len)?,
                Source::Fingerprint => Arc::new(fingerprints.array(&runs, len)?),
                Source::BlockId => {
                    let id = table.block().view().block_id().to_string();
                    Arc::new(StringViewArray::from_iter_values(std::iter::repeat_n(id, len)))
                }
                Source::Absent => new_null_array(field.data_type(), len),
                Source::Labels => label_map(table, keys, &codes, len)?,
                Source::Key(position) => {
                    let Some((key, codes)) = keys.get(*position).zip(codes.get(*position)) else { continue };
                    let array = codes.to_array(nulls, table.dictionary(*key)?, *strings)?;
                    array.ok_or_else(|| TableError::from(table.locate(damaged_key(*key))))?
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        Ok(Some(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?))
    }
}

/// Returns refs in any order as runs of consecutive ones.
fn runs_of(series: &[SeriesRef]) -> Vec<Range<SeriesRef>> {
    let mut runs: Vec<Range<SeriesRef>> = Vec::new();
    for &next in series {
        let after = SeriesRef(next.0.saturating_add(1));
        match runs.last_mut() {
            Some(run) if run.end == next => run.end = after,
            _ => runs.push(next..after),
        }
    }
    runs
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.next_batch().map_err(ArrowError::from);
        if batch.is_err() {
            self.left = 0;
        }
        batch.transpose()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
