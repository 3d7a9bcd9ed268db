//! Merges keys and value dictionaries: the labels that the outputs can have.

use std::collections::BTreeMap;

use chronoxide_format::KeyId;
use chronoxide_format::bits::width;
use chronoxide_format::identity::{Fingerprint, LabelHasher};
use chronoxide_format::view::BlockView;
use rayon::prelude::*;

use super::inputs;
use super::symbols::MergedSymbols;
use crate::CompactError;
use crate::error::InInput;
use crate::external::Lifted;
use crate::hashing::{HashLabels, Hashes};
use crate::rewrite::Rewrite;

/// A key, and its values in all inputs.
#[derive(Debug)]
pub(crate) struct Key {
    /// Symbol of the name.
    pub name: u32,
    /// Symbols of the values, increasing.
    pub values: Vec<u32>,
    /// Fingerprint of the label of each value.
    pub labels: Vec<Fingerprint>,
}

/// Symbols, keys and values of all inputs. Keys are numbered in the order of names, values of a key in byte order.
pub(crate) struct Vocabulary<'a> {
    pub symbols: Vec<&'a str>,
    pub keys: Vec<Key>,
    /// Merged key of each key, by input.
    pub key_maps: Vec<Vec<u32>>,
    /// Merged value code of each value code, by input and key.
    pub code_maps: Vec<Vec<Vec<u32>>>,
}

impl<'a> Vocabulary<'a> {
    /// Merges keys by name, and the dictionaries of each key. A key also gets the values of keys that are renamed to
    /// it, of external labels that are lifted to it, and the hashes of its values if it is hashed.
    pub(crate) fn merge(
        inputs: &'a [BlockView<'a>],
        merged: MergedSymbols<'a>,
        rewrite: &Rewrite,
        (lifted, hashes): (&Lifted, &Hashes),
    ) -> Result<Self, CompactError> {
        let MergedSymbols { symbols, maps } = merged;
        // Keys by name, each with the inputs that have it.
        let mut sources: BTreeMap<u32, Vec<(usize, KeyId)>> = BTreeMap::new();
        for (input, view) in inputs.iter().enumerate() {
            for key in (0..view.key_count()).map(KeyId) {
                let name = view.key_symbol(key).in_input(input)?;
                sources.entry(maps[input][name.0 as usize]).or_default().push((input, key));
            }
        }
        let symbol = |text: &str| symbols.binary_search(&text).ok().map(|symbol| symbol as u32);
        let symbol_pair = |(first, second)| Some((symbol(first)?, symbol(second)?));
        let mut renamed: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (old, new) in rewrite.renamed().filter_map(symbol_pair) {
            if sources.contains_key(&old) {
                renamed.entry(new).or_default().push(old);
            }
        }
        let mut added: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (name, value) in lifted.labels().filter_map(symbol_pair) {
            added.entry(name).or_default().push(value);
        }
        for new in renamed.keys().chain(added.keys()) {
            sources.entry(*new).or_default();
        }

        let dictionaries = (sources.par_iter())
            .map(|(&name, of_name)| {
                let mut values: Vec<Vec<u32>> = values_of(inputs, of_name, &maps)?;
                for old in renamed.get(&name).into_iter().flatten() {
                    values.extend(values_of(inputs, &sources[old], &maps)?);
                }
                values.extend(added.get(&name).cloned());
                values.push(hashes.get(symbols[name as usize]).iter().filter_map(|hash| symbol(hash)).collect());
                let key = merge_values(name, &values, &symbols);
                let codes = values.iter().take(of_name.len()).map(|own| positions(own, &key.values)).collect();
                Ok((key, codes))
            })
            .collect::<Result<Vec<(Key, Vec<Vec<u32>>)>, CompactError>>()?;

        let mut key_maps = vec![Vec::new(); inputs.len()];
        let mut code_maps = vec![Vec::new(); inputs.len()];
        let mut keys = Vec::with_capacity(dictionaries.len());
        for (of_name, (key, codes)) in sources.values().zip(dictionaries) {
            for (&(input, _), codes) in of_name.iter().zip(codes) {
                // Keys of an input come in the order of names, and so in the order of merged numbers.
                key_maps[input].push(keys.len() as u32);
                code_maps[input].push(codes);
            }
            keys.push(key);
        }
        Ok(Self { symbols, keys, key_maps, code_maps })
    }

    /// Returns the number of bits of a value code of a key.
    pub(crate) fn value_width(&self, key: u32) -> u32 {
        width((self.keys[key as usize].labels.len() as u64).saturating_sub(1))
    }

    /// Returns the key with this name.
    pub(crate) fn key(&self, name: &str) -> Option<u32> {
        let found = self.keys.binary_search_by_key(&name, |key| self.symbols[key.name as usize]);
        found.ok().map(|key| key as u32)
    }

    /// Returns true if an input has this key.
    pub(crate) fn is_in_an_input(&self, key: u32) -> bool {
        self.key_maps.iter().any(|keys| keys.binary_search(&key).is_ok())
    }

    /// Returns the values of a key, in the order of their codes.
    pub(crate) fn values(&self, key: u32) -> impl Iterator<Item = &'a str> + '_ {
        self.keys[key as usize].values.iter().map(|&value| self.symbols[value as usize])
    }

    /// Returns the lifted labels of each input as keys and value codes, sorted by key.
    pub(crate) fn lifted(&self, lifted: &Lifted) -> Vec<Vec<(u32, u32)>> {
        let code = |(name, value): &(String, String)| {
            let key = self.key(name)?;
            let code = self.values(key).position(|known| known == value)?;
            Some((key, code as u32))
        };
        lifted.by_input().iter().map(|labels| labels.iter().filter_map(code).collect()).collect()
    }

    /// Maps the value codes of key `old` to codes of key `new`, to which it is renamed. Only values of `old` that
    /// inputs have are mapped correctly; values that other keys brought by being renamed to `old` are not looked up.
    pub(crate) fn renamed_codes(&self, old: u32, new: u32) -> Vec<u32> {
        let all = &self.keys[new as usize].values;
        let code = |value| all.binary_search(value).unwrap_or_default() as u32;
        self.keys[old as usize].values.iter().map(code).collect()
    }

    /// Maps the value codes of a key to the codes of the hashes of the values. A hash itself keeps its code.
    pub(crate) fn hashed_codes(&self, key: u32, hash_labels: &HashLabels) -> Vec<u32> {
        let all = &self.keys[key as usize].values;
        let code = |(code, value)| {
            let hash = hash_labels.hash(value);
            let symbol = self.symbols.binary_search(&hash.as_str()).ok();
            symbol.and_then(|symbol| all.binary_search(&(symbol as u32)).ok()).map_or(code, |code| code as u32)
        };
        (0..).zip(self.values(key)).map(code).collect()
    }
}

