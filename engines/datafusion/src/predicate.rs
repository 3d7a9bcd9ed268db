//! [`Predicate`]: conditions of a query as accepted codes of labels and refs of series.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringViewArray};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use chronoxide_arrow::{BlockTable, Column, ColumnContent, Strings};
use chronoxide_select::{AcceptedCodes, Searcher, Selection};
use datafusion::catalog::Session;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, Operator};
use datafusion::physical_expr::PhysicalExpr;

use crate::location::external;
use crate::numbers::refs;
use crate::values::{Lookup, evaluate};

/// All conditions of a query on a table of series.
#[derive(Debug)]
pub(crate) struct Predicate {
    conditions: Vec<Condition>,
}

/// A condition on one column.
#[derive(Debug)]
enum Condition {
    /// Accepted values of a label, looked up.
    Lookup { name: String, lookup: Lookup },
    /// A condition on a label that is evaluated on each of its values.
    Values { column: Column, name: String, condition: Arc<dyn PhysicalExpr> },
    /// A condition on the id of the block.
    Block { column: Column, condition: Arc<dyn PhysicalExpr> },
    /// Accepted refs.
    Refs(Selection),
    /// True if all rows are accepted; none otherwise.
    Constant(bool),
}

/// Returns true if a condition can be answered exactly without reading series: it is on one column, and cannot fail for
/// one of its values.
pub(crate) fn is_exact<'c>(expr: &Expr, content: impl Fn(&str) -> Option<&'c ColumnContent>) -> bool {
    let columns: BTreeSet<&str> = expr.column_refs().into_iter().map(|column| column.name()).collect();
    let [column] = columns.into_iter().collect::<Vec<_>>()[..] else { return false };
    match content(column) {
        Some(ColumnContent::Label(_) | ColumnContent::BlockId) => never_fails(expr),
        Some(ColumnContent::SeriesRef) => refs(expr).is_some(),
        _ => false,
    }
}

