//! [`Predicate`]: conditions of a query as accepted codes of labels and refs of series.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringViewArray};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use chronoxide_arrow::{BlockTable, Column, ColumnContent, Strings};
use chronoxide_reader::KeyId;
use chronoxide_select::{AcceptedCodes, Limits, Ranges, Selection};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr_rewriter::unnormalize_col;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Operator};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use crate::error::external;
use crate::numbers::Numbers;
use crate::values::{Lookup, evaluate};

/// All conditions of a query on a table of series.
#[derive(Debug)]
pub(crate) struct Predicate {
    conditions: Vec<Condition>,
}

/// A condition on one column.
#[derive(Debug)]
enum Condition {
    /// A condition on the label with a name.
    Label { name: String, condition: LabelCondition },
    /// A condition on the id of the block.
    Block { column: Column, condition: Arc<dyn PhysicalExpr> },
    /// Accepted refs.
    Refs(Selection),
    /// Accepted values of a series column.
    Values { name: String, numbers: Numbers },
    /// True if all rows are accepted; none otherwise.
    Constant(bool),
}

/// A condition on a label.
#[derive(Debug)]
enum LabelCondition {
    Lookup(Lookup),
    /// Evaluated on each value.
    Values {
        column: Column,
        condition: Arc<dyn PhysicalExpr>,
    },
}

impl LabelCondition {
    /// Returns the codes of the accepted values of a key, and whether absence is accepted. A key that the block does
    /// not have (`None`) has no values.
    fn accepted(&self, table: &BlockTable, key: Option<KeyId>, strings: Strings) -> Result<(Ranges, bool)> {
        match (self, key) {
            (Self::Values { column, condition }, _) => evaluate(condition, column, table, key, strings),
            (Self::Lookup(lookup), Some(key)) => lookup.accepted(table, key),
            (Self::Lookup(lookup), None) => Ok((Ranges::default(), *lookup == Lookup::Absent)),
        }
    }
}

/// Returns true if a condition can be answered exactly without reading series: it is on one column, and cannot fail for
/// one of its values.
pub(crate) fn is_exact<'c>(expr: &Expr, content: impl Fn(&str) -> Option<&'c ColumnContent>) -> bool {
    let columns: BTreeSet<&str> = expr.column_refs().into_iter().map(|column| column.name()).collect();
    let [column] = columns.into_iter().collect::<Vec<_>>()[..] else { return false };
    match content(column) {
        Some(ColumnContent::Label(_) | ColumnContent::BlockId) => never_fails(expr),
        Some(ColumnContent::SeriesRef | ColumnContent::Values { .. }) => Numbers::accepted(expr).is_some(),
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
            Expr::SimilarTo(similar) => is_literal(&similar.pattern),
            Expr::BinaryExpr(binary) if is_regex(binary.op) => is_literal(&binary.right),
            Expr::BinaryExpr(binary) => is_total(binary.op),
            _ => false,
        };
        Ok(if is_known { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    });
    visited.is_ok() && is_known
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(..))
}

/// Returns true for an operator whose right side is a pattern, which fails if it is not valid.
fn is_regex(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::RegexMatch | Operator::RegexIMatch | Operator::RegexNotMatch | Operator::RegexNotIMatch
    )
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
            | Operator::LikeMatch
            | Operator::ILikeMatch
            | Operator::NotLikeMatch
            | Operator::NotILikeMatch
            | Operator::StringConcat
    )
}