/// Returns the values of a key in each input that has it, as merged symbols.
fn values_of(
    inputs: &[BlockView<'_>],
    sources: &[(usize, KeyId)],
    maps: &[Vec<u32>],
) -> Result<Vec<Vec<u32>>, CompactError> {
    let of_input = |&(input, key): &(usize, KeyId)| {
        let mut symbols = Vec::new();
        let read = inputs::table(&inputs[input], key.0)
            .and_then(|values| values.push_other_codes(0..values.row_count(), &[&maps[input]], &mut symbols));
        read.in_input(input).map(|()| symbols)
    };
    sources.iter().map(of_input).collect()
}

fn merge_values(name: u32, of_inputs: &[Vec<u32>], symbols: &[&str]) -> Key {
    let mut values = of_inputs.concat();
    // The inputs are sorted runs, which a stable sort merges.
    values.sort();
    values.dedup();
    let text = |symbol: u32| symbols[symbol as usize].as_bytes();
    let hasher = LabelHasher::new(text(name));
    let labels = values.iter().map(|&value| hasher.label(text(value))).collect();
    Key { name, values, labels }
}

/// Returns the position of each number of `own` in `all`. Both are increasing, and `all` contains `own`.
pub(super) fn positions(own: &[u32], all: &[u32]) -> Vec<u32> {
    let mut place = 0;
    let mut positions = Vec::with_capacity(own.len());
    for &number in own {
        while all[place] < number {
            place += 1;
        }
        positions.push(place as u32);
    }
    positions
}
