//! [`RefsOfJoins`]: conditions on refs that follow from a join.

use std::ops::Range;

use arrow::datatypes::DataType;
use chronoxide_arrow::ColumnContent;
use chronoxide_reader::SeriesRef;
use chronoxide_select::Selection;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, ExprSchema, JoinType, ScalarValue};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::unnormalize_col;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, Filter, Join, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use crate::SeriesTable;
use crate::scan_of::{Through, scan_of};

/// Maximum number of ranges of a condition. More cost time for each row, and fewer select more rows.
const MAX_RANGES: usize = 16;

/// Ranges are merged if less than one of this many refs lies between them: skipping these saves less than planning with
/// another range costs.
const MIN_GAP: u32 = 256;

/// Ranges that have more than one of this many refs are not worth a condition: most rows would pass it.
const MIN_SKIPPED: u64 = 4;

/// Optimizer rule for `series JOIN samples ON series.series_ref = samples.series_ref WHERE series.job = 'api'`: the
/// conditions on labels give ranges of refs, which become a condition on the samples. Of a file that is sorted by refs,
/// most pages are skipped then.
///
/// Applies to inner joins with a table of one block. [`register`](crate::register) adds it to a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct RefsOfJoins;

impl OptimizerRule for RefsOfJoins {
    fn name(&self) -> &str {
        "refs_of_joins"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(mut join) = plan else { return Ok(Transformed::no(plan)) };
        if join.join_type != JoinType::Inner {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        }
        let mut is_changed = false;
        for (left, right) in join.on.clone() {
            let (Expr::Column(left), Expr::Column(right)) = (left, right) else { continue };
            if let Some(condition) = condition(&join.left, &left, &join.right, &right)? {
                join.right = Filter::try_new(condition, join.right).map(LogicalPlan::Filter)?.into();
                is_changed = true;
            } else if let Some(condition) = condition(&join.right, &right, &join.left, &left)? {
                join.left = Filter::try_new(condition, join.left).map(LogicalPlan::Filter)?.into();
                is_changed = true;
            }
        }
        let join = LogicalPlan::Join(Join { ..join });
        Ok(if is_changed { Transformed::yes(join) } else { Transformed::no(join) })
    }
}

/// Returns the condition on `other.column` that follows from a join with `series.refs`. Returns `None` if nothing
/// follows, the condition would not help, or `other` has it already.
fn condition(series: &LogicalPlan, refs: &Column, other: &LogicalPlan, column: &Column) -> Result<Option<Expr>> {
    let data_type = other.schema().field_from_column(column)?.data_type();
    if !data_type.is_integer() {
        return Ok(None);
    }
    let Some((scan, name)) = scan_of(series, refs, Through::Filters) else { return Ok(None) };
    if scan.filters.is_empty() {
        return Ok(None);
    }
    let provider = source_as_provider(&scan.source)?;
    let Some(table) = provider.downcast_ref::<SeriesTable>() else { return Ok(None) };
    let [block] = table.blocks() else { return Ok(None) };
    if table.content(&name) != Some(&ColumnContent::SeriesRef) {
        return Ok(None);
    }
    let selection = table.select(block, &scan.filters)?;
    let ranges = merged(&selection, block.series_count() / MIN_GAP, MAX_RANGES);
    let covered: u64 = ranges.iter().map(|range| u64::from(range.end.0 - range.start.0)).sum();
    if covered.saturating_mul(MIN_SKIPPED) > u64::from(block.series_count()) {
        return Ok(None);
    }
    let Some(condition) = within(&ranges, column, data_type)? else { return Ok(None) };
    Ok(if has_condition(other, &condition)? { None } else { Some(condition) })
}

