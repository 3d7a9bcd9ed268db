//! Comparisons of a column of numbers with constants, as ranges.

use std::ops::RangeInclusive;

use chronoxide_reader::SeriesRef;
use chronoxide_select::Selection;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};

/// Numbers that a condition accepts, as ascending ranges with gaps between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Numbers(Vec<RangeInclusive<i128>>);

impl Numbers {
    /// Returns the numbers that a condition on one column accepts, or `None` if it is not made of comparisons with
    /// constants.
    pub(crate) fn accepted(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                Some(Self::accepted(left)?.intersection(&Self::accepted(right)?))
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                Some(Self::accepted(left)?.union(Self::accepted(right)?))
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (&**left, &**right) {
                (Expr::Column(_), Expr::Literal(value, _)) => Self::compared(*op, number(value)?),
                (Expr::Literal(value, _), Expr::Column(_)) => Self::compared(op.swap()?, number(value)?),
                _ => None,
            },
            Expr::Between(Between { expr, negated, low, high }) if matches!(**expr, Expr::Column(_)) => {
                let (Expr::Literal(low, _), Expr::Literal(high, _)) = (&**low, &**high) else { return None };
                let between = Self::from_ranges(vec![number(low)?..=number(high)?]);
                Some(if *negated { between.complement() } else { between })
            }
            Expr::InList(InList { expr, list, negated }) if matches!(**expr, Expr::Column(_)) => {
                let mut listed = Vec::with_capacity(list.len());
                for item in list {
                    let Expr::Literal(value, _) = item else { return None };
                    let number = number(value)?;
                    listed.push(number..=number);
                }
                let listed = Self::from_ranges(listed);
                Some(if *negated { listed.complement() } else { listed })
            }
            _ => None,
        }
    }

    /// Returns the ranges.
    pub(crate) fn ranges(&self) -> &[RangeInclusive<i128>] {
        &self.0
    }

    /// Returns the refs among the numbers.
    pub(crate) fn to_refs(&self) -> Selection {
        refs(&self.0)
    }

    fn compared(op: Operator, number: i128) -> Option<Self> {
        let one = Self(vec![number..=number]);
        Some(match op {
            Operator::Eq => one,
            Operator::NotEq => one.complement(),
            Operator::Lt => Self(vec![i128::MIN..=number - 1]),
            Operator::LtEq => Self(vec![i128::MIN..=number]),
            Operator::Gt => Self(vec![number + 1..=i128::MAX]),
            Operator::GtEq => Self(vec![number..=i128::MAX]),
            _ => return None,
        })
    }

    /// Joins ranges in any order. Some may be empty.
    fn from_ranges(mut ranges: Vec<RangeInclusive<i128>>) -> Self {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_unstable_by_key(|range| *range.start());
        let mut joined: Vec<RangeInclusive<i128>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match joined.last_mut() {
                Some(last) if *range.start() <= last.end().saturating_add(1) => {
                    *last = *last.start()..=*last.end().max(range.end());
                }
                _ => joined.push(range),
            }
        }
        Self(joined)
    }

    fn union(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        Self::from_ranges(self.0)
    }

    fn intersection(&self, other: &Self) -> Self {
        self.complement().union(other.complement()).complement()
    }

    fn complement(&self) -> Self {
        let (mut gaps, mut next) = (Vec::with_capacity(self.0.len() + 1), Some(i128::MIN));
        for range in &self.0 {
            gaps.extend(next.zip(range.start().checked_sub(1)).map(|(start, end)| start..=end));
            next = range.end().checked_add(1);
        }
        gaps.extend(next.map(|start| start..=i128::MAX));
        Self::from_ranges(gaps)
    }
}

/// Returns the refs of ranges: halves of many ranges are united.
fn refs(ranges: &[RangeInclusive<i128>]) -> Selection {
    let within = |number: i128| SeriesRef(u32::try_from(number.clamp(0, u32::MAX.into())).unwrap_or_default());
    match ranges {
        [] => Selection::default(),
        [only] => Selection::from_range(within(*only.start())..within(only.end().saturating_add(1))),
        several => {
            let (left, right) = several.split_at(several.len() / 2);
            refs(left).union(&refs(right))
        }
    }
}

/// Returns a constant of the column's type, which has 64 bits. Analysis has cast others, or left a cast that is not a
/// constant.
fn number(value: &ScalarValue) -> Option<i128> {
    match value {
        ScalarValue::UInt64(number) => number.map(i128::from),
        ScalarValue::Int64(number) | ScalarValue::TimestampNanosecond(number, _) => number.map(i128::from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of a small set that ranges have.
    fn members(numbers: &Numbers) -> Vec<i128> {
        (-3..=12).filter(|number| numbers.ranges().iter().any(|range| range.contains(number))).collect()
    }

    #[test]
    fn sets_of_numbers_are_those_of_their_members() {
        let set =
            |ranges: &[(i128, i128)]| Numbers::from_ranges(ranges.iter().map(|&(low, high)| low..=high).collect());
        let all = [
            set(&[]),
            set(&[(i128::MIN, i128::MAX)]),
            set(&[(i128::MIN, 3)]),
            set(&[(4, i128::MAX)]),
            set(&[(5, 4), (0, 0), (2, 3), (4, 7)]),
            set(&[(9, 9), (1, 8), (-2, 0)]),
            set(&[(7, 9), (1, 2)]),
        ];
        for left in &all {
            let of_left = members(left);
            let outside: Vec<i128> = (-3..=12).filter(|number| !of_left.contains(number)).collect();
            assert_eq!(members(&left.complement()), outside, "{left:?}");
            assert_eq!(&left.complement().complement(), left);
            for right in &all {
                let of_right = members(right);
                let both: Vec<i128> = of_left.iter().copied().filter(|number| of_right.contains(number)).collect();
                let either: Vec<i128> =
                    (-3..=12).filter(|number| of_left.contains(number) || of_right.contains(number)).collect();
                assert_eq!(members(&left.intersection(right)), both, "{left:?} {right:?}");
                assert_eq!(members(&left.clone().union(right.clone())), either, "{left:?} {right:?}");
            }
        }
    }
}
