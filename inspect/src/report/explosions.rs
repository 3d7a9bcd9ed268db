//! Explosions: labels whose new values bring many of the series that came between two inputs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use chronoxide_format::{KeyId, SeriesRef};
use chronoxide_select::{Matcher, Operator, Projection, Selection, Tally};

use super::ReportError;
use super::figures::{Explosion, LabelChange};
use super::subject::Subject;

/// Labels that are looked at: those with the most new values.
const MAX_LOOKED_AT: usize = 8;
/// Listed explosions.
const MAX_LISTED: usize = 3;
/// Percentage of the series that came which new values of a label must bring.
const MIN_PERCENT: u64 = 10;
/// Series whose labels are read at once.
const STEP: usize = 1 << 18;

/// Labels that name the sender of a series, the first of them that the blocks have counts.
const OWNERS: [&str; 6] = ["job", "service.name", "service_name", "app", "k8s.deployment.name", "namespace"];

/// Series before and after, of the block that has both.
pub(super) struct Sides<'r, 'data> {
    pub(super) subject: &'r Subject<'data>,
    pub(super) before: &'r Selection,
    pub(super) after: &'r Selection,
    pub(super) came: &'r Selection,
}

impl Sides<'_, '_> {
    /// Lists labels that have at least twice as many values as before, and whose new values bring at least a tenth of
    /// the series that came; the most series first. Labels that bring the same series follow from each other: of these
    /// the first one of `labels` is listed.
    ///
    /// Costs two passes over the labels of all series, and one over two labels of those that came.
    pub(super) fn explosions(&self, labels: &[LabelChange]) -> Result<Vec<Explosion>, ReportError> {
        let searcher = self.subject.searcher()?;
        let (before, after) =
            rayon::join(|| searcher.tally_selection(self.before), || searcher.tally_selection(self.after));
        let (before, after) = (before?, after?);
        let mut owner_key = None;
        for name in OWNERS {
            owner_key = owner_key.or(self.subject.view().key(name)?);
        }
        let mut explosions: Vec<Explosion> = Vec::new();
        for change in labels.iter().take(MAX_LOOKED_AT).filter(|change| change.values_came > change.values_gone) {
            let Some(key) = self.subject.view().key(&change.name)? else { continue };
            let known: BTreeSet<u32> = before.values(key).map(|(code, _)| code).collect();
            let new: BTreeMap<u32, u64> = after.values(key).filter(|(code, _)| !known.contains(code)).collect();
            let series: u64 = new.values().sum();
            let owner =
                owner_key.filter(|owner| *owner != key).map(|owner| self.owner(key, &new, owner)).transpose()?;
            let owner = owner.flatten();
            let [values_before, values_after] = match &owner {
                Some((owner, value)) => self.values_of(key, owner, value)?,
                None => [&before, &after].map(|tally: &Tally| tally.values(key).count() as u64),
            };
            let is_large = series * 100 >= u64::from(self.came.count()) * MIN_PERCENT;
            let is_known = explosions.iter().any(|known| known.series == series);
            if is_large && !is_known && values_after >= 2 * values_before {
                explosions.push(Explosion { label: change.name.clone(), owner, values_before, values_after, series });
            }
        }
        explosions.sort_by_key(|explosion| Reverse(explosion.series));
        explosions.truncate(MAX_LISTED);
        Ok(explosions)
    }

    /// Returns the owner of at least half of the series that came with a new value, as a label pair.
    fn owner(
        &self,
        key: KeyId,
        new: &BTreeMap<u32, u64>,
        owner: KeyId,
    ) -> Result<Option<(String, String)>, ReportError> {
        let searcher = self.subject.searcher()?;
        let refs: Vec<SeriesRef> = self.came.iter().collect();
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for refs in refs.chunks(STEP) {
            let projection = searcher.project_keys(refs, &[key, owner])?;
            for (code, owner) in projection.codes(0).iter().zip(projection.codes(1)) {
                if new.contains_key(code) && *owner != Projection::ABSENT {
                    *counts.entry(*owner).or_default() += 1;
                }
            }
        }
        let all: u64 = new.values().sum();
        let most = counts.into_iter().max_by_key(|&(code, series)| (series, Reverse(code)));
        match most.filter(|(_, series)| 2 * series >= all) {
            Some((code, _)) => {
                let value = self.subject.value(owner, code)?.to_owned();
                Ok(Some((self.subject.name(owner)?.to_owned(), value)))
            }
            None => Ok(None),
        }
    }

    /// Returns the number of values of a key that the series of an owner have, before and after.
    fn values_of(&self, key: KeyId, owner: &str, value: &str) -> Result<[u64; 2], ReportError> {
        let searcher = self.subject.searcher()?;
        // An equality has no pattern that could be wrong.
        let matchers: Vec<Matcher> = Matcher::new(owner, Operator::Equal, value).into_iter().collect();
        let series = searcher.select(&matchers)?;
        let mut counts = [0; 2];
        for (count, side) in counts.iter_mut().zip([self.before, self.after]) {
            *count = searcher.tally_selection(&series.intersection(side))?.values(key).count() as u64;
        }
        Ok(counts)
    }
}
