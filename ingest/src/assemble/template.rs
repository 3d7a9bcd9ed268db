//! Row of the points of a metric: [`Template`].

use chronoxide_labels::{KeysetStore, LabelError, LabelId, RowShape, StoreKeyId, StoreRef};

/// Row of the last point. Points with the same keys and the same base differ from it only in the codes of their metric
/// and their own attributes, so that labels of resource and scope are not arranged again for each point.
#[derive(Debug, Default)]
pub(super) struct Template {
    /// False if resource or scope have changed since the row was made.
    is_current: bool,
    shape: RowShape,
    row: Vec<u32>,
    /// Keys of the labels that change: those of the metric, then those of the point.
    keys: Vec<StoreKeyId>,
    /// Labels of resource and scope that each of these points replaces.
    shadowed: u64,
}

impl Template {
    /// Makes the row of a labelset. Its first labels are `changing`; the others are those of resource and scope.
    /// `shadowed` is the number of labels that are left out.
    pub(super) fn make(
        &mut self,
        store: &mut KeysetStore,
        labels: &[LabelId],
        changing: usize,
        shadowed: u64,
    ) -> Result<(), LabelError> {
        self.is_current = false;
        store.make_row(labels, &mut self.shape, &mut self.row)?;
        self.keys.clear();
        self.keys.extend(labels.iter().take(changing).map(|label| label.key));
        self.shadowed = shadowed;
        self.is_current = true;
        Ok(())
    }

    /// Discards the row, because resource, scope or store have changed.
    pub(super) fn discard(&mut self) {
        self.is_current = false;
    }

    /// Puts the labels of a metric and of a point into the row. Returns false if the row has other keys.
    #[inline]
    pub(super) fn set(&mut self, metric: &[LabelId], point: &[LabelId]) -> bool {
        let is_same = self.is_current
            && self.keys.len() == metric.len() + point.len()
            && metric.iter().chain(point).zip(&self.keys).all(|(label, &key)| label.key == key);
        if is_same {
            for (label, &slot) in metric.iter().chain(point).zip(self.shape.slots()) {
                if let Some(code) = self.row.get_mut(usize::from(slot)) {
                    *code = label.code.0;
                }
            }
        }
        is_same
    }

    /// Inserts the row. Returns its series, and true if it is new.
    #[inline]
    pub(super) fn insert(&self, store: &mut KeysetStore) -> Result<(StoreRef, bool), LabelError> {
        store.insert_row(&self.shape, &self.row)
    }

    /// Returns the number of labels of resource and scope that a point replaces.
    #[inline]
    pub(super) fn shadowed(&self) -> u64 {
        self.shadowed
    }
}
