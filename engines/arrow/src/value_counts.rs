//! The number of series of each value of a label: [`Scan::value_counts`].

use arrow_array::cast::AsArray;
use arrow_array::{Array, Int64Array, StringViewArray, UInt32Array};
use arrow_select::take::take;
use chronoxide_format::KeyId;
use chronoxide_select::{CodeColumn, CodeCounts, ColumnReader, Limits, Searcher, SelectError, Selection};

use crate::dictionary::damaged_key;
use crate::{Scan, TableError};

impl Scan {
    /// Returns the values that a label has in the scan's series, in byte order, and the number of series of each. If
    /// series do not have the label, the last value is null.
    ///
    /// A row that stands for a list of series is counted as a whole, which is faster than reading the column. Takes
    /// memory for a number per distinct value of the block, or per series if there are fewer of these. Columns, limit
    /// and order of the scan have no effect.
    ///
    /// # Errors
    /// [`TableError::Select`] if the block is damaged in a byte that was read.
    pub fn value_counts(&self, label: &str) -> Result<(StringViewArray, Int64Array), TableError> {
        let table = &self.table;
        let series = self.selection()?;
        let Some(key) = table.block().view().key(label).map_err(|error| table.locate(error))? else {
            return Counts { values: Vec::new(), absent: series.count().into() }
                .to_arrays(&StringViewArray::new_null(0));
        };
        let values = table.dictionary(key)?;
        let is_dense = values.len() <= series.count() as usize;
        let counts = table.indexed().search(Limits::default(), |searcher| match is_dense {
            true => count(searcher, key, values.len(), &series),
            false => sort(searcher, key, &series),
        })?;
        match counts.values.last() {
            Some(&(code, _)) if code as usize >= values.len() => Err(table.locate(damaged_key(key)).into()),
            _ => counts.to_arrays(&values),
        }
    }
}

/// The number of series of each value, by ascending code, and of series without one.
struct Counts {
    values: Vec<(u32, u64)>,
    absent: u64,
}

impl Counts {
    fn to_arrays(&self, values: &StringViewArray) -> Result<(StringViewArray, Int64Array), TableError> {
        let absent = (self.absent > 0).then_some((None, self.absent));
        let rows = || self.values.iter().map(|&(code, count)| (Some(code), count)).chain(absent);
        let codes: UInt32Array = rows().map(|(code, _)| code).collect();
        let counts: Int64Array = rows().map(|(_, count)| Some(count as i64)).collect();
        Ok((take(values, &codes, None)?.as_string_view().clone(), counts))
    }
}

/// Counts the series of each value.
fn count(
    searcher: &Searcher<'_, '_>,
    key: KeyId,
    cardinality: usize,
    series: &Selection,
) -> Result<Counts, SelectError> {
    let mut counts = [CodeCounts::new(cardinality as u32)];
    let mut reader = ColumnReader::default();
    for range in series.ranges() {
        reader.count(searcher, range, &[key], &mut counts)?;
    }
    let [counts] = counts;
    let values = (0..).zip(counts.counts().iter().copied()).filter(|(_, count)| *count > 0);
    Ok(Counts { values: values.collect(), absent: counts.absent() })
}

/// Counts the series of each value by sorting the codes: there are fewer series than values.
fn sort(searcher: &Searcher<'_, '_>, key: KeyId, series: &Selection) -> Result<Counts, SelectError> {
    let mut column = [CodeColumn::default()];
    let mut reader = ColumnReader::default();
    for range in series.ranges() {
        reader.read(searcher, range, &[key], &mut column)?;
    }
    let [column] = column;
    let absent = column.absent().count();
    let (codes, ranges) = column.into_parts();
    // There are no codes if no series has the label.
    let present = ranges.complement(codes.len() as u32);
    let mut present: Vec<u32> = present.iter().filter_map(|place| codes.get(place as usize).copied()).collect();
    present.sort_unstable();
    let values = present.chunk_by(|left, right| left == right).map(|run| (run[0], run.len() as u64));
    Ok(Counts { values: values.collect(), absent: absent.into() })
}
