//! Numbers of rows, nulls and distinct values of selected series.

use arrow::array::Array;
use chronoxide_arrow::{BlockTable, Column, ColumnContent, Strings};
use chronoxide_reader::KeyId;
use chronoxide_select::{Limits, Selection};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use datafusion::error::Result;

use crate::error::external;

/// Returns statistics of columns of selected series. The numbers of rows and of nulls are exact. The number of distinct
/// values, and their ends, are bounds: a dictionary should have used values only, but a reader must not rely on it
/// (spec, section 1).
pub(crate) fn statistics(
    selected: &[(BlockTable, Selection)],
    columns: &[Column],
    strings: Strings,
) -> Result<Statistics> {
    let row_count: usize = selected.iter().map(|(_, series)| series.count() as usize).sum();
    let column_statistics = match selected {
        [(table, series)] => block_statistics(table, series, columns, strings)?,
        _ => vec![ColumnStatistics::new_unknown(); columns.len()],
    };
    Ok(Statistics { num_rows: Precision::Exact(row_count), total_byte_size: Precision::Absent, column_statistics })
}

fn block_statistics(
    table: &BlockTable,
    series: &Selection,
    columns: &[Column],
    strings: Strings,
) -> Result<Vec<ColumnStatistics>> {
    let view = table.block().view();
    let locate = |error: chronoxide_reader::Error| external(table.block().locate(error));
    let row_count = series.count() as usize;
    let is_whole = series.count() == table.series_count();
    let has_labels = columns.iter().any(|column| matches!(column.content(), ColumnContent::Label(_)));
    let per_key = if is_whole && has_labels {
        table.indexed().search(Limits::default(), |searcher| searcher.series_per_key()).map_err(external)?
    } else {
        Vec::new()
    };
    let label = |name: &str| -> Result<ColumnStatistics> {
        let Some(key) = view.key(name).map_err(locate)? else {
            let none = Precision::Exact(ScalarValue::try_from(strings.data_type())?);
            return Ok(ColumnStatistics::new_unknown()
                .with_null_count(Precision::Exact(row_count))
                .with_distinct_count(Precision::Exact(0))
                .with_min_value(none.clone())
                .with_max_value(none));
        };
        let cardinality = view.cardinality(key).map_err(locate)?.unwrap_or_default() as usize;
        if !is_whole {
            let bound = Precision::Inexact(cardinality.min(row_count));
            return Ok(ColumnStatistics::new_unknown().with_distinct_count(bound));
        }
        let with_key = per_key.get(key.0 as usize).copied().unwrap_or_default() as usize;
        let (least, greatest) = ends(table, key, strings)?;
        Ok(ColumnStatistics::new_unknown()
            .with_null_count(Precision::Exact(row_count.saturating_sub(with_key)))
            .with_distinct_count(Precision::Inexact(cardinality))
            .with_min_value(least)
            .with_max_value(greatest))
    };
    let statistics = |column: &Column| match column.content() {
        ColumnContent::Label(name) => label(name),
        ColumnContent::SeriesRef => Ok(ref_statistics(series, row_count)),
        _ => Ok(ColumnStatistics::new_unknown()),
    };
    columns.iter().map(statistics).collect()
}

fn ref_statistics(series: &Selection, row_count: usize) -> ColumnStatistics {
    let number = |series: chronoxide_reader::SeriesRef| ScalarValue::UInt64(Some(series.0.into()));
    let known = ColumnStatistics::new_unknown()
        .with_null_count(Precision::Exact(0))
        .with_distinct_count(Precision::Exact(row_count));
    match (series.ranges().next(), series.ranges().next_back()) {
        (Some(first), Some(last)) => {
            let last = chronoxide_reader::SeriesRef(last.end.0 - 1);
            known.with_min_value(Precision::Exact(number(first.start))).with_max_value(Precision::Exact(number(last)))
        }
        _ => known,
    }
}

/// Returns the least and the greatest value of a key. Values are sorted by bytes, as text is in Arrow.
fn ends(table: &BlockTable, key: KeyId, strings: Strings) -> Result<(Precision<ScalarValue>, Precision<ScalarValue>)> {
    let values = table.dictionary(key).map_err(external)?;
    let scalar = |place: usize| {
        let text = ScalarValue::Utf8View(Some(values.value(place).to_owned()));
        Precision::Inexact(match strings {
            Strings::View => text,
            Strings::Dictionary => {
                ScalarValue::Dictionary(Box::new(arrow::datatypes::DataType::UInt32), Box::new(text))
            }
        })
    };
    match values.len().checked_sub(1) {
        Some(last) => Ok((scalar(0), scalar(last))),
        None => Ok((Precision::Absent, Precision::Absent)),
    }
}