/// Returns true if a condition is made of operators that have a result for any text, the same each time. A cast to a
/// number fails for some values, which rows that other conditions leave out may have.
fn never_fails(expr: &Expr) -> bool {
    let mut is_known = true;
    let visited = expr.apply(|part| {
        is_known = match part {
            Expr::Column(_)
            | Expr::Literal(..)
            | Expr::Like(_)
            | Expr::SimilarTo(_)
            | Expr::Not(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNotFalse(_)
            | Expr::IsNotUnknown(_)
            | Expr::Between(_)
            | Expr::Case(_)
            | Expr::InList(_) => true,
            Expr::Cast(cast) => is_text(cast.field.data_type()),
            Expr::TryCast(_) => true,
            Expr::BinaryExpr(binary) => is_total(binary.op),
            _ => false,
        };
        Ok(if is_known { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    });
    visited.is_ok() && is_known
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// Returns true if an operator has a result for all texts and truth values.
fn is_total(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::And
            | Operator::Or
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
            | Operator::RegexMatch
            | Operator::RegexIMatch
            | Operator::RegexNotMatch
            | Operator::RegexNotIMatch
            | Operator::LikeMatch
            | Operator::ILikeMatch
            | Operator::NotLikeMatch
            | Operator::NotILikeMatch
            | Operator::StringConcat
    )
}

impl Predicate {
    /// Prepares conditions for which [`is_exact`] is true.
    pub(crate) fn new<'c>(
        state: &dyn Session,
        schema: &SchemaRef,
        filters: &[Expr],
        content: impl Fn(&str) -> Option<&'c ColumnContent>,
    ) -> Result<Self> {
        let mut conditions = Vec::with_capacity(filters.len());
        for filter in filters {
            let columns = filter.column_refs();
            // The optimizer makes a constant of a condition that no row, or each, satisfies.
            if columns.is_empty() {
                let condition = state.create_physical_expr(filter.clone(), &DFSchema::empty())?;
                conditions.push(Condition::Constant(is_true(&condition)?));
                continue;
            }
            let known = columns.iter().find_map(|column| Some((column.name(), content(column.name())?)));
            let Some((column, content)) = known else {
                return plan_err!("{filter} was pushed to a table without its columns");
            };
            let physical = || {
                let field = schema.field_with_name(column)?.clone();
                let alone = DFSchema::try_from(Schema::new(vec![field]))?;
                state.create_physical_expr(unqualified(filter)?, &alone)
            };
            conditions.push(match content {
                ColumnContent::Label(name) => match Lookup::from_expr(filter) {
                    Some(lookup) => Condition::Lookup { name: name.clone(), lookup },
                    None => {
                        let own = Column::label(name).with_name(column);
                        Condition::Values { column: own, name: name.clone(), condition: physical()? }
                    }
                },
                ColumnContent::BlockId => {
                    Condition::Block { column: Column::block_id().with_name(column), condition: physical()? }
                }
                _ => match refs(filter) {
                    Some(refs) => Condition::Refs(refs),
                    None => return plan_err!("{filter} is not a comparison of refs with constants"),
                },
            });
        }
        Ok(Self { conditions })
    }

    /// Returns the series of a block that satisfy all conditions.
    pub(crate) fn select(&self, table: &BlockTable, strings: Strings) -> Result<Selection> {
        let view = table.block().view();
        let mut accepted = Vec::new();
        let mut refs = table.all();
        for condition in &self.conditions {
            let (name, evaluated) = match condition {
                Condition::Constant(true) => continue,
                Condition::Constant(false) => return Ok(Selection::default()),
                Condition::Refs(own) => {
                    refs = refs.intersection(own);
                    continue;
                }
                Condition::Block { column, condition } => {
                    let id = StringViewArray::from_iter_values([view.block_id().to_string()]);
                    if !accepts(condition, column, Arc::new(id))? {
                        return Ok(Selection::default());
                    }
                    continue;
                }
                Condition::Lookup { name, .. } | Condition::Values { name, .. } => (name, condition),
            };
            let key = view.key(name).map_err(|error| external(table.block().locate(error)))?;
            let (codes, accepts_absent) = match (evaluated, key) {
                (Condition::Values { column, condition, .. }, _) => evaluate(condition, column, table, key, strings)?,
                (Condition::Lookup { lookup, .. }, Some(key)) => lookup.accepted(table, key)?,
                (condition, None) => {
                    let is_absent = matches!(condition, Condition::Lookup { lookup: Lookup::Absent, .. });
                    (chronoxide_select::Ranges::default(), is_absent)
                }
                _ => continue,
            };
            match key {
                Some(key) => accepted.push(AcceptedCodes { key, codes, accepts_absent }),
                None if accepts_absent => {}
                None => return Ok(Selection::default()),
            }
        }
        let searcher = Searcher::new(&view, table.index());
        let selected = if accepted.is_empty() { Ok(table.all()) } else { searcher.select_codes(&accepted) };
        Ok(selected.map_err(|error| external(table.block().locate(error)))?.intersection(&refs))
    }
}

/// Evaluates a condition on one value.
fn accepts(condition: &Arc<dyn PhysicalExpr>, column: &Column, value: ArrayRef) -> Result<bool> {
    let schema = Schema::new(vec![column.field(Strings::View)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![value])?;
    let result = condition.evaluate(&batch)?.into_array(1)?;
    Ok(as_boolean_array(&result)?.iter().any(|accepted| accepted == Some(true)))
}

/// Evaluates a condition without columns.
fn is_true(condition: &Arc<dyn PhysicalExpr>) -> Result<bool> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
    let result = condition.evaluate(&batch)?.into_array(1)?;
    Ok(as_boolean_array(&result)?.iter().any(|accepted| accepted == Some(true)))
}

/// Removes the names of tables before those of columns.
fn unqualified(expr: &Expr) -> Result<Expr> {
    use datafusion::common::tree_node::Transformed;
    let replaced = expr.clone().transform(|part| {
        Ok(match part {
            Expr::Column(column) => Transformed::yes(Expr::Column(datafusion::common::Column::from_name(column.name))),
            other => Transformed::no(other),
        })
    });
    Ok(replaced?.data)
}
