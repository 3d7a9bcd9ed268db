//! [`explosions`]: labels whose new values bring many of the series that came.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use chronoxide::{Cardinality, Difference, Error, Label, Operator, Selection, Selector};
use serde::Serialize;

/// Listed explosions.
const MAX_LISTED: usize = 3;
/// New values that a label must have.
const MIN_NEW_VALUES: usize = 10;
/// Percentage of the series that came which new values of a label must bring.
const MIN_PERCENT: u64 = 10;
/// Series that are read to find the owners of new values.
const MAX_SAMPLES: u64 = 4096;

/// Labels that name the sender of a series. The first that most series with new values have is told.
const OWNERS: [&str; 6] = ["job", "service.name", "service_name", "app", "k8s.deployment.name", "namespace"];

/// A label whose new values bring many of the series that came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explosion {
    /// Name of the label.
    pub label: String,
    /// Other labels that explode with it: the same series have new values of them.
    pub also: Vec<String>,
    /// Label pair that at least half of the series with new values have: that of a job or service. The numbers are
    /// those of its series. None without one, if its values did not double, or if it had none and those of all did not.
    pub owner: Option<(String, String)>,
    /// Number of distinct values before.
    pub values_before: u64,
    /// Number of distinct values after.
    pub values_after: u64,
    /// Series that came with a new value.
    pub series: u64,
}

/// Lists labels that have at least twice as many values as before, and ten or more new ones, more than are gone, which
/// bring at least a tenth of the series that came; the most series first. Labels that bring the same series follow from
/// each other: one with the most changed values is listed, with the names of the others. No label explodes if there
/// were no series before.
///
/// Costs nothing if no label has ten values in the series that came. Else costs as much as [`Selection::cardinality`]
/// of all series, for those of each owner too, with some 100 bytes of memory per distinct value.
///
/// # Errors
/// An error of kind `Corrupt` if a block is damaged where the labels are.
pub fn explosions(difference: &Difference<'_>) -> Result<Vec<Explosion>, Error> {
    let is_candidate = |values: &HashMap<&str, u64>| values.len() >= MIN_NEW_VALUES;
    let had_none = difference.same.is_empty() && difference.gone.is_empty();
    if had_none || !difference.came_labels.values.values().any(is_candidate) {
        return Ok(Vec::new());
    }
    let (came, same) = (difference.came.len(), difference.same.cardinality()?);
    let all = Counts { same: &same, gone: &difference.gone_labels, came: &difference.came_labels };
    let names = all.came.values.keys().filter(|name| **name != "__name__");
    let mut grown: Vec<(&str, Growth)> = names.map(|&name| (name, all.growth(name))).collect();
    grown.retain(|(_, growth)| growth.is_large(came));
    grown.sort_by_key(|(_, growth)| Reverse(growth.new + growth.gone));
    let samples = if grown.is_empty() { Vec::new() } else { samples(&difference.came)? };
    let mut of_owners: BTreeMap<Owner<'_>, Vec<Growth>> = BTreeMap::new();
    // Beside each explosion, the series that it brought: their number, and samples.
    let mut explosions: Vec<(_, Explosion)> = Vec::new();
    for (position, &(name, of_all)) in grown.iter().enumerate() {
        let with_new: Vec<_> = samples.iter().filter(|labels| all.has_new_value(name, labels)).collect();
        let brought = (of_all.series, with_new);
        if let Some((_, explosion)) = explosions.iter_mut().find(|(known, _)| *known == brought) {
            explosion.also.push(name.to_owned());
            continue;
        }
        let owner = owner_of(name, &brought.1);
        let of_owner = match owner.map(|owner| (owner, of_owners.entry(owner))) {
            Some((_, Entry::Occupied(known))) => known.get().get(position).copied(),
            Some((owner, Entry::Vacant(place))) => {
                place.insert(growth_of_owner(difference, owner, &grown)?).get(position).copied()
            }
            None => None,
        };
        let exploded = |growth: Growth| growth.is_large(came) && growth.has_doubled();
        let of_owner = of_owner.filter(|growth| exploded(*growth) && growth.explains(of_all));
        if let Some(growth) = of_owner.or(Some(of_all).filter(|growth| exploded(*growth))) {
            let owner = owner.filter(|_| of_owner.is_some());
            let explosion = Explosion {
                label: name.to_owned(),
                also: Vec::new(),
                owner: owner.map(|(owner, value)| (owner.to_owned(), value.to_owned())),
                values_before: growth.before,
                values_after: growth.after,
                series: growth.series,
            };
            explosions.push((brought, explosion));
        }
    }
    let mut explosions: Vec<Explosion> = explosions.into_iter().map(|(_, explosion)| explosion).collect();
    explosions.sort_by_key(|explosion| Reverse(explosion.series));
    explosions.truncate(MAX_LISTED);
    Ok(explosions)
}

