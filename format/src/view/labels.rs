//! [`Labels`]: the labels of a series as bytes.

use std::iter::FusedIterator;

use super::Label;
use super::codes::LabelCodes;
use super::series::Series;
use crate::Result;

/// Iterator over the labels of a series, in the order of their names. After an error it ends.
#[derive(Clone, Debug)]
pub struct Labels<'data, 'view> {
    series: Series<'data, 'view>,
    next: u32,
    codes: LabelCodes,
}

impl<'data, 'view> Labels<'data, 'view> {
    #[inline]
    pub(super) fn new(series: &Series<'data, 'view>) -> Self {
        let mut labels = Self { series: *series, next: 0, codes: LabelCodes::NONE };
        labels.codes.open(series);
        labels
    }

    #[inline(always)]
    fn try_next(&mut self) -> Option<Label<'data>> {
        let view = self.series.table.view;
        let (key, code) = self.codes.next(view)?;
        view.try_label(key, code)
    }

    /// Reads the next label by its place, which works for any tables.
    #[cold]
    #[inline(never)]
    fn next_by_place(&mut self) -> Result<Label<'data>> {
        self.codes.skip(&self.series, self.next);
        let ids = self.series.stored_ids(self.next)?;
        let view = self.series.table.view;
        Ok(Label { name: view.referenced_key_name(ids.key)?, value: view.referenced_symbol(ids.value)? })
    }
}

impl<'data> Iterator for Labels<'data, '_> {
    type Item = Result<Label<'data>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.series.leaf_count {
            return None;
        }
        if let Some(label) = self.try_next() {
            self.next += 1;
            return Some(Ok(label));
        }
        let label = self.next_by_place();
        // The iterator ends after an error.
        self.next = if label.is_ok() { self.next + 1 } else { self.series.leaf_count };
        Some(label)
    }
}

impl FusedIterator for Labels<'_, '_> {}
