//! Churn: label pairs and labels whose series come and go.

use std::cmp::Reverse;

use chronoxide_format::KeyId;
use chronoxide_select::Tally;

use super::ReportError;
use super::figures::{Churn, LabelChurn, PairChurn};
use super::subject::{METRIC, Subject};
use super::times::Times;
use super::values::value_series;

/// Counts the series that came and went within the time of a subject, by label pair and by label; `None` if their times
/// are unknown or too short. Lists at most `first` pairs and labels.
///
/// Costs a pass over the labels of these series. Takes 8 bytes of memory per such series, and per value.
pub(super) fn churn(subject: &Subject<'_>, times: &Times<'_>, first: usize) -> Result<Option<Churn>, ReportError> {
    let Some(changes) = times.changes()? else { return Ok(None) };
    let searcher = subject.searcher()?;
    let (new, gone) =
        rayon::join(|| searcher.tally_selection(&changes.new), || searcher.tally_selection(&changes.gone));
    let sides = [new?, gone?];
    let (mut pairs, mut labels) = (Vec::new(), Vec::new());
    let [all_new, all_gone] = [&changes.new, &changes.gone].map(|series| u64::from(series.count()));
    for key in subject.tally.keys() {
        let name = subject.name(key)?;
        let values = values(subject, &sides, key);
        let label = label_churn(name, &values);
        if name != METRIC && label.new_values + label.gone_values > 0 {
            labels.push(label);
        }
        pairs.extend(
            values
                .into_iter()
                .filter(|value| {
                    // Pairs that most series have, such as the cluster, would be first, and tell nothing.
                    let (changes, all) = (u128::from(value.new + value.gone), u128::from(all_new + all_gone));
                    let is_common = 2 * value.series > subject.series_count();
                    let is_often = changes * u128::from(subject.series_count()) > all * u128::from(value.series);
                    changes > 0 && (!is_common || is_often)
                })
                .map(|value| (key, value)),
        );
    }
    pairs.sort_by_key(|(key, value)| (Reverse(value.new + value.gone), key.0, value.code));
    labels.sort_by(|a: &LabelChurn, b| {
        (Reverse(a.new_values + a.gone_values), &a.name).cmp(&(Reverse(b.new_values + b.gone_values), &b.name))
    });
    labels.truncate(first);
    let pair = |(key, value): (KeyId, ValueChurn)| {
        let ValueChurn { code, series, new, gone } = value;
        Ok(PairChurn {
            name: subject.name(key)?.to_owned(),
            value: value_series(subject.value(key, code)?, series).value,
            series,
            new,
            gone,
            changes_per_hour: (new + gone) as f64 / changes.hours,
        })
    };
    Ok(Some(Churn {
        hours: changes.hours,
        new: all_new,
        gone: all_gone,
        pairs: pairs.into_iter().take(first).map(pair).collect::<Result<_, ReportError>>()?,
        labels,
    }))
}

/// Series of a value.
struct ValueChurn {
    code: u32,
    series: u64,
    new: u64,
    gone: u64,
}

/// Returns the values of a key that some series have, with those that came and went.
fn values(subject: &Subject<'_>, sides: &[Tally; 2], key: KeyId) -> Vec<ValueChurn> {
    let mut values: Vec<ValueChurn> =
        subject.tally.values(key).map(|(code, series)| ValueChurn { code, series, new: 0, gone: 0 }).collect();
    for (side, tally) in sides.iter().enumerate() {
        let mut rest = values.iter_mut();
        // Both are in the order of codes, and each value of a side is one of all series.
        for (code, count) in tally.values(key) {
            if let Some(value) = rest.find(|value| value.code == code) {
                *if side == 0 { &mut value.new } else { &mut value.gone } = count;
            }
        }
    }
    values
}

/// Counts the values all of whose series came or went.
fn label_churn(name: &str, values: &[ValueChurn]) -> LabelChurn {
    let mut label = LabelChurn { name: name.to_owned(), values: values.len() as u64, ..LabelChurn::default() };
    for value in values {
        if value.new == value.series {
            label.new_values += 1;
            label.series_of_new_values += value.series;
        }
        label.gone_values += u64::from(value.gone == value.series);
    }
    label
}