/// A label pair that names the sender of series.
type Owner<'b> = (&'static str, &'b str);

/// Numbers of series by value.
#[derive(Clone, Copy)]
struct Counts<'c> {
    same: &'c Cardinality<'c>,
    gone: &'c Cardinality<'c>,
    came: &'c Cardinality<'c>,
}

/// How the distinct values of a label changed.
#[derive(Clone, Copy)]
struct Growth {
    before: u64,
    after: u64,
    new: u64,
    gone: u64,
    /// Series that came with a new value.
    series: u64,
}

impl Growth {
    /// Returns true if there are enough new values, and they bring enough of the series that came.
    fn is_large(self, came: u64) -> bool {
        self.new >= MIN_NEW_VALUES as u64 && self.new > self.gone && self.series * 100 >= came * MIN_PERCENT
    }

    fn has_doubled(self) -> bool {
        self.after >= 2 * self.before
    }

    /// Returns true if the growth of an owner's values stands for that of all. All values of an owner that had none are
    /// new: no reason to name a label that many others have.
    fn explains(self, of_all: Self) -> bool {
        self.series * 2 >= of_all.series && (self.before > 0 || of_all.has_doubled())
    }
}

impl Counts<'_> {
    fn growth(self, name: &str) -> Growth {
        let none = HashMap::new();
        let [same, gone, came] = [self.same, self.gone, self.came].map(|side| side.values.get(name).unwrap_or(&none));
        let only_in = |side: &HashMap<&str, u64>, other: &HashMap<&str, u64>| {
            let only = side.iter().filter(|(value, _)| !same.contains_key(*value) && !other.contains_key(*value));
            only.fold((0, 0), |(values, series), (_, &count)| (values + 1, series + count))
        };
        let ((new, series), (lost, _)) = (only_in(came, gone), only_in(gone, came));
        let returned = gone.keys().filter(|value| !same.contains_key(*value) && came.contains_key(*value)).count();
        let kept = (same.len() + returned) as u64;
        let before = kept + lost;
        // A value of series that came, which only series that are gone had, was there before and is there after.
        Growth { before, after: kept + new, new, gone: lost, series }
    }

    fn has_new_value(self, name: &str, labels: &[Label<'_>]) -> bool {
        let value = labels.iter().find(|label| label.name == name).map(|label| label.value);
        let is_known = |side: &Cardinality<'_>, value| side.values.get(name).is_some_and(|of| of.contains_key(value));
        value.is_some_and(|value| !is_known(self.same, value) && !is_known(self.gone, value))
    }
}

/// Returns the labels of series from all over a selection: of all, if it has no more than are read.
fn samples(selection: &Selection) -> Result<Vec<Vec<Label<'_>>>, Error> {
    let mut reader = selection.blocks().reader();
    let step = selection.len().div_ceil(MAX_SAMPLES).max(1);
    // A series out of each `step`, at changing places: values can repeat with any period.
    let is_chosen = |number: u64| number % step == (number / step).wrapping_mul(0x9e37_79b9) % step;
    let chosen = selection.ids().zip(0..).filter(|&(_, number)| is_chosen(number));
    chosen.map(|(id, _)| Ok(reader.labels(id)?.unwrap_or_default().to_vec())).collect()
}

/// Returns the first label pair of an owner that at least half of some series have, beside a label.
fn owner_of<'b>(name: &str, series: &[&Vec<Label<'b>>]) -> Option<Owner<'b>> {
    OWNERS.into_iter().filter(|owner| *owner != name).find_map(|owner| {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for label in series.iter().flat_map(|labels| labels.iter()).filter(|label| label.name == owner) {
            *counts.entry(label.value).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|&(value, count)| (count, Reverse(value)));
        most.filter(|(_, count)| 2 * count >= series.len()).map(|(value, _)| (owner, value))
    })
}

/// Returns how the values of labels changed in the series of an owner.
fn growth_of_owner(
    difference: &Difference<'_>,
    (owner, value): Owner<'_>,
    names: &[(&str, Growth)],
) -> Result<Vec<Growth>, Error> {
    let selector = Selector::from_matchers([(owner, Operator::Equal, value)])?;
    let of_owner = |side: &Selection| side.intersection(&side.blocks().query(&selector)?.select()?);
    let [same, gone, came] = [&difference.same, &difference.gone, &difference.came].map(of_owner);
    let (same, gone, came) = (same?, gone?, came?);
    let (same, gone, came) = (same.cardinality()?, gone.cardinality()?, came.cardinality()?);
    let counts = Counts { same: &same, gone: &gone, came: &came };
    Ok(names.iter().map(|(name, _)| counts.growth(name)).collect())
}
