//! Entities: keys whose values, or absence, follow from another key's value in all keysets.
//!
//! The labels that describe a pod are on all its series, and always the same; those of a point are not. So whatever the values of one
//! key determine, absence included, describes what that key names. Presence is what tells a pod's zone from a point's status
//! that happens to be the same everywhere.

use std::collections::BTreeMap;

use super::group::label_name;
use super::sample::bits;
use crate::content::{Content, Origin};

/// Keys that are tried as what names an entity, at most.
const MAX_TRIED: usize = 6;
/// Entities of a block, at most.
const MAX_ENTITIES: usize = 6;
/// Series that are looked at for a key, about.
const SAMPLED_SERIES: u64 = 1 << 16;

/// The keys of each entity, increasing; no key is in two of them.
pub(crate) fn find_entities(content: &Content) -> Vec<Vec<u32>> {
    let resource: Vec<u32> = (0..content.value_counts.len() as u32)
        .filter(|&key| content.origins.get(key as usize) == Some(&Origin::Resource))
        .collect();
    let series = series_of_keys(content);
    let weight = |key: u32| series[key as usize] * u64::from(bits(content.value_counts[key as usize] as usize));
    let mut free: Vec<bool> = vec![true; series.len()];
    resource.iter().for_each(|&key| free[key as usize] = false);
    let mut candidates: Vec<u32> = (0..series.len() as u32)
        .filter(|&key| free[key as usize])
        .filter(|&key| series[key as usize] >= 2 * u64::from(content.value_counts[key as usize]))
        .collect();
    candidates.sort_by_key(|&key| std::cmp::Reverse(weight(key)));
    candidates.truncate(MAX_TRIED);
    let mut determined: Vec<(u32, Vec<u32>)> = (candidates.iter().zip(sampled_rows(content, &candidates, &series)))
        .map(|(&key, sampled)| (key, determined_by(content, key, &sampled)))
        .collect();

    // What the input says describes a resource is taken for granted.
    let mut entities: Vec<Vec<u32>> = if resource.is_empty() { Vec::new() } else { vec![resource] };
    while entities.len() < MAX_ENTITIES {
        let gain = |(key, others): &(u32, Vec<u32>)| -> u64 {
            let bits: u64 = others
                .iter()
                .filter(|&&other| free[other as usize])
                .map(|&other| u64::from(bits(content.value_counts[other as usize] as usize)))
                .sum();
            (series[*key as usize] - u64::from(content.value_counts[*key as usize])) * bits
        };
        determined.retain(|candidate| free[candidate.0 as usize] && gain(candidate) > 0);
        let Some((key, others)) = determined.iter().max_by_key(|candidate| gain(candidate)).cloned() else { break };
        let mut keys: Vec<u32> = others.into_iter().filter(|&other| free[other as usize]).chain([key]).collect();
        keys.sort_unstable();
        keys.iter().for_each(|&key| free[key as usize] = false);
        entities.push(keys);
    }
    entities
}

/// How many series have each key.
fn series_of_keys(content: &Content) -> Vec<u64> {
    let mut series = vec![0; content.value_counts.len()];
    for keyset in &content.keysets {
        for &key in &keyset.keys {
            series[key as usize] += keyset.len() as u64;
        }
    }
    series
}

/// The keys whose value or absence follows from that of `key`, in a sample of its values. Looks at each code of the sampled rows once at most.
fn determined_by(content: &Content, key: u32, sampled: &Sampled) -> Vec<u32> {
    let value_count = content.value_counts[key as usize] as usize;
    let mut row_counts = vec![0; value_count];
    // Where else each key is: which of the sampled keysets have it, in which column.
    let mut columns: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
    for (place, (keyset, rows)) in sampled.iter().enumerate() {
        rows.iter().for_each(|&(_, value)| row_counts[value as usize] += 1);
        for (column, &other) in content.keysets[*keyset].keys.iter().enumerate().filter(|&(_, &other)| other != key) {
            columns.entry(other).or_default().push((place, column));
        }
    }
    let mut seen = vec![Seen::default(); value_count];
    let mut values = Vec::new();
    let mut follows = |other: u32, columns: &[(usize, usize)]| {
        values.clear();
        for &(place, column) in columns {
            let (keyset, rows) = &sampled[place];
            let keyset = &content.keysets[*keyset];
            for &(row, value) in rows {
                let code = keyset.rows[row as usize * keyset.keys.len() + column];
                let seen = &mut seen[value as usize];
                if seen.key != Some(other) {
                    values.push(value as usize);
                    *seen = Seen { key: Some(other), code, rows: 0 };
                }
                if seen.code != code {
                    return false;
                }
                seen.rows += 1;
            }
        }
        // Where it is absent from some rows of a value, it must be absent from all.
        values.iter().all(|&value| seen[value].rows == row_counts[value])
    };
    columns.into_iter().filter(|(other, columns)| follows(*other, columns)).map(|(other, _)| other).collect()
}

