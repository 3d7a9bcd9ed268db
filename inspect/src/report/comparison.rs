//! Changes between two inputs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use chronoxide_select::{Labels as Kept, Selection};
use rayon::prelude::*;

use super::ReportError;
use super::figures::{Comparison, LabelChange, MetricChange, Side, WithoutGenerated};
use super::subject::{METRIC, Subject};
use crate::query::{Explosion, explosions};

/// Number of listed labels.
const MAX_LISTED: usize = 20;
/// Number of labels for which the changes without them are counted.
const MAX_COUNTED: usize = 8;

/// Two inputs, and the block that has the series of both.
pub(super) struct Compared<'r, 'data> {
    /// The merged block.
    pub(super) subject: &'r Subject<'data>,
    /// Its series that are in the first input.
    pub(super) before: &'r Selection,
    /// Its series that are in the second input.
    pub(super) after: &'r Selection,
    /// The first and the second input.
    pub(super) sides: [&'r Subject<'data>; 2],
    /// False if files of the first input could not be read.
    pub(super) is_before_whole: bool,
    /// Labels whose values look generated.
    pub(super) generated: Vec<&'r str>,
}

/// Values of a label before and after.
type Values<'v> = [HashSet<&'v str>; 2];

impl Compared<'_, '_> {
    /// Compares the inputs. Lists at most `first` metrics.
    pub(super) fn compare(&self, before: Side, after: Side, first: usize) -> Result<Comparison, ReportError> {
        let (gone, came) = (self.before.difference(self.after), self.after.difference(self.before));
        let labels = self.labels()?;
        Ok(Comparison {
            explosions: self.explosions()?,
            before,
            after,
            same: self.before.intersection(self.after).count().into(),
            gone: gone.count().into(),
            came: came.count().into(),
            metrics: self.metrics(&gone, &came, first)?,
            labels,
            without_generated: self.without_generated()?,
        })
    }

    /// Returns the labels whose new values bring many of the series that came.
    fn explosions(&self) -> Result<Vec<Explosion>, ReportError> {
        // Values of missing series would look new.
        if !self.is_before_whole {
            return Ok(Vec::new());
        }
        let [before, after] = self.sides.map(Subject::blocks);
        let (before, after) = (before.query("{}")?, after.query("{}")?);
        Ok(explosions(&before.difference(&after)?)?)
    }

    /// Returns the metrics with changes, the most changes first.
    fn metrics(&self, gone: &Selection, came: &Selection, first: usize) -> Result<Vec<MetricChange>, ReportError> {
        let counts = [self.before, self.after, gone, came].map(|series| self.subject.metrics_of(series));
        let [before, after, gone, came] = counts;
        let (before, after, gone, came) = (before?, after?, gone?, came?);
        let mut changed: Vec<_> = self.subject.metric_codes()?.collect();
        changed.retain(|&metric| gone.get(metric) + came.get(metric) > 0);
        changed.sort_by_key(|&metric| (Reverse(gone.get(metric) + came.get(metric)), metric));
        changed.truncate(first);
        let describe = |metric| {
            Ok(MetricChange {
                metric: self.subject.metric_name(metric)?,
                before: before.get(metric),
                after: after.get(metric),
                gone: gone.get(metric),
                came: came.get(metric),
            })
        };
        changed.into_iter().map(describe).collect()
    }

    /// Returns the labels except the metric's name with values on one side only, the most such values first.
    fn labels(&self) -> Result<Vec<LabelChange>, ReportError> {
        let mut values: BTreeMap<&str, Values<'_>> = BTreeMap::new();
        for (side, subject) in self.sides.into_iter().enumerate() {
            for key in subject.tally.keys() {
                let name = subject.name(key)?;
                if name == METRIC {
                    continue;
                }
                let known = &mut values.entry(name).or_default()[side];
                for (code, _) in subject.tally.values(key) {
                    known.insert(subject.value(key, code)?);
                }
            }
        }
        let mut changes = Vec::new();
        for (name, [before, after]) in values {
            let values_gone = before.difference(&after).count() as u64;
            let values_came = after.difference(&before).count() as u64;
            if values_gone + values_came > 0 {
                let name = name.to_owned();
                changes.push(LabelChange { name, values_gone, values_came, gone_without: None, came_without: None });
            }
        }
        changes.sort_by(|a, b| {
            let changed = |change: &LabelChange| Reverse(change.values_gone + change.values_came);
            (changed(a), &a.name).cmp(&(changed(b), &b.name))
        });
        changes.truncate(MAX_LISTED);
        changes.par_iter_mut().take(MAX_COUNTED).try_for_each(|change| {
            let (gone, came) = self.without(&[&change.name])?;
            (change.gone_without, change.came_without) = (Some(gone), Some(came));
            Ok::<(), ReportError>(())
        })?;
        Ok(changes)
    }

    fn without_generated(&self) -> Result<Option<WithoutGenerated>, ReportError> {
        if self.generated.is_empty() {
            return Ok(None);
        }
        let (gone, came) = self.without(&self.generated)?;
        let labels = self.generated.iter().map(|&label| label.to_owned()).collect();
        Ok(Some(WithoutGenerated { labels, gone, came }))
    }

    /// Counts the distinct labelsets that are gone and that came if some labels are ignored.
    fn without(&self, labels: &[&str]) -> Result<(u64, u64), ReportError> {
        let groups = self.subject.searcher()?.group(&self.subject.all(), Kept::Without(labels))?;
        let mut sides = vec![[false; 2]; groups.count()];
        for (side, series) in [self.before, self.after].into_iter().enumerate() {
            for series in series {
                let group = groups.numbers().get(series.0 as usize).and_then(|&group| sides.get_mut(group as usize));
                if let Some(sides) = group {
                    sides[side] = true;
                }
            }
        }
        let count = |wanted| sides.iter().filter(|&&sides| sides == wanted).count() as u64;
        Ok((count([true, false]), count([false, true])))
    }
}
