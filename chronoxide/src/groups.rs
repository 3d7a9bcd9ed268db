//! [`Groups`]: numbers of series that have equal values of some labels.

use chronoxide_select::{Labels, Matcher, Searcher, SelectError, Selection as Refs, as_text};

use crate::{Blocks, Error, Label, Query, Selection};

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
    let groups = started.each_distinct(&selection, |searcher, series| groups_of_block(searcher, series, labels))?;
    Ok(sum(query.accepted(groups)?))
}

impl Selection {
    /// Counts the selected series by the values of some labels, as [`Query::group_by`] does. A series that is selected
    /// in several blocks counts in each.
    ///
    /// # Errors
    /// An error of kind `Corrupt` if a block is damaged where the labels are.
    pub fn group_by(&self, names: &[&str]) -> Result<Groups<'_>, Error> {
        Ok(sum(self.read_blocks(|searcher, refs| groups_of_block(searcher, refs, Labels::By(names)))?))
    }
}

/// Groups series of one block, in any order.
fn groups_of_block<'b>(
    searcher: &Searcher<'_, 'b>,
    series: &Refs,
    labels: Labels<'_>,
) -> Result<Groups<'b>, SelectError> {
    let groups = searcher.group(series, labels)?;
    let mut counts = vec![0_u64; groups.count()];
    for &group in groups.numbers() {
        if let Some(count) = counts.get_mut(group as usize) {
            *count += 1;
        }
    }
    let label =
        |label: &chronoxide_reader::Label<'b>| Ok(Label { name: as_text(label.name)?, value: as_text(label.value)? });
    let labels = |group| groups.labels(searcher.view(), group)?.iter().map(label).collect::<Result<_, SelectError>>();
    (0..).zip(counts).map(|(group, count)| Ok(Group { labels: labels(group)?, series: count })).collect()
}

/// Adds the groups of blocks.
fn sum<'b>(blocks: Vec<Groups<'b>>) -> Groups<'b> {
    let mut groups = blocks.concat();
    groups.sort_unstable();
    groups.dedup_by(|group, first| {
        let is_same = group.labels == first.labels;
        first.series += if is_same { group.series } else { 0 };
        is_same
    });
    groups
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
        let name = view.key(name)?.map_or(Ok(""), |key| as_text(view.key_name(key)?))?;
        let label = |value| Ok::<_, SelectError>(Label { name, value: as_text(value)? });
        let group = |(value, series): (Option<&'b [u8]>, u64)| {
            Ok(Group { labels: value.map(label).transpose()?.into_iter().collect(), series })
        };
        counts.into_iter().map(group).collect::<Result<_, _>>()
    });
    Ok(found?)
}
