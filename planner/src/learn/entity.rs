//! Entities: keys whose values, or absence, follow from another key's value in all keysets.
//!
//! The labels that describe a pod are on all its series, and always the same; those of a point are not. So whatever the values of one
//! key determine, absence included, describes what that key names. Presence is what tells a pod's zone from a point's status
//! that happens to be the same everywhere.

use super::group::label_name;
use super::sample::bits;
use crate::content::{Content, Origin};

/// Keys that are tried as what names an entity, at most.
const MOST_TRIED: usize = 12;
/// Entities of a block, at most.
const MOST_ENTITIES: usize = 6;
/// Series that are looked at for a key, about.
const SAMPLED_SERIES: u64 = 1 << 16;
/// The code of a label that is not there.
const ABSENT: u32 = u32::MAX - 1;
/// No series of this value was seen yet.
const UNSEEN: u32 = u32::MAX;

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
    candidates.truncate(MOST_TRIED);
    let mut determined: Vec<(u32, Vec<u32>)> = (candidates.iter().zip(sampled_rows(content, &candidates, &series)))
        .map(|(&key, sampled)| (key, determined_by(content, key, &sampled)))
        .collect();

    // What the input says describes a resource is taken for granted.
    let mut entities: Vec<Vec<u32>> = if resource.is_empty() { Vec::new() } else { vec![resource] };
    while entities.len() < MOST_ENTITIES {
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

/// The keys whose value or absence follows from that of `key`, in a sample of its values.
fn determined_by(content: &Content, key: u32, sampled: &Sampled) -> Vec<u32> {
    let mut seen = Vec::new();
    (0..content.value_counts.len() as u32)
        .filter(|&other| other != key)
        .filter(|&other| {
            seen.clear();
            seen.resize(content.value_counts[key as usize] as usize, UNSEEN);
            let mut present = false;
            let holds = sampled.iter().all(|(keyset, rows)| {
                let keyset = &content.keysets[*keyset];
                let column = keyset.keys.binary_search(&other);
                present |= column.is_ok();
                let width = keyset.keys.len();
                rows.iter().all(|&(row, value)| {
                    let code = column.map_or(ABSENT, |column| keyset.rows[row as usize * width + column]);
                    let before = std::mem::replace(&mut seen[value as usize], code);
                    before == UNSEEN || before == code
                })
            });
            holds && present
        })
        .collect()
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
