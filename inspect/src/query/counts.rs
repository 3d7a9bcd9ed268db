//! [`Counts`]: number of series of each keyset, name and value.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use chronoxide_dump::name::key_name;
use chronoxide_format::KeyId;
use chronoxide_format::view::Series;

use super::Queried;
use super::distinct::distinct_of_block;
use crate::InspectError;

/// Number of series of each keyset, name and value of several blocks. Names and values borrow the blocks.
#[derive(Debug, Default)]
pub(super) struct Counts<'data> {
    pub(super) series: u64,
    /// Sum of the number of labels over all series.
    pub(super) labels: u64,
    /// Series by value, by name.
    pub(super) names: BTreeMap<&'data str, HashMap<&'data str, u64>>,
    /// Series by names.
    pub(super) keysets: BTreeMap<Vec<&'data str>, u64>,
}

impl<'data> Counts<'data> {
    /// Counts the selected series of all blocks, those with equal labels once.
    pub(super) fn new(blocks: &[Queried<'data>]) -> Self {
        let mut counts = Self::default();
        for (number, block) in blocks.iter().enumerate() {
            let codes = match block.alternatives().as_slice() {
                [matchers] if number == 0 => tally(block, matchers),
                _ => count_distinct(blocks, number),
            };
            match codes.and_then(|codes| codes.resolve(block)) {
                Ok(found) => counts.add(found),
                Err(damage) => block.note(damage),
            }
        }
        counts
    }

    fn add(&mut self, other: Self) {
        self.series += other.series;
        self.labels += other.labels;
        for (name, values) in other.names {
            match self.names.entry(name) {
                // Taken as they are: a block can have millions of names, and most of them in no other block.
                Entry::Vacant(place) => {
                    place.insert(values);
                }
                Entry::Occupied(sums) => {
                    let sums = sums.into_mut();
                    for (value, count) in values {
                        *sums.entry(value).or_default() += count;
                    }
                }
            }
        }
        for (names, count) in other.keysets {
            *self.keysets.entry(names).or_default() += count;
        }
    }
}

/// Number of series of each keyset, key and code of one block.
#[derive(Default)]
struct Codes {
    keysets: BTreeMap<u32, u64>,
    /// Series by code, by key.
    keys: BTreeMap<u32, Vec<u64>>,
}

/// Counts without reading each series.
fn tally(block: &Queried<'_>, matchers: &[chronoxide_select::Matcher]) -> Result<Codes, InspectError> {
    let tally = block.searcher()?.tally(matchers)?;
    let mut codes = Codes { keysets: tally.keysets().iter().copied().collect(), keys: BTreeMap::new() };
    for key in tally.keys() {
        for (code, count) in tally.values(key) {
            codes.add(key, code, count);
        }
    }
    Ok(codes)
}

/// Counts the selected series of a block that no block before it has.
fn count_distinct(blocks: &[Queried<'_>], number: usize) -> Result<Codes, InspectError> {
    let mut codes = Codes::default();
    distinct_of_block(blocks, number, |found| codes.add_series(found.series).map(|()| true))?;
    Ok(codes)
}

impl Codes {
    /// Adds series with a value. A vector grows up to a code that was read, and not to the length that a damaged block
    /// claims.
    fn add(&mut self, key: KeyId, code: u32, count: u64) {
        let counts = self.keys.entry(key.0).or_default();
        let place = code as usize;
        if counts.len() <= place {
            counts.resize(place + 1, 0);
        }
        counts[place] += count;
    }

    fn add_series(&mut self, series: &Series<'_, '_>) -> Result<(), InspectError> {
        for ids in series.label_ids() {
            let ids = ids?;
            self.add(ids.key, ids.code, 1);
        }
        *self.keysets.entry(series.keyset()).or_default() += 1;
        Ok(())
    }

    /// Replaces keys and codes by names and values.
    fn resolve<'data>(&self, block: &Queried<'data>) -> Result<Counts<'data>, InspectError> {
        let mut counts = Counts::default();
        let (view, text) = (block.view(), block.text());
        for (&key, codes) in &self.keys {
            let values = counts.names.entry(key_name(&text, KeyId(key))?).or_default();
            for (code, &count) in (0..).zip(codes).filter(|(_, count)| **count > 0) {
                let value = text.symbol(view.dictionary_value(KeyId(key), code)?)?;
                *values.entry(value).or_default() += count;
            }
        }
        for (&number, &count) in &self.keysets {
            let Some(keyset) = view.keyset(number)? else { continue };
            let names = keyset.keys()?.map(|key| key_name(&text, key?)).collect::<Result<Vec<_>, _>>()?;
            counts.series += count;
            counts.labels += count * names.len() as u64;
            *counts.keysets.entry(names).or_default() += count;
        }
        Ok(counts)
    }
}