/// Returns ranges that have all selected refs. Those with gaps below `least_gap` are merged, and of more than `most`
/// those with the smallest gaps.
fn merged(selection: &Selection, least_gap: u32, most: usize) -> Vec<Range<SeriesRef>> {
    let ranges: Vec<Range<SeriesRef>> = selection.ranges().collect();
    let mut gaps: Vec<(u32, usize)> =
        ranges.windows(2).zip(1..).map(|(pair, place)| (pair[1].start.0 - pair[0].end.0, place)).collect();
    gaps.retain(|(gap, _)| *gap >= least_gap);
    let kept = most.saturating_sub(1).min(gaps.len());
    gaps.sort_unstable_by(|left, right| right.cmp(left));
    gaps.truncate(kept);
    let mut starts: Vec<usize> = gaps.into_iter().map(|(_, place)| place).collect();
    starts.sort_unstable();
    let ends = starts.iter().copied().chain([ranges.len()]);
    let starts = [0].into_iter().chain(starts.iter().copied());
    let first_and_last = starts.zip(ends).filter_map(|(start, end)| Some((ranges.get(start)?, ranges.get(end - 1)?)));
    first_and_last.map(|(first, last)| first.start..last.end).collect()
}

/// Returns the condition that a column of integers lies in one of several ranges, or `None` if its type is too small
/// for a ref.
fn within(ranges: &[Range<SeriesRef>], column: &Column, data_type: &DataType) -> Result<Option<Expr>> {
    let mut conditions = Vec::with_capacity(ranges.len());
    for range in ranges {
        let ends = [range.start.0, range.end.0 - 1].map(|end| ScalarValue::UInt32(Some(end)).cast_to(data_type));
        let [Ok(first), Ok(last)] = ends else { return Ok(None) };
        let literal = |value| Expr::Literal(value, None);
        let column = || Expr::Column(column.clone());
        // The optimizer writes an equality so, and the condition must be found again as it is.
        conditions.push(match first == last {
            true => column().eq(literal(first)),
            false => column().gt_eq(literal(first)).and(column().lt_eq(literal(last))),
        });
    }
    Ok(Some(conditions.into_iter().reduce(Expr::or).unwrap_or_else(|| Expr::Literal(ScalarValue::from(false), None))))
}

/// Returns true if a plan has a condition already: the optimizer asks several times.
fn has_condition(plan: &LogicalPlan, condition: &Expr) -> Result<bool> {
    let condition = unnormalize_col(condition.clone());
    // A single range is a conjunction, whose parts the optimizer moves one by one.
    let mut missing = split_conjunction(&condition);
    plan.apply(|node| {
        let known = match node {
            LogicalPlan::Filter(filter) => std::slice::from_ref(&filter.predicate),
            LogicalPlan::TableScan(scan) => &scan.filters,
            LogicalPlan::EmptyRelation(_) => {
                missing.clear();
                return Ok(TreeNodeRecursion::Stop);
            }
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        let known: Vec<Expr> =
            known.iter().flat_map(split_conjunction).map(|known| unnormalize_col(known.clone())).collect();
        missing.retain(|wanted| !known.contains(wanted));
        Ok(if missing.is_empty() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(missing.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_gaps_are_closed() {
        let selection: Selection = [1, 2, 5, 9, 10, 20].into_iter().map(SeriesRef).collect();
        let merged = |least_gap, most| {
            let ranges = merged(&selection, least_gap, most).into_iter();
            ranges.map(|range| range.start.0..range.end.0).collect::<Vec<_>>()
        };
        assert_eq!(merged(0, 9), [1..3, 5..6, 9..11, 20..21]);
        assert_eq!(merged(2, 9), [1..3, 5..6, 9..11, 20..21]);
        assert_eq!(merged(3, 9), [1..6, 9..11, 20..21]);
        assert_eq!(merged(4, 9), [1..11, 20..21]);
        assert_eq!(merged(10, 9), vec![1..21]);
        assert_eq!(merged(0, 3), [1..6, 9..11, 20..21]);
        assert_eq!(merged(0, 2), [1..11, 20..21]);
        assert_eq!(merged(0, 1), vec![1..21]);
        assert!(super::merged(&Selection::default(), 0, 3).is_empty());
    }
}
