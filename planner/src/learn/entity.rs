//! Entities: keys whose values, or absence, follow from the value of another key in all keysets.
//!
//! Labels that describe a pod are equal on all its series; labels of a point are not. Keys whose values, absence
//! included, are determined by one key describe the entity that it names. Presence distinguishes the zone of a pod from
//! the status of a point that happens to be equal everywhere.

use std::collections::BTreeMap;

use super::group::label_name;
use super::sample::bits;
use crate::content::{Content, Origin};

/// Maximum number of keys that are tried as names of an entity.
const MAX_TRIED: usize = 6;
/// Maximum number of entities of a block.
const MAX_ENTITIES: usize = 6;
/// Approximate number of series that are examined per key.
const SAMPLED_SERIES: u64 = 1 << 16;

/// Returns the keys of each entity in increasing order. No key is in two entities.
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

    // Keys that describe a resource by their origin are accepted without a check.
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

/// Returns the number of series that have each key.
fn series_of_keys(content: &Content) -> Vec<u64> {
    let mut series = vec![0; content.value_counts.len()];
    for keyset in &content.keysets {
        for &key in &keyset.keys {
            series[key as usize] += keyset.len() as u64;
        }
    }
    series
}

/// Returns the keys whose value or absence follows from the value of `key`, in a sample of its values. Reads each code
/// of the sampled rows at most once.
fn determined_by(content: &Content, key: u32, sampled: &Sampled) -> Vec<u32> {
    let value_count = content.value_counts[key as usize] as usize;
    let mut row_counts = vec![0; value_count];
    // Columns of each other key in the sampled keysets.
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
        // If it is absent from one row of a value, it must be absent from all.
        values.iter().all(|&value| seen[value].rows == row_counts[value])
    };
    columns.into_iter().filter(|(other, columns)| follows(*other, columns)).map(|(other, _)| other).collect()
}

/// Values of another key for one value of a key.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// Other key, if it occurred with this value.
    key: Option<u32>,
    code: u32,
    /// Number of rows with both.
    rows: u32,
}

/// Keysets with row numbers, and the codes of a key in these rows.
type Sampled = Vec<(usize, Vec<(u32, u32)>)>;

/// Returns for each of these keys all rows with some of its values. Takes one pass over the rows, since there are many.
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

    /// Keys: 0 name, 1 status, 2 pod, 3 node, 4 zone. Of four pods the last is on no node, and all are in one zone.
    /// Points have a status or not.
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
    fn a_key_follows_from_another_in_all_keysets_including_absence() {
        let content = content();
        assert_eq!(follow(&content, 2), [3, 4], "a pod has always the same node, or none");
        assert_eq!(follow(&content, 3), [4]);
        // All series have the zone; not all series of a zone have the node.
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
