//! Comparisons of `series_ref` with constants, as ranges.

use chronoxide_reader::SeriesRef;
use chronoxide_select::Selection;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};

/// Returns the refs that a condition on `series_ref` accepts, or `None` if it is not made of comparisons with
/// constants.
pub(crate) fn refs(expr: &Expr) -> Option<Selection> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            Some(refs(left)?.intersection(&refs(right)?))
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => Some(refs(left)?.union(&refs(right)?)),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (&**left, &**right) {
            (Expr::Column(_), Expr::Literal(value, _)) => compared(*op, number(value)?),
            (Expr::Literal(value, _), Expr::Column(_)) => compared(op.swap()?, number(value)?),
            _ => None,
        },
        Expr::Between(Between { expr, negated, low, high }) if matches!(**expr, Expr::Column(_)) => {
            let (Expr::Literal(low, _), Expr::Literal(high, _)) = (&**low, &**high) else { return None };
            let between = range(number(low)?, number(high)?.saturating_add(1));
            Some(if *negated { all().difference(&between) } else { between })
        }
        Expr::InList(InList { expr, list, negated }) if matches!(**expr, Expr::Column(_)) => {
            let mut listed = Vec::with_capacity(list.len());
            for item in list {
                let Expr::Literal(value, _) = item else { return None };
                listed.push(number(value)?);
            }
            let listed = listed.into_iter().filter_map(|number| u32::try_from(number).ok());
            let listed: Selection = listed.map(SeriesRef).collect();
            Some(if *negated { all().difference(&listed) } else { listed })
        }
        _ => None,
    }
}

fn compared(op: Operator, number: u64) -> Option<Selection> {
    Some(match op {
        Operator::Eq => range(number, number.saturating_add(1)),
        Operator::NotEq => all().difference(&range(number, number.saturating_add(1))),
        Operator::Lt => range(0, number),
        Operator::LtEq => range(0, number.saturating_add(1)),
        Operator::Gt => range(number.saturating_add(1), u64::MAX),
        Operator::GtEq => range(number, u64::MAX),
        _ => return None,
    })
}

fn all() -> Selection {
    range(0, u64::MAX)
}

fn range(start: u64, end: u64) -> Selection {
    let within = |number: u64| SeriesRef(u32::try_from(number).unwrap_or(u32::MAX));
    Selection::from_range(within(start)..within(end))
}

/// Returns a constant of the column's type. Analysis has cast others, or left a cast that is not a constant.
fn number(value: &ScalarValue) -> Option<u64> {
    match value {
        ScalarValue::UInt64(number) => *number,
        _ => None,
    }
}
