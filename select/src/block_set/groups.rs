//! [`SetGroups`]: groups of series over the blocks of a set.

use chronoxide_format::view::Label;
use hashbrown::HashMap;

use super::query::text;
use super::{Partial, SetQuery, SetSelection};
use crate::SelectError;
use crate::results::project::Labels;

/// The series of a selection of several blocks in groups.
#[derive(Clone, Debug)]
pub struct SetGroups<'a> {
    /// Groups of the series of each block, by the position of the block.
    numbers: Vec<(usize, Vec<u32>)>,
    labels: Vec<Vec<Label<'a>>>,
}

/// Names and values of a group's labels.
type Pairs<'a> = Vec<(&'a [u8], &'a [u8])>;

impl<'a> SetGroups<'a> {
    /// Returns the group of each selected series of a block, in the order of refs. `block` is a position in
    /// [`BlockSet::blocks`](super::BlockSet::blocks), as in [`BlockSelection`](super::BlockSelection); a block without
    /// selected series has no groups.
    #[must_use]
    pub fn numbers(&self, block: usize) -> &[u32] {
        let found = self.numbers.binary_search_by_key(&block, |(block, _)| *block).ok();
        found.and_then(|at| self.numbers.get(at)).map(|(_, numbers)| &numbers[..]).unwrap_or_default()
    }

    /// Returns the kept labels of each group, in the order of their names, by group number.
    #[must_use]
    pub fn labels(&self) -> &[Vec<Label<'a>>] {
        &self.labels
    }
}

impl<'a> SetQuery<'a> {
    /// Groups the series of a selection by the labels that are kept. Each block is grouped on codes; labels are
    /// compared once per group and block.
    ///
    /// A damaged block has no groups.
    ///
    /// # Errors
    /// [`SelectError::OtherSnapshot`], and errors of the [`Limits`](crate::Limits).
    pub fn group(&self, selection: &SetSelection, labels: Labels<'_>) -> Result<Partial<SetGroups<'a>>, SelectError> {
        let mut found = SetGroups { numbers: Vec::new(), labels: Vec::new() };
        let mut known: HashMap<Pairs<'a>, u32> = HashMap::new();
        let failed = self.each_selected(selection, |searcher, block| {
            let groups = searcher.group(&block.series, labels)?;
            let all: Result<Vec<Vec<Label<'a>>>, _> =
                (0..groups.count()).map(|group| groups.labels(searcher.view(), group)).collect();
            let mut numbers = Vec::with_capacity(groups.count());
            let all = all?;
            all.iter()
                .flatten()
                .flat_map(|label| [label.name, label.value])
                .try_for_each(|symbol| text(symbol).map(drop))?;
            for labels in all {
                let key = labels.iter().map(|label| (label.name, label.value)).collect();
                let next = found.labels.len() as u32;
                let number = *known.entry(key).or_insert(next);
                if number == next {
                    found.labels.push(labels);
                }
                numbers.push(number);
            }
            let number = |&group: &u32| numbers.get(group as usize).copied().unwrap_or_default();
            found.numbers.push((block.block, groups.numbers().iter().map(number).collect()));
            Ok(())
        })?;
        Ok(Partial { found, failed })
    }
}
