//! Moves: splits that differ from another by the place of one column, or of one entity.

use super::cost::Split;
use crate::content::KeysetRows;

/// Maximum number of columns with which another one is joined.
const MAX_JOINED: usize = 8;

/// Maximum number of columns that are taken out of a list or of a table, one at a time.
const MAX_TAKEN: usize = 32;

/// Calls `found` with each split that one move makes of another. No move joins columns of an entity with others. Splits
/// of keysets with many keys are large, so they are not collected.
pub(super) fn neighbours(split: &Split, keyset: &KeysetRows, entities: &[Vec<u32>], mut found: impl FnMut(Split)) {
    let atoms = Atoms::new(keyset, entities);
    from_list(split, &atoms, &mut found);
    for place in 0..split.prefix.len() {
        to_list(split, place, &atoms, &mut found);
        divide(split, place, &atoms, &mut found);
        join(split, place, &atoms, &mut found);
    }
}

/// Moves an atom from the list to the prefix: as a column, or to a column.
fn from_list(split: &Split, atoms: &Atoms, found: &mut impl FnMut(Split)) {
    let in_list = atoms.parts(&split.list);
    if in_list.len() < 2 {
        return;
    }
    for atom in in_list.into_iter().take(MAX_TAKEN) {
        let list = minus(&split.list, &atom);
        found(Split { prefix: [&split.prefix[..], std::slice::from_ref(&atom)].concat(), list: list.clone() });
        for (place, part) in split.prefix.iter().enumerate() {
            if atoms.are_alike(part, &atom) {
                let mut prefix = split.prefix.clone();
                prefix[place] = union(part, &atom);
                found(Split { prefix, list: list.clone() });
            }
        }
    }
}

/// Moves a column of the prefix to the list, or exchanges the two.
fn to_list(split: &Split, place: usize, atoms: &Atoms, found: &mut impl FnMut(Split)) {
    let part = &split.prefix[place];
    let mut prefix = split.prefix.clone();
    prefix.remove(place);
    if !prefix.is_empty() && (split.list.is_empty() || atoms.are_alike(part, &split.list)) {
        found(Split { prefix: prefix.clone(), list: union(&split.list, part) });
    }
    if !split.list.is_empty() {
        prefix.push(split.list.clone());
        found(Split { prefix, list: part.clone() });
    }
}

/// Makes an atom of a column a column of its own.
fn divide(split: &Split, place: usize, atoms: &Atoms, found: &mut impl FnMut(Split)) {
    let part = &split.prefix[place];
    let inside = atoms.parts(part);
    if inside.len() < 2 {
        return;
    }
    for atom in inside.into_iter().take(MAX_TAKEN) {
        let mut prefix = split.prefix.clone();
        prefix[place] = minus(part, &atom);
        prefix.push(atom);
        found(Split { prefix, list: split.list.clone() });
    }
}

/// Joins a column with one before it.
fn join(split: &Split, place: usize, atoms: &Atoms, found: &mut impl FnMut(Split)) {
    let part = &split.prefix[place];
    for (other, before) in split.prefix.iter().enumerate().take(place.min(MAX_JOINED)) {
        if atoms.are_alike(part, before) {
            let mut prefix = split.prefix.clone();
            prefix[other] = union(part, before);
            prefix.remove(place);
            found(Split { prefix, list: split.list.clone() });
        }
    }
}

/// Columns that moves keep together: those of an entity, and single columns.
struct Atoms {
    /// Entity of each column.
    entities: Vec<Option<usize>>,
}

impl Atoms {
    fn new(keyset: &KeysetRows, entities: &[Vec<u32>]) -> Self {
        let entity = |key: &u32| entities.iter().position(|keys| keys.binary_search(key).is_ok());
        Self { entities: keyset.keys.iter().map(entity).collect() }
    }

    /// Returns the atoms of these columns.
    fn parts(&self, columns: &[usize]) -> Vec<Vec<usize>> {
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for &column in columns {
            let is_same = |part: &&mut Vec<usize>| {
                self.entities[column].is_some() && self.entities[part[0]] == self.entities[column]
            };
            match parts.iter_mut().find(is_same) {
                Some(part) => part.push(column),
                None => parts.push(vec![column]),
            }
        }
        parts
    }

    /// Returns true if both or none of two parts have columns of entities.
    fn are_alike(&self, left: &[usize], right: &[usize]) -> bool {
        let is_entity = |columns: &[usize]| columns.iter().any(|&column| self.entities[column].is_some());
        is_entity(left) == is_entity(right)
    }
}

fn union(left: &[usize], right: &[usize]) -> Vec<usize> {
    let mut all = [left, right].concat();
    all.sort_unstable();
    all
}

fn minus(columns: &[usize], others: &[usize]) -> Vec<usize> {
    columns.iter().copied().filter(|column| !others.contains(column)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(split: &Split, keyset: &KeysetRows, entities: &[Vec<u32>]) -> Vec<Split> {
        let mut found = Vec::new();
        neighbours(split, keyset, entities, |split| found.push(split));
        found
    }

    #[test]
    fn each_move_changes_the_place_of_one_column_or_entity() {
        // Columns 0 and 1 are of a point, 2 and 3 describe a pod.
        let keyset = KeysetRows { keys: vec![10, 11, 12, 13], rows: vec![0; 4] };
        let entities = [vec![12, 13]];
        let split = |prefix: &[&[usize]], list: &[usize]| Split {
            prefix: prefix.iter().map(|columns| columns.to_vec()).collect(),
            list: list.to_vec(),
        };
        let expected = [
            // A column of the list comes to the prefix.
            split(&[&[2, 3], &[0]], &[1]),
            split(&[&[2, 3], &[1]], &[0]),
            // The prefix and the list change places.
            split(&[&[0, 1]], &[2, 3]),
        ];
        assert_eq!(all(&split(&[&[2, 3]], &[0, 1]), &keyset, &entities), expected);

        let expected = [
            // Column 0 goes to the list, or changes places with it.
            split(&[&[2, 3]], &[0, 1]),
            split(&[&[2, 3], &[1]], &[0]),
            // The pod changes places with the list; it does not join it.
            split(&[&[0], &[1]], &[2, 3]),
        ];
        assert_eq!(all(&split(&[&[0], &[2, 3]], &[1]), &keyset, &entities), expected);

        let expected = [
            split(&[&[2, 3]], &[0, 1]),
            // One column becomes two.
            split(&[&[1], &[2, 3], &[0]], &[]),
            split(&[&[0], &[2, 3], &[1]], &[]),
            split(&[&[0, 1]], &[2, 3]),
        ];
        assert_eq!(all(&split(&[&[0, 1], &[2, 3]], &[]), &keyset, &entities), expected);
    }

    #[test]
    fn columns_become_one_if_both_or_none_are_of_an_entity() {
        let keyset = KeysetRows { keys: vec![10, 11, 12], rows: vec![0; 3] };
        let split = Split { prefix: vec![vec![0], vec![1], vec![2]], list: Vec::new() };
        let found = all(&split, &keyset, &[vec![12]]);
        let joined: Vec<&Split> =
            found.iter().filter(|split| split.prefix.len() == 2 && split.list.is_empty()).collect();
        assert_eq!(joined, [&Split { prefix: vec![vec![0, 1], vec![2]], list: Vec::new() }]);
    }
}
