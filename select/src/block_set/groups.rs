//! [`SetGroups`]: groups of series over the blocks of a set.

use chronoxide_format::view::Label;
use hashbrown::HashMap;

use super::{SetQuery, SetSelection};
use crate::project::Labels;
use crate::{Searcher, SelectError};

/// The series of a selection of several blocks in groups.
#[derive(Clone, Debug)]
pub struct SetGroups<'a> {
    numbers: Vec<Vec<u32>>,
    labels: Vec<Vec<Label<'a>>>,
}

/// Names and values of a group's labels.
type Pairs<'a> = Vec<(&'a [u8], &'a [u8])>;

impl<'a> SetGroups<'a> {
    /// Returns the group of each series of a block, in the order of its selection; empty if `place` is not a place in
    /// [`SetSelection::blocks`].
    #[must_use]
    pub fn numbers(&self, place: usize) -> &[u32] {
        self.numbers.get(place).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the kept labels of each group, in the order of their names.
    #[must_use]
    pub fn labels(&self) -> &[Vec<Label<'a>>] {
        &self.labels
    }
}

impl<'a> SetQuery<'a> {
    /// Groups the series of a selection by the labels that are kept. Each block is grouped on codes; labels are
    /// compared once per group and block.
    ///
    /// # Errors
    /// [`SelectError::Block`] if a block is damaged in a byte that was read, and errors of the
    /// [`Limits`](crate::Limits).
    pub fn group(&self, selection: &SetSelection, labels: Labels<'_>) -> Result<SetGroups<'a>, SelectError> {
        let mut joined = SetGroups { numbers: Vec::new(), labels: Vec::new() };
        let mut known: HashMap<Pairs<'a>, u32> = HashMap::new();
        for block in selection.blocks() {
            let Some(own) = self.set.blocks().get(block.block) else { continue };
            let view = own.block().view();
            let searcher = Searcher::new(&view, own.index()?).with_limits(self.limits);
            let groups = searcher.group(&block.series, labels)?;
            let mut numbers = Vec::with_capacity(groups.count());
            for group in 0..groups.count() {
                let labels: Vec<Label<'a>> = groups.labels(&view, group)?;
                let key = labels.iter().map(|label| (label.name, label.value)).collect();
                let next = joined.labels.len() as u32;
                let number = *known.entry(key).or_insert(next);
                if number == next {
                    joined.labels.push(labels);
                }
                numbers.push(number);
            }
            let number = |&group: &u32| numbers.get(group as usize).copied().unwrap_or_default();
            joined.numbers.push(groups.numbers().iter().map(number).collect());
        }
        Ok(joined)
    }
}
