//! [`scan_of`]: the table that a column of a logical plan comes from.

use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan};

/// Plans between a column and its table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Through {
    /// Plans that keep all rows.
    AllRows,
    /// Also plans that keep some rows.
    Filters,
}

/// Returns the scan that a column comes from unchanged, and the column's name there.
pub(crate) fn scan_of<'p>(plan: &'p LogicalPlan, column: &Column, through: Through) -> Option<(&'p TableScan, String)> {
    match plan {
        LogicalPlan::TableScan(scan) => Some((scan, column.name.clone())),
        LogicalPlan::Filter(filter) if through == Through::Filters => scan_of(&filter.input, column, through),
        LogicalPlan::SubqueryAlias(alias) => scan_of(&alias.input, &Column::from_name(column.name.clone()), through),
        LogicalPlan::Projection(projection) => {
            let place = projection.schema.maybe_index_of_column(column)?;
            match projection.expr.get(place)?.clone().unalias() {
                Expr::Column(inner) => scan_of(&projection.input, &inner, through),
                _ => None,
            }
        }
        _ => None,
    }
}
