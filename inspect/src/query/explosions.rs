//! [`explosions`]: labels whose new values bring many of the series that came.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use chronoxide::{Cardinality, Difference, Error, Group, Query};
use serde::Serialize;

/// Labels that are looked at: those with the most values on one side only.
const MAX_LOOKED_AT: usize = 8;
/// Listed explosions.
const MAX_LISTED: usize = 3;
/// New values that a label must have.
const MIN_NEW_VALUES: usize = 10;
/// Percentage of the series that came which new values of a label must bring.
const MIN_PERCENT: u64 = 10;

/// Labels that name the sender of a series, the first of them that the blocks have counts.
const OWNERS: [&str; 6] = ["job", "service.name", "service_name", "app", "k8s.deployment.name", "namespace"];

/// A label whose new values bring many of the series that came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explosion {
    /// Name of the label.
    pub label: String,
    /// Label pair that at least half of these series have: that of a job or service; none without one.
    pub owner: Option<(String, String)>,
    /// Number of its distinct values before, in the series of the owner.
    pub values_before: u64,
    /// Number of its distinct values after.
    pub values_after: u64,
    /// Series that came with a new value, of all owners.
    pub series: u64,
}

/// Values with their number of series.
type Values<'v> = HashMap<&'v str, u64>;

/// A label with values on one side only.
struct Changed<'v> {
    name: &'v str,
    /// Values that only series after have, with the number of these.
    new: Values<'v>,
    gone: usize,
}

/// Lists labels that have at least twice as many values as before, and ten or more new ones, which bring at least a
/// tenth of the series that came; the most series first. Labels that bring the same series follow from each other: of
/// these one with the most changed values is listed.
///
/// Costs nothing if no label has ten values in the series that came. Else costs as much as [`Query::cardinality`] of
/// both queries, and for up to 8 labels [`Query::group_by`] of both, with 300 bytes of memory per new value.
///
/// # Errors
/// As [`Query::cardinality`].
pub fn explosions(before: &Query<'_>, after: &Query<'_>, difference: &Difference<'_>) -> Result<Vec<Explosion>, Error> {
    let mut explosions: Vec<Explosion> = Vec::new();
    let mut came = difference.came_labels.values.values();
    if came.all(|values| values.len() < MIN_NEW_VALUES) {
        return Ok(explosions);
    }
    let (before_counts, after_counts) = (before.cardinality()?, after.cardinality()?);
    let has_label = |name: &&str| [&before_counts, &after_counts].iter().any(|side| side.values.contains_key(name));
    let owner_name = OWNERS.into_iter().find(has_label);
    for Changed { name, new, gone } in changed(&before_counts, &after_counts, &difference.came_labels) {
        let series: u64 = new.values().sum();
        let is_large = new.len() >= MIN_NEW_VALUES && series * 100 >= difference.came.len() * MIN_PERCENT;
        if new.len() <= gone || !is_large || explosions.iter().any(|known| known.series == series) {
            continue;
        }
        let owner = match owner_name.filter(|owner| *owner != name) {
            Some(owner) => owner_of(&difference.came.group_by(&[name, owner])?, name, &new, owner),
            None => None,
        };
        let values = |query: &Query<'_>, counts: &Cardinality<'_>| match &owner {
            Some((owner, value)) => {
                let groups = query.group_by(&[name, owner])?;
                let of_owner = groups.iter().filter(|group| group.get(owner) == Some(value));
                Ok::<_, Error>(of_owner.filter(|group| group.get(name).is_some()).count() as u64)
            }
            None => Ok(counts.values.get(name).map_or(0, |values| values.len() as u64)),
        };
        let (values_before, values_after) = (values(before, &before_counts)?, values(after, &after_counts)?);
        if values_after >= 2 * values_before {
            explosions.push(Explosion { label: name.to_owned(), owner, values_before, values_after, series });
        }
    }
    explosions.sort_by_key(|explosion| Reverse(explosion.series));
    explosions.truncate(MAX_LISTED);
    Ok(explosions)
}

/// Returns the labels with the most values on one side only, without the metric's name.
fn changed<'v>(before: &Cardinality<'_>, after: &Cardinality<'_>, came: &'v Cardinality<'_>) -> Vec<Changed<'v>> {
    let none = HashMap::new();
    let mut changed = Vec::new();
    for (&name, came) in came.values.iter().filter(|(name, _)| **name != "__name__") {
        let [before, after] = [before, after].map(|side| side.values.get(name).unwrap_or(&none));
        let new: Values<'_> = came
            .iter()
            .filter(|(value, _)| !before.contains_key(*value))
            .map(|(&value, &count)| (value, count))
            .collect();
        let gone = before.keys().filter(|value| !after.contains_key(*value)).count();
        changed.push(Changed { name, new, gone });
    }
    changed.sort_by_key(|label| (Reverse(label.new.len() + label.gone), label.name));
    changed.truncate(MAX_LOOKED_AT);
    changed
}

/// Returns the owner of at least half of the series that came with a new value of a label, as a label pair.
fn owner_of(groups: &[Group<'_>], name: &str, new: &Values<'_>, owner: &str) -> Option<(String, String)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for group in groups.iter().filter(|group| group.get(name).is_some_and(|value| new.contains_key(value))) {
        if let Some(value) = group.get(owner) {
            *counts.entry(value).or_default() += group.series;
        }
    }
    let most = counts.into_iter().max_by_key(|&(value, series)| (series, Reverse(value)));
    let (value, _) = most.filter(|(_, series)| 2 * series >= new.values().sum())?;
    Some((owner.to_owned(), value.to_owned()))
}
