//! Splits by the groups of columns that the rows of a keyset show.

use std::rc::Rc;

use super::affinity::Affinity;
use super::agglomerate::agglomerate;
use super::cost::Split;
use super::group::Group;
use super::sample::Sample;

/// Maximum number of groups that are tried as lists.
const MAX_TRIED: usize = 12;
/// Maximum number of groups that are tried in pairs.
const MAX_PAIRED: usize = 6;

/// Column that does not change, so that rows do not show its group.
struct Constant {
    column: usize,
    /// Affinity of its key to the keys of each group.
    affinities: Vec<f64>,
}

/// Returns splits with the groups as columns, and with some of them as lists. Returns none if no column changes.
pub(super) fn found_splits(sample: &mut Sample<'_>, affinity: &Affinity<'_>) -> Vec<Split> {
    let columns: Vec<Rc<Group>> = (0..sample.keyset.keys.len()).map(|column| sample.group(&[column])).collect();
    let groups: Vec<Vec<usize>> = agglomerate(sample, &columns).into_iter().map(|group| group.columns).collect();
    if groups.is_empty() {
        return Vec::new();
    }
    let keys: Vec<Vec<u32>> = groups.iter().map(|group| sample.keys_of(group)).collect();
    let constant = |column: usize| {
        let key = sample.keyset.keys[column];
        Constant { column, affinities: keys.iter().map(|keys| affinity.with_all(key, keys)).collect() }
    };
    let constants: Vec<Constant> =
        columns.iter().filter(|group| group.distinct() == 1).map(|group| constant(group.columns[0])).collect();
    let mut lists = vec![Vec::new()];
    lists.extend(subsets(groups.len()));
    lists.iter().map(|list| split(&groups, list, &constants)).collect()
}

/// Returns the groups that may form the list: each of the first ones, each pair of them, and all except these.
fn subsets(count: usize) -> Vec<Vec<usize>> {
    let tried = count.min(MAX_TRIED);
    let mut chosen: Vec<Vec<usize>> = (0..tried).map(|number| vec![number]).collect();
    for first in 0..tried.min(MAX_PAIRED) {
        chosen.extend((first + 1..tried.min(MAX_PAIRED)).map(|second| vec![first, second]));
    }
    let others = |chosen: &Vec<usize>| (0..count).filter(|number| !chosen.contains(number)).collect();
    let complements: Vec<Vec<usize>> = chosen.iter().map(others).collect();
    chosen.extend(complements);
    chosen.retain(|list| !list.is_empty() && list.len() < count);
    chosen.sort();
    chosen.dedup();
    chosen
}

/// Returns the split with these groups in its lists, and each constant column in the group of its key.
fn split(groups: &[Vec<usize>], list: &[usize], constants: &[Constant]) -> Split {
    // Groups behind each column, those of the list last.
    let mut behind: Vec<Vec<usize>> =
        (0..groups.len()).filter(|number| !list.contains(number)).map(|number| vec![number]).collect();
    if !list.is_empty() {
        behind.push(list.to_vec());
    }
    let mut columns: Vec<Vec<usize>> =
        behind.iter().map(|numbers| numbers.iter().flat_map(|&number| groups[number].clone()).collect()).collect();
    let varying: Vec<usize> = columns.iter().map(Vec::len).collect();
    for constant in constants {
        columns[constant.nearest(&behind, &varying)].push(constant.column);
    }
    columns.iter_mut().for_each(|columns| columns.sort_unstable());
    let list = if list.is_empty() { None } else { columns.pop() };
    Split { prefix: columns, list: list.unwrap_or_default() }
}

impl Constant {
    /// Returns the set of groups with the highest average affinity, or the largest set if nothing is known.
    fn nearest(&self, sets: &[Vec<usize>], key_counts: &[usize]) -> usize {
        let mut best = (0.0, 0, 0);
        for (place, (groups, &key_count)) in sets.iter().zip(key_counts).enumerate() {
            let affinity = groups.iter().map(|&group| self.affinities[group]).sum::<f64>() / key_count as f64;
            if affinity > best.0 || (affinity == best.0 && key_count > best.1) {
                best = (affinity, key_count, place);
            }
        }
        best.2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_single_groups_pairs_and_all_others() {
        assert_eq!(subsets(1), Vec::<Vec<usize>>::new());
        assert_eq!(subsets(2), [[0], [1]]);
        assert_eq!(subsets(3), [&[0][..], &[0, 1], &[0, 2], &[1], &[1, 2], &[2]]);
    }

    #[test]
    fn constants_stand_with_the_keys_they_stood_with_before() {
        let groups = [vec![1, 2], vec![4], vec![5]];
        let constants = [
            Constant { column: 0, affinities: vec![0.0, 3.0, 0.0] },
            // Nothing is known about it.
            Constant { column: 3, affinities: vec![0.0; 3] },
            // On average the keys of the first group have more affinity.
            Constant { column: 6, affinities: vec![4.0, 0.0, 3.0] },
        ];
        let whole = split(&groups, &[], &constants);
        assert_eq!(whole, Split { prefix: vec![vec![1, 2, 3], vec![0, 4], vec![5, 6]], list: Vec::new() });
        let listed = split(&groups, &[1, 2], &constants);
        assert_eq!(listed, Split { prefix: vec![vec![1, 2, 3, 6]], list: vec![0, 4, 5] });
    }
}
