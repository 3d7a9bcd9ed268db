//! Attributes of one level (a resource, a scope or a point): [`Attributes`].

use chronoxide_labels::{LabelId, MAX_LABELS, StoreKeyId};

/// Maximum number of attributes of a level that are kept. More cannot become a series.
const MAX_ATTRIBUTES: usize = 2 * MAX_LABELS;

/// Attributes of one level, without duplicate keys.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    /// Keys with their labels, or `None` if the value is empty.
    pub(super) list: Vec<(StoreKeyId, Option<LabelId>)>,
    /// For each key the generation in which it was set last, and its position in the list.
    marks: Vec<(u32, u32)>,
    /// True if there were more attributes than are kept.
    pub(super) is_overfull: bool,
    /// True if a text of the level is not UTF-8.
    pub(super) is_invalid: bool,
    /// Number of times the level was cleared. Marks of other generations are invalid.
    generation: u32,
}

impl Attributes {
    /// Removes all attributes.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.is_overfull = false;
        self.is_invalid = false;
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.marks.clear();
            self.generation = 1;
        }
    }

    /// Returns true, and records it, if there is no room for another attribute.
    #[inline]
    pub(super) fn refuses(&mut self) -> bool {
        self.is_overfull |= self.list.len() >= MAX_ATTRIBUTES;
        self.is_overfull
    }

    /// Returns the position of the label of a key in the list.
    #[inline]
    pub(super) fn position(&self, key: StoreKeyId) -> Option<usize> {
        let &(generation, position) = self.marks.get(key.index())?;
        // Marks that were never set have generation 0, which is also current before the first `clear`.
        (generation == self.generation && generation != 0).then_some(position as usize)
    }

    /// Sets the label of a key. Returns true if the key was set before.
    #[inline]
    pub(super) fn set(&mut self, key: StoreKeyId, label: Option<LabelId>) -> bool {
        if let Some(place) = self.position(key).and_then(|position| self.list.get_mut(position)) {
            place.1 = label;
            return true;
        }
        if self.marks.len() <= key.index() {
            self.marks.resize(key.index() + 1, (0, 0));
        }
        if let Some(mark) = self.marks.get_mut(key.index()) {
            *mark = (self.generation, self.list.len() as u32);
        }
        self.list.push((key, label));
        false
    }

    /// Returns the memory in bytes.
    pub(super) fn estimated_bytes(&self) -> usize {
        self.list.capacity() * size_of::<(StoreKeyId, Option<LabelId>)>()
            + self.marks.capacity() * size_of::<(u32, u32)>()
    }

    /// Converts the attributes to the ids of another store.
    pub(super) fn move_to<E>(
        &mut self,
        mut key: impl FnMut(StoreKeyId) -> Result<StoreKeyId, E>,
        mut label: impl FnMut(LabelId) -> Result<LabelId, E>,
    ) -> Result<(), E> {
        let Self { is_overfull, is_invalid, .. } = *self;
        let list = std::mem::take(&mut self.list);
        // Frees the marks: a store with many keys left one for each.
        self.marks = Vec::new();
        self.clear();
        self.is_overfull = is_overfull;
        self.is_invalid = is_invalid;
        for (old, value) in list {
            let value = value.map(&mut label).transpose()?;
            self.set(key(old)?, value);
        }
        Ok(())
    }
}
