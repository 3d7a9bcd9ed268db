//! Labels of the series before: [`Neighbours`].

use chronoxide_labels::LabelId;

use crate::otlp::Level;

/// Positions of a level that are kept.
const MAX_POSITIONS: usize = 64;

/// Maximum length of a name and its value in bytes, together.
const MAX_LEN: usize = 256;

/// Attributes of the last resource, scope and point, by position. The next one mostly has the same names in the same
/// order, and many of the values: comparing them costs less than hashing them and two lookups. Takes at most 64 KiB.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    levels: [Vec<Neighbour>; 3],
}

/// Attribute of a neighbour.
#[derive(Debug)]
pub(super) struct Neighbour {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) label: LabelId,
}

impl Neighbours {
    /// Returns the last attribute of a level that was kept at this position.
    #[inline]
    pub(super) fn get(&self, level: Level, position: usize) -> Option<&Neighbour> {
        self.levels.get(level as usize)?.get(position)
    }

    /// Replaces the attribute at a position.
    pub(super) fn set(&mut self, level: Level, position: usize, name: &str, value: &str, label: LabelId) {
        let Some(neighbours) = self.levels.get_mut(level as usize) else { return };
        if name.len() + value.len() > MAX_LEN {
            return;
        }
        let count = neighbours.len();
        match neighbours.get_mut(position) {
            Some(neighbour) => {
                name.clone_into(&mut neighbour.name);
                value.clone_into(&mut neighbour.value);
                neighbour.label = label;
            }
            None if position == count && position < MAX_POSITIONS => {
                neighbours.push(Neighbour { name: name.to_owned(), value: value.to_owned(), label });
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use chronoxide_labels::{StoreKeyId, ValueCode};

    use super::*;

    #[test]
    fn long_attributes_and_far_positions_are_not_kept() {
        let label = LabelId { key: StoreKeyId(1), code: ValueCode(2) };
        let mut neighbours = Neighbours::default();
        for position in 0..2 * MAX_POSITIONS {
            neighbours.set(Level::Point, position, "name", "value", label);
        }
        let kept = (0..2 * MAX_POSITIONS).filter(|&position| neighbours.get(Level::Point, position).is_some());
        assert_eq!(kept.count(), MAX_POSITIONS);
        assert!(neighbours.get(Level::Resource, 0).is_none(), "levels are separate");
        neighbours.set(Level::Point, 0, "other", &"x".repeat(MAX_LEN), label);
        assert_eq!(neighbours.get(Level::Point, 0).map(|neighbour| neighbour.name.as_str()), Some("name"));
    }
}
