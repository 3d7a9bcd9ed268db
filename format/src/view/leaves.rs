//! [`Leaves`]: the keys of a table.

use std::iter::FusedIterator;

use super::Table;
use super::walk::{Keys, LabelWalk};
use crate::number::index;
use crate::{KeyId, Result};

/// Iterator over the keys of a table, in order. After an error it ends.
#[derive(Clone, Debug)]
pub struct Leaves<'data, 'view> {
    walk: LabelWalk<'data, 'view, ()>,
}

impl<'data, 'view> Leaves<'data, 'view> {
    pub(super) fn new(table: &Table<'data, 'view>) -> Result<Self> {
        Ok(Self { walk: LabelWalk::new(*table, (), table.leaf_count()?) })
    }
}

impl Iterator for Leaves<'_, '_> {
    type Item = Result<KeyId>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let key = self.walk.next(&mut Keys);
        if key.is_err() {
            self.walk.stop();
        }
        key.transpose()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(index(self.walk.left())))
    }
}

impl FusedIterator for Leaves<'_, '_> {}