/// What another key has where a key has some value.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// The other key, if this value was seen with it.
    key: Option<u32>,
    code: u32,
    /// Rows that have both.
    rows: u32,
}

/// Keysets with row numbers and what these rows have for a key.
type Sampled = Vec<(usize, Vec<(u32, u32)>)>;

/// For each of these keys, all rows that have some of its values. One pass over the rows, since they are many.
fn sampled_rows(content: &Content, keys: &[u32], series: &[u64]) -> Vec<Sampled> {
    let picked: Vec<Vec<bool>> = (keys.iter())
        .map(|&key| {
            let total = series[key as usize].max(1);
            let share = if total <= SAMPLED_SERIES { u64::MAX } else { u64::MAX / total * SAMPLED_SERIES };
            (0..content.value_counts[key as usize]).map(|code| label_name(key, code) <= share).collect()
        })
        .collect();
    let mut sampled: Vec<Sampled> = vec![Vec::new(); keys.len()];
    for (number, keyset) in content.keysets.iter().enumerate() {
        let columns: Vec<(usize, usize)> = (keys.iter().enumerate())
            .filter_map(|(place, key)| Some((place, keyset.keys.binary_search(key).ok()?)))
            .collect();
        let mut rows: Vec<Vec<(u32, u32)>> = vec![Vec::new(); columns.len()];
        for (row, codes) in (0u32..).zip(keyset.series()) {
            for (rows, &(place, column)) in rows.iter_mut().zip(&columns) {
                let value = codes[column];
                if picked[place][value as usize] {
                    rows.push((row, value));
                }
            }
        }
        for (rows, &(place, _)) in rows.into_iter().zip(&columns) {
            sampled[place].push((number, rows));
        }
    }
    sampled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::KeysetRows;

    /// Keys: 0 name, 1 status, 2 pod, 3 node, 4 zone. Of four pods the last is on no node, and all are in one zone; points have a status or not.
    fn content() -> Content {
        let placed = |name: u32, status: u32| (0..3).flat_map(move |pod: u32| [name, status, pod, pod / 2, 0]);
        let content = |keys: &[u32], rows: Vec<u32>| KeysetRows { keys: keys.to_vec(), rows };
        Content {
            value_counts: vec![3, 2, 4, 2, 1],
            origins: Vec::new(),
            keysets: vec![
                content(&[0, 1, 2, 3, 4], placed(0, 0).chain(placed(0, 1)).chain(placed(1, 0)).collect()),
                content(&[0, 2, 3, 4], [[2, 0, 0, 0], [2, 1, 0, 0], [2, 2, 1, 0]].concat()),
                content(&[0, 2, 4], vec![0, 3, 0, 1, 3, 0, 2, 3, 0]),
            ],
        }
    }

    fn follow(content: &Content, key: u32) -> Vec<u32> {
        determined_by(content, key, &sampled_rows(content, &[key], &series_of_keys(content))[0])
    }

    #[test]
    fn what_follows_from_a_key_does_so_in_all_keysets_and_where_it_is_absent() {
        let content = content();
        assert_eq!(follow(&content, 2), [3, 4], "a pod has always the same node, or none");
        assert_eq!(follow(&content, 3), [4]);
        // The zone is on all series, the node not on all of a zone.
        assert_eq!(follow(&content, 4), [0_u32; 0]);
        assert_eq!(follow(&content, 1), [4]);
    }

    #[test]
    fn an_entity_is_a_key_with_what_follows_from_it() {
        assert_eq!(find_entities(&content()), [[2, 3, 4]]);
    }

    #[test]
    fn keys_of_resources_are_the_entity_if_the_input_says_so() {
        let mut content = content();
        content.origins = vec![Origin::Point, Origin::Resource, Origin::Unknown, Origin::Resource];
        assert_eq!(find_entities(&content), [[1, 3]]);
        content.origins.fill(Origin::Point);
        assert_eq!(find_entities(&content), [[2, 3, 4]]);
    }

    #[test]
    fn no_content_has_no_entities() {
        assert_eq!(find_entities(&Content::default()), Vec::<Vec<u32>>::new());
    }
}
