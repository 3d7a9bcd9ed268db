//! Labels of a report, and what remains without them.

use std::cmp::Reverse;

use chronoxide_format::KeyId;
use chronoxide_select::{Labels as Kept, Tally};
use rayon::prelude::*;

use super::ReportError;
use super::explorer::LabelCount;
use super::figures::{Label, OtherLabels};
use super::looks;
use super::subject::{METRIC, Subject};
use super::usage::Used;
use super::values::{most_series, value_series};

/// Number of listed labels.
const MAX_LISTED: usize = 100;
/// Number of labels for which the remaining series are counted, if there are more than [`MAX_SMALL_SERIES`] series or
/// [`MAX_SMALL_KEYSETS`] keysets; otherwise they are counted for all listed labels.
const MAX_COUNTED: usize = 20;
/// Number of series up to which a count takes milliseconds.
const MAX_SMALL_SERIES: u64 = 200_000;
/// Number of keysets up to which a count takes milliseconds.
const MAX_SMALL_KEYSETS: usize = 2_000;
/// Maximum number of listed values per label.
const MAX_VALUES: usize = 5;

/// Labels of all series.
pub(super) struct Labels {
    pub(super) listed: Vec<Label>,
    pub(super) others: OtherLabels,
    /// Number of labels.
    pub(super) count: u64,
    /// Number of distinct pairs of name and value.
    pub(super) pairs: u64,
    /// Bytes of the distinct values of all labels.
    pub(super) value_bytes: u64,
    /// Number of labels, summed over all series.
    pub(super) total: u64,
}

impl Labels {
    /// Lists the labels with the most values. Costs a look at each distinct value, and a count of the remaining series
    /// of the first labels: some 20 ns per row and list of the block each.
    pub(super) fn new(subject: &Subject<'_>, used: Option<&Used<'_>>) -> Result<Self, ReportError> {
        let is_small = subject.series_count() <= MAX_SMALL_SERIES && subject.tally.keysets().len() <= MAX_SMALL_KEYSETS;
        let counted = if is_small { MAX_LISTED } else { MAX_COUNTED };
        let mut all = subject.tally.keys().map(|key| describe(subject, key)).collect::<Result<Vec<_>, _>>()?;
        all.sort_by(|a, b| (Reverse(a.values), &a.name).cmp(&(Reverse(b.values), &b.name)));
        let mut labels = Self {
            listed: Vec::new(),
            others: OtherLabels::default(),
            count: all.len() as u64,
            pairs: all.iter().map(|label| label.values).sum(),
            value_bytes: all.iter().map(|label| label.value_bytes).sum(),
            total: all.iter().map(|label| label.series).sum(),
        };
        for other in all.split_off(all.len().min(MAX_LISTED)) {
            labels.others.labels += 1;
            labels.others.values += other.values;
        }
        all.iter_mut()
            .filter(|label| label.name != METRIC)
            .take(counted)
            .collect::<Vec<_>>()
            .into_par_iter()
            .try_for_each(|label| {
                label.remains = Some(remaining(subject, &[&label.name])?);
                Ok::<(), ReportError>(())
            })?;
        if let Some(used) = used {
            for label in all.iter_mut().filter(|label| label.name != METRIC) {
                label.used_by = Some(used.label(subject, &label.name)?);
            }
        }
        labels.listed = all;
        Ok(labels)
    }
}

/// Returns the labels of a tally with their keys, the most values first.
pub(super) fn counts(subject: &Subject<'_>, tally: &Tally) -> Result<Vec<(LabelCount, KeyId)>, ReportError> {
    let mut labels = Vec::new();
    for key in tally.keys() {
        let name = subject.name(key)?.to_owned();
        let (mut values, mut series) = (0, 0);
        tally.values(key).for_each(|(_, of_value)| (values, series) = (values + 1, series + of_value));
        labels.push((LabelCount { name, values, series }, key));
    }
    labels.sort_by(|(a, _), (b, _)| (Reverse(a.values), &a.name).cmp(&(Reverse(b.values), &b.name)));
    Ok(labels)
}

fn describe(subject: &Subject<'_>, key: KeyId) -> Result<Label, ReportError> {
    let mut counts: Vec<(u32, u64)> = subject.tally.values(key).collect();
    let mut value_bytes = 0;
    for &(code, _) in &counts {
        value_bytes += subject.value(key, code)?.len() as u64;
    }
    let sample = looks::sample(&counts).map(|&(code, _)| subject.value(key, code)).collect::<Result<Vec<_>, _>>()?;
    let series = counts.iter().map(|(_, series)| series).sum();
    let values = counts.len() as u64;
    most_series(&mut counts, MAX_VALUES);
    let top = |(code, series): (u32, u64)| Ok(value_series(subject.value(key, code)?, series));
    Ok(Label {
        name: subject.name(key)?.to_owned(),
        values,
        value_bytes,
        series,
        remains: None,
        looks: looks::classify_values(&sample),
        top: counts.into_iter().take(MAX_VALUES).map(top).collect::<Result<_, ReportError>>()?,
        used_by: None,
    })
}

/// Counts the series that remain when labels are dropped. A series without other labels does not remain.
pub(super) fn remaining(subject: &Subject<'_>, names: &[&str]) -> Result<u64, ReportError> {
    if let Some(products) = subject.products()? {
        return Ok(products.count_without(&subject.searcher()?, names)?);
    }
    let groups = subject.searcher()?.count_groups(Kept::Without(names))?;
    for keyset in subject.view().keysets() {
        let mut keeps_any = false;
        for key in keyset?.keys()? {
            keeps_any = !names.contains(&subject.name(key?)?);
            // A keyset can have hundreds of labels, and mostly keeps its first one.
            if keeps_any {
                break;
            }
        }
        if !keeps_any {
            return Ok(groups.saturating_sub(1));
        }
    }
    Ok(groups)
}
