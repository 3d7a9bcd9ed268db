//! [`Groups`]: numbers of series that have equal values of some labels.

use std::collections::BTreeMap;

use chronoxide_reader::SeriesRef;
use chronoxide_select::{Labels, Matcher, SelectError};

use crate::query::text;
use crate::{Blocks, Error, Label, Query};

/// Groups of series, in the order of their labels.
pub type Groups<'b> = Vec<Group<'b>>;

/// Series that have equal values of the labels that were asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Group<'b> {
    /// The labels, in the order of their names, without those that the series do not have.
    pub labels: Vec<Label<'b>>,
    /// Number of distinct series.
    pub series: u64,
}

impl<'b> Group<'b> {
    /// Returns the value of a label, or `None` if the series do not have it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'b str> {
        self.labels.iter().find(|label| label.name == name).map(|label| label.value)
    }
}

/// Groups the series of a query.
pub(crate) fn group<'b>(query: &Query<'b>, labels: Labels<'_>) -> Result<Groups<'b>, Error> {
    let started = query.start();
    if let (Labels::By([name]), [only], [matchers]) = (labels, &*started.positions(), &*query.alternatives()) {
        return match count_by_value(query, *only, name, matchers) {
            Ok(groups) => Ok(groups),
            Err(error) => query.leave_out(error).map(|()| Vec::new()),
        };
    }
    let selection = query.found(&started)?;
    let found = query.accepted(started.group(&selection, labels)?)?;
    let mut counts = vec![0_u64; found.labels().len()];
    let mut count = |group: u32| {
        if let Some(count) = counts.get_mut(group as usize) {
            *count += 1;
        }
    };
    if let [only] = selection.blocks() {
        found.numbers(only.block).iter().for_each(|&group| count(group));
    } else {
        // A series counts in the first block that has it, among those whose groups could be read.
        let is_grouped = |block: usize| !found.numbers(block).is_empty();
        let mut firsts: BTreeMap<usize, Vec<SeriesRef>> = BTreeMap::new();
        for occurrences in query.accepted(started.join(&selection)?)?.iter() {
            if let Some(first) = occurrences.iter().find(|place| is_grouped(place.block)) {
                firsts.entry(first.block).or_default().push(first.series);
            }
        }
        for block in selection.blocks() {
            let mut firsts = firsts.remove(&block.block).unwrap_or_default();
            firsts.sort_unstable();
            let mut firsts = firsts.into_iter().peekable();
            for (series, &group) in block.series.iter().zip(found.numbers(block.block)) {
                if firsts.next_if_eq(&series).is_some() {
                    count(group);
                }
            }
        }
    }
    let group = |(labels, series): (&Vec<_>, u64)| -> Result<Group<'b>, Error> {
        let label =
            |label: &chronoxide_reader::Label<'b>| Ok(Label { name: text(label.name)?, value: text(label.value)? });
        Ok(Group { labels: labels.iter().map(label).collect::<Result<_, Error>>()?, series })
    };
    // A block that turned out to be damaged may have groups and no series.
    let counted = found.labels().iter().zip(counts).filter(|(_, count)| *count > 0);
    let mut groups = counted.map(group).collect::<Result<Vec<_>, _>>()?;
    groups.sort_unstable();
    Ok(groups)
}

/// Groups the series of one block by one label, without a list of the series.
fn count_by_value<'b>(query: &Query<'b>, block: usize, name: &str, matchers: &[Matcher]) -> Result<Groups<'b>, Error> {
    let blocks: &'b Blocks = query.blocks;
    let Some(opened) = blocks.set.blocks().get(block) else { return Ok(Vec::new()) };
    let limits = query.limits();
    let found = opened.open().search(limits, |searcher| {
        let counts = query.start().timed(searcher).count_by_value(name, matchers)?;
        limits.check_series(counts.iter().map(|(_, series)| series).sum())?;
        // The name of the caller does not live as long.
        let view = opened.open().view();
        Ok::<_, SelectError>((view.key(name)?.map(|key| view.key_name(key)).transpose()?, counts))
    });
    let (name, counts) = found?;
    let name = name.map_or(Ok(""), text)?;
    let label = |value| Ok::<_, Error>(Label { name, value: text(value)? });
    let group = |(value, series): (Option<&'b [u8]>, u64)| {
        Ok(Group { labels: value.map(label).transpose()?.into_iter().collect(), series })
    };
    counts.into_iter().map(group).collect()
}
