//! Evaluation of a condition on the values of a label.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, DictionaryArray, RecordBatch, StringViewArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::Schema;
use chronoxide_arrow::{BlockTable, Column, Strings};
use chronoxide_reader::KeyId;
use chronoxide_select::Ranges;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Like, Operator};
use datafusion::physical_expr::PhysicalExpr;

use crate::error::external;

/// Conditions that sorted values answer by binary search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The label has one of these values.
    OneOf(Vec<String>),
    /// The label is there, and has none of these values.
    NoneOf(Vec<String>),
    /// The value begins with this text.
    Prefix(String),
    /// The label is absent.
    Absent,
}

impl Lookup {
    /// Returns the lookup that a condition is, or `None` if it is another condition.
    pub(crate) fn from_expr(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::IsNull(inner) => is_column(inner).then_some(Self::Absent),
            Expr::IsNotNull(inner) => is_column(inner).then(|| Self::NoneOf(Vec::new())),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let value = match (is_column(left), is_column(right)) {
                    (true, false) => literal(right)?,
                    (false, true) => literal(left)?,
                    _ => return None,
                };
                match op {
                    Operator::Eq => Some(Self::OneOf(vec![value])),
                    Operator::NotEq => Some(Self::NoneOf(vec![value])),
                    _ => None,
                }
            }
            Expr::InList(InList { expr, list, negated }) if is_column(expr) => {
                let values = list.iter().map(literal).collect::<Option<Vec<_>>>()?;
                Some(if *negated { Self::NoneOf(values) } else { Self::OneOf(values) })
            }
            Expr::Like(Like { negated: false, expr, pattern, escape_char: None, case_insensitive: false })
                if is_column(expr) =>
            {
                let pattern = literal(pattern)?;
                let prefix = pattern.strip_suffix('%')?;
                (!prefix.contains(['%', '_', '\\'])).then(|| Self::Prefix(prefix.to_owned()))
            }
            _ => None,
        }
    }

    /// Returns the codes of the accepted values of a key, and whether absence is accepted.
    pub(crate) fn accepted(&self, table: &BlockTable, key: KeyId) -> Result<(Ranges, bool)> {
        let codes = |values: &[String]| {
            let view = table.block().view();
            let mut codes = Vec::with_capacity(values.len());
            for value in values {
                codes.extend(view.value_code(key, value).map_err(|error| external(table.block().locate(error)))?);
            }
            codes.sort_unstable();
            codes.dedup();
            Ok::<Ranges, DataFusionError>(codes.into_iter().map(|code| code..code + 1).collect())
        };
        match self {
            Self::OneOf(values) => Ok((codes(values)?, false)),
            Self::NoneOf(values) => Ok((all_codes().difference(&codes(values)?), false)),
            Self::Prefix(prefix) => {
                let values = table.dictionary(key).map_err(external)?;
                Ok((Ranges::from_iter([prefixed(&values, prefix)]), false))
            }
            Self::Absent => Ok((Ranges::default(), true)),
        }
    }
}

/// Returns the positions of the values that begin with a prefix. Values are sorted.
fn prefixed(values: &StringViewArray, prefix: &str) -> Range<u32> {
    let rank = |place: usize| {
        let value = values.value(place);
        if value.starts_with(prefix) { Ordering::Equal } else { value.cmp(prefix) }
    };
    let first = |is_before: &dyn Fn(Ordering) -> bool| {
        let (mut low, mut high) = (0, values.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(rank(middle)) { low = middle + 1 } else { high = middle }
        }
        low as u32
    };
    first(&|order| order == Ordering::Less)..first(&|order| order != Ordering::Greater)
}

fn all_codes() -> Ranges {
    Ranges::up_to(u32::MAX)
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Column(_))
}

/// Returns the text of a constant, or `None` if it is null or not a text.
fn literal(expr: &Expr) -> Option<String> {
    let Expr::Literal(value, _) = expr else { return None };
    match value {
        ScalarValue::Dictionary(_, inner) => inner.try_as_str().flatten().map(str::to_owned),
        other => other.try_as_str().flatten().map(str::to_owned),
    }
}

/// Evaluates a condition on each value of a key, and on null. Returns the codes of the accepted values, and whether
/// null, that is absence, is accepted. A key that the block does not have (`None`) has no values.
pub(crate) fn evaluate(
    condition: &Arc<dyn PhysicalExpr>,
    column: &Column,
    table: &BlockTable,
    key: Option<KeyId>,
    strings: Strings,
) -> Result<(Ranges, bool)> {
    let values = match key {
        Some(key) => table.dictionary(key).map_err(external)?,
        None => Arc::new(StringViewArray::new_null(0)),
    };
    let count = values.len();
    let places: UInt32Array = (0..count as u32).map(Some).chain([None]).collect();
    let array: ArrayRef = match strings {
        Strings::Dictionary => Arc::new(DictionaryArray::try_new(places, values)?),
        Strings::View => take(&*values, &places, None)?,
    };
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![column.field(strings)])), vec![array])?;
    let result = condition.evaluate(&batch)?.into_array(count + 1)?;
    let result = as_boolean_array(&result)?;
    if result.len() != count + 1 {
        return internal_err!("a condition gave {} results for {} values", result.len(), count + 1);
    }
    let accepts = |place: usize| result.is_valid(place) && result.value(place);
    let codes = (0..count).filter(|&place| accepts(place)).map(|place| place as u32..place as u32 + 1).collect();
    Ok((codes, accepts(count)))
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};

    use super::*;

    #[test]
    fn simple_conditions_are_lookups() {
        let one = |value: &str| vec![value.to_owned()];
        assert_eq!(Lookup::from_expr(&col("job").eq(lit("a"))), Some(Lookup::OneOf(one("a"))));
        assert_eq!(Lookup::from_expr(&lit("a").not_eq(col("job"))), Some(Lookup::NoneOf(one("a"))));
        assert_eq!(Lookup::from_expr(&col("job").in_list(vec![lit("a")], true)), Some(Lookup::NoneOf(one("a"))));
        assert_eq!(Lookup::from_expr(&col("job").like(lit("a%"))), Some(Lookup::Prefix("a".to_owned())));
        assert_eq!(Lookup::from_expr(&col("job").is_null()), Some(Lookup::Absent));
        for other in [col("job").like(lit("a_%")), col("job").like(lit("%a")), col("job").like(lit("a\\%"))] {
            assert_eq!(Lookup::from_expr(&other), None, "{other}");
        }
        assert_eq!(Lookup::from_expr(&col("job").not_like(lit("a%"))), None);
        assert_eq!(Lookup::from_expr(&col("job").eq(lit(ScalarValue::Utf8(None)))), None, "null is not a value");
    }

    #[test]
    fn prefixes_are_ranges_of_sorted_values() {
        let values = StringViewArray::from_iter_values(["", "a", "ab", "abc", "ab\u{10ffff}", "b", "ba"]);
        for (prefix, expected) in [("", 0..7), ("a", 1..5), ("ab", 2..5), ("abc", 3..4), ("c", 7..7), ("aa", 2..2)] {
            assert_eq!(prefixed(&values, prefix), expected, "{prefix}");
        }
    }
}