impl Predicate {
    /// Prepares conditions for which [`is_exact`] is true. They need neither functions nor the state of a session.
    pub(crate) fn new<'c>(
        schema: &SchemaRef,
        filters: &[Expr],
        content: impl Fn(&str) -> Option<&'c ColumnContent>,
    ) -> Result<Self> {
        let one_row = RecordBatchOptions::new().with_row_count(Some(1));
        let row_without_columns = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &one_row)?;
        let properties = ExecutionProps::new();
        let physical = |filter: &Expr, columns: &DFSchema| {
            create_physical_expr(filter, columns, &properties, &PhysicalPlanningContext::default())
        };
        let mut conditions = Vec::with_capacity(filters.len());
        for filter in filters {
            let columns = filter.column_refs();
            // The optimizer makes a constant of a condition that no row, or each, satisfies.
            if columns.is_empty() {
                let condition = physical(filter, &DFSchema::empty())?;
                conditions.push(Condition::Constant(accepts_row(&condition, &row_without_columns)?));
                continue;
            }
            let known = columns.iter().find_map(|column| Some((column.name(), content(column.name())?)));
            let Some((column, content)) = known else {
                return plan_err!("{filter} was pushed to a table without its columns");
            };
            let alone = || {
                let field = schema.field_with_name(column)?.clone();
                let alone = DFSchema::try_from(Schema::new(vec![field]))?;
                physical(&unnormalize_col(filter.clone()), &alone)
            };
            conditions.push(match content {
                ColumnContent::Label(name) => {
                    let condition = match Lookup::from_expr(filter) {
                        Some(lookup) => LabelCondition::Lookup(lookup),
                        None => {
                            let column = Column::label(name).with_name(column);
                            LabelCondition::Values { column, condition: alone()? }
                        }
                    };
                    Condition::Label { name: name.clone(), condition }
                }
                ColumnContent::BlockId => {
                    Condition::Block { column: Column::block_id().with_name(column), condition: alone()? }
                }
                content => match (Numbers::accepted(filter), content) {
                    (Some(numbers), ColumnContent::Values { name, .. }) => {
                        Condition::Values { name: name.clone(), numbers }
                    }
                    (Some(numbers), _) => Condition::Refs(numbers.to_refs()),
                    (None, _) => return plan_err!("{filter} is not a comparison of numbers with constants"),
                },
            });
        }
        Ok(Self { conditions })
    }

    /// Returns the series of a block that satisfy all conditions, or the first of them, at least `first` if there are
    /// as many.
    pub(crate) fn select(
        &self,
        table: &BlockTable,
        strings: Strings,
        first: Option<u32>,
        limits: Limits<'_>,
    ) -> Result<Selection> {
        let view = table.block().view();
        let mut accepted = Vec::new();
        let mut refs = table.all();
        let mut values = Vec::new();
        for condition in &self.conditions {
            match condition {
                Condition::Constant(true) => {}
                Condition::Constant(false) => return Ok(Selection::default()),
                Condition::Refs(own) => refs = refs.intersection(own),
                Condition::Values { name, numbers } => values.push((name, numbers)),
                Condition::Block { column, condition } => {
                    let id: ArrayRef = Arc::new(StringViewArray::from_iter_values([view.block_id().to_string()]));
                    let schema = Schema::new(vec![column.field(Strings::View)]);
                    if !accepts_row(condition, &RecordBatch::try_new(Arc::new(schema), vec![id])?)? {
                        return Ok(Selection::default());
                    }
                }
                Condition::Label { name, condition } => {
                    let key = view.key(name).map_err(|error| external(table.block().locate(error)))?;
                    let (codes, accepts_absent) = condition.accepted(table, key, strings)?;
                    match key {
                        Some(key) => accepted.push(AcceptedCodes { key, codes, accepts_absent }),
                        None if accepts_absent => {}
                        None => return Ok(Selection::default()),
                    }
                }
            }
        }
        let selected = table.indexed().search(limits, |searcher| {
            let by_labels = match first {
                _ if accepted.is_empty() => table.all(),
                // The first series of the block need not be those whose refs and values are accepted.
                Some(first) if refs == table.all() && values.is_empty() => {
                    searcher.pages_of_codes(&accepted)?.take(searcher, first)?
                }
                _ => searcher.select_codes(&accepted)?,
            };
            let both = by_labels.intersection(&refs);
            values
                .iter()
                .try_fold(both, |series, (name, numbers)| searcher.with_values(&series, name, numbers.ranges()))
        });
        selected.map_err(external)
    }
}

/// Evaluates a condition on a batch of one row.
fn accepts_row(condition: &Arc<dyn PhysicalExpr>, row: &RecordBatch) -> Result<bool> {
    let result = condition.evaluate(row)?.into_array(1)?;
    Ok(as_boolean_array(&result)?.iter().any(|accepted| accepted == Some(true)))
}
