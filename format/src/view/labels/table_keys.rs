//! [`TableKeys`]: the keys of a table.

use std::iter::FusedIterator;

use super::walk::{self, Keys, LabelWalk};
use crate::number::index;
use crate::view::catalogue::{Keyset, Table};
use crate::{KeyId, Result};

/// Iterator over the keys of a table, in order. After an error it ends.
#[derive(Clone, Debug)]
pub struct TableKeys<'data, 'view> {
    walk: LabelWalk<'data, 'view, ()>,
}

impl<'data, 'view> Table<'data, 'view> {
    /// Returns the keys of the leaves, in order.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    pub fn keys(&self) -> Result<TableKeys<'data, 'view>> {
        TableKeys::new(self)
    }

    /// Returns the key of leaf `leaf`.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged or the table does not have the leaf.
    #[inline]
    pub fn leaf_key(&self, leaf: u32) -> Result<KeyId> {
        walk::descend(*self, (), leaf, &mut walk::Keys)
    }
}

impl<'data, 'view> Keyset<'data, 'view> {
    /// Returns the keys, in order.
    ///
    /// # Errors
    /// `Corrupt` if the catalogue is damaged.
    pub fn keys(&self) -> Result<TableKeys<'data, 'view>> {
        self.table().keys()
    }
}

impl<'data, 'view> TableKeys<'data, 'view> {
    pub(super) fn new(table: &Table<'data, 'view>) -> Result<Self> {
        Ok(Self { walk: LabelWalk::new(*table, (), table.leaf_count()?) })
    }
}

impl Iterator for TableKeys<'_, '_> {
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

impl FusedIterator for TableKeys<'_, '_> {}
