//! The attributes of one level: a resource, a scope or a point.

use chronoxide_labels::{LabelId, MAX_LABELS, StoreKeyId};

/// Attributes of a level that are kept, at most. A series has fewer labels, so that nothing but an error comes of more.
const MAX_ATTRIBUTES: usize = 2 * MAX_LABELS;

/// The attributes of one level, each key once.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    /// Keys with their labels; none if the value is empty.
    pub(super) list: Vec<(StoreKeyId, Option<LabelId>)>,
    /// For each key the generation in which it was set last, and where it is in the list.
    marks: Vec<(u32, u32)>,
    /// Whether there were more attributes than are kept.
    pub(super) is_overfull: bool,
    /// Counts how often the level began anew; marks of other generations mean nothing.
    generation: u32,
}

impl Attributes {
    /// Begins anew.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.is_overfull = false;
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.marks.clear();
            self.generation = 1;
        }
    }

    /// Whether there is no room for another attribute, which is noted then.
    #[inline]
    pub(super) fn refuses(&mut self) -> bool {
        self.is_overfull |= self.list.len() >= MAX_ATTRIBUTES;
        self.is_overfull
    }

    /// Where the label of a key is in the list.
    #[inline]
    pub(super) fn position(&self, key: StoreKeyId) -> Option<usize> {
        let &(generation, position) = self.marks.get(key.index())?;
        // Generation 0 is that of marks that were never set, also before the first `clear`.
        (generation == self.generation && generation != 0).then_some(position as usize)
    }

    /// Sets the label of a key; whether it had one.
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

    /// Bytes of memory in use.
    pub(super) fn memory_used(&self) -> usize {
        self.list.capacity() * size_of::<(StoreKeyId, Option<LabelId>)>()
            + self.marks.capacity() * size_of::<(u32, u32)>()
    }

    /// The same attributes, in the numbers of another store.
    pub(super) fn move_to<E>(
        &mut self,
        mut key: impl FnMut(StoreKeyId) -> Result<StoreKeyId, E>,
        mut label: impl FnMut(LabelId) -> Result<LabelId, E>,
    ) -> Result<(), E> {
        let (list, is_overfull) = (std::mem::take(&mut self.list), self.is_overfull);
        // A store that had many keys left marks for all of them.
        self.marks = Vec::new();
        self.clear();
        self.is_overfull = is_overfull;
        for (old, value) in list {
            let value = value.map(&mut label).transpose()?;
            self.set(key(old)?, value);
        }
        Ok(())
    }
}
