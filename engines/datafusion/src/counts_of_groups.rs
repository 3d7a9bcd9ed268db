//! [`CountsOfGroups`]: groups by a label, counted in the codes of rows.

use std::sync::Arc;

use chronoxide_arrow::{ColumnContent, Strings};
use datafusion::common::Column;
use datafusion::common::tree_node::Transformed;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::Result;
use datafusion::functions_aggregate::count::Count;
use datafusion::functions_aggregate::expr_fn::sum;
use datafusion::logical_expr::expr_rewriter::unnormalize_col;
use datafusion::logical_expr::logical_plan::TableScanBuilder;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, Projection};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use crate::SeriesTable;
use crate::label_counts::LabelCounts;
use crate::scan_of::{Through, scan_of};

/// Optimizer rule for `SELECT job, count(*) FROM series GROUP BY job`, and for `SELECT DISTINCT job FROM series`: the
/// table gives the number of series of each value, and DataFusion adds those of several blocks, instead of reading and
/// hashing the value of every series.
///
/// Applies to groups by one label, of a table whose labels are views, with conditions that the table evaluates.
/// [`register`](crate::register) adds it to a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountsOfGroups;

impl OptimizerRule for CountsOfGroups {
    fn name(&self) -> &str {
        "counts_of_groups"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let counted = if let LogicalPlan::Aggregate(aggregate) = &plan { counted(aggregate)? } else { None };
        Ok(counted.map_or_else(|| Transformed::no(plan), Transformed::yes))
    }
}

/// Returns a plan with the same result over [`LabelCounts`], or `None` if there is none.
fn counted(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    let [group] = &aggregate.group_expr[..] else { return Ok(None) };
    let Expr::Column(group) = group.clone().unalias() else { return Ok(None) };
    if !aggregate.aggr_expr.iter().all(counts_rows) {
        return Ok(None);
    }
    let Some((scan, name)) = scan_of(&aggregate.input, &group, Through::AllRows) else { return Ok(None) };
    let provider = source_as_provider(&scan.source)?;
    let Some(series) = provider.downcast_ref::<SeriesTable>() else { return Ok(None) };
    let Some(label) = series.column(&name) else { return Ok(None) };
    let is_counted = matches!(label.content(), ColumnContent::Label(_)) && series.strings() == Strings::View;
    if !is_counted || scan.fetch.is_some() {
        return Ok(None);
    }
    let filters = scan.filters.iter().map(|filter| unnormalize_col(filter.clone())).collect();
    let counts = LabelCounts::new(series.clone(), label.clone(), filters);
    let scan = TableScanBuilder::new(scan.table_name.clone(), provider_as_source(Arc::new(counts))).build()?;
    let [value, count] = [0, 1].map(|place| Expr::Column(Column::from(scan.projected_schema.qualified_field(place))));
    let sums = if aggregate.aggr_expr.is_empty() { Vec::new() } else { vec![sum(count)] };
    let sums = Aggregate::try_new(LogicalPlan::TableScan(scan).into(), vec![value], sums)?;
    // The columns of the aggregation, by their names.
    let columns = aggregate.schema.iter().enumerate().map(|(place, (relation, field))| {
        let sum = Column::from(sums.schema.qualified_field(place.min(1)));
        Expr::Column(sum).alias_qualified(relation.cloned(), field.name())
    });
    let columns = columns.collect();
    Ok(Some(LogicalPlan::Projection(Projection::try_new(columns, LogicalPlan::Aggregate(sums).into())?)))
}

/// Returns true for `count(*)`, which is the count of a constant.
fn counts_rows(expr: &Expr) -> bool {
    let Expr::AggregateFunction(function) = expr.clone().unalias() else { return false };
    let params = &function.params;
    let is_plain = !params.distinct && params.filter.is_none();
    let counts_all = matches!(&params.args[..], [Expr::Literal(value, _)] if !value.is_null());
    is_plain && counts_all && function.func.inner().downcast_ref::<Count>().is_some()
}
