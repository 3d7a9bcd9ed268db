//! Keys and their value dictionaries merged.

use std::collections::BTreeMap;

use chronoxide_format::build::BlockBuilder;
use chronoxide_format::identity::{Fingerprint, SymbolHash};
use chronoxide_format::view::BlockView;
use chronoxide_format::{KeyId, Result, SymbolId};
use rayon::prelude::*;

use crate::CompactError;
use crate::symbols::SymbolMaps;

/// What keys and value codes become.
pub(crate) struct CodeMaps {
    /// For each input and each of its keys, the key of the output.
    pub keys: Vec<Vec<KeyId>>,
    /// For each key of the output and each input, the codes of the output.
    codes: Vec<Vec<Vec<u32>>>,
    /// For each key of the output, the fingerprints of its labels by code.
    labels: Vec<Vec<Fingerprint>>,
}

impl CodeMaps {
    /// What the codes of `input` become for a key of the output.
    pub(crate) fn codes(&self, key: KeyId, input: usize) -> &[u32] {
        &self.codes[key.0 as usize][input]
    }

    /// How many values each key of the output has.
    pub(crate) fn value_counts(&self) -> Vec<u32> {
        // The builder has taken them, so that they can be counted.
        self.labels.iter().map(|labels| labels.len() as u32).collect()
    }

    /// The fingerprint of the output's series with these keys and codes.
    pub(crate) fn fingerprint(&self, keys: &[KeyId], row: &[u32]) -> Fingerprint {
        keys.iter()
            .zip(row)
            .fold(Fingerprint::ONE, |product, (key, &code)| product * self.labels[key.0 as usize][code as usize])
    }
}

/// A merged dictionary.
struct Dictionary {
    values: Vec<SymbolId>,
    /// For each input, what its codes become; empty for inputs without the key.
    codes: Vec<Vec<u32>>,
    labels: Vec<Fingerprint>,
}

/// Merges keys by name, and the dictionaries of each key.
pub(crate) fn merge(
    inputs: &[BlockView<'_>],
    symbols: &SymbolMaps,
    builder: &mut BlockBuilder,
) -> Result<CodeMaps, CompactError> {
    // The output's keys by name, each with the inputs that have it.
    let mut merged: BTreeMap<SymbolId, Vec<(usize, KeyId)>> = BTreeMap::new();
    for (input, view) in inputs.iter().enumerate() {
        for key in (0..view.key_count()).map(KeyId) {
            let name = view.key_symbol(key).map_err(|source| CompactError::Input { input, source })?;
            merged.entry(symbols.0[input][name.0 as usize]).or_default().push((input, key));
        }
    }
    let dictionaries = merged
        .par_iter()
        .map(|(_, sources)| merge_dictionary(inputs, symbols, sources))
        .collect::<Result<Vec<Dictionary>, CompactError>>()?;

    let mut maps =
        CodeMaps { keys: inputs.iter().map(|_| Vec::new()).collect(), codes: Vec::new(), labels: Vec::new() };
    for ((&name, sources), dictionary) in merged.iter().zip(dictionaries) {
        let key = builder.push_key(name, &dictionary.values)?;
        for &(input, _) in sources {
            // Keys of an input come in the order of their names, and so in the order of their numbers.
            maps.keys[input].push(key);
        }
        maps.codes.push(dictionary.codes);
        maps.labels.push(dictionary.labels);
    }
    Ok(maps)
}

fn merge_dictionary(
    inputs: &[BlockView<'_>],
    symbols: &SymbolMaps,
    sources: &[(usize, KeyId)],
) -> Result<Dictionary, CompactError> {
    let mut translated: Vec<(usize, Vec<SymbolId>)> = Vec::new();
    for &(input, key) in sources {
        let values = values(&inputs[input], key).map_err(|source| CompactError::Input { input, source })?;
        translated.push((input, values.into_iter().map(|value| symbols.0[input][value.0 as usize]).collect()));
    }
    let mut values: Vec<SymbolId> = translated.iter().flat_map(|(_, values)| values).copied().collect();
    // A stable sort merges the sorted runs that the inputs are.
    values.sort();
    values.dedup();
    let mut codes: Vec<Vec<u32>> = inputs.iter().map(|_| Vec::new()).collect();
    for (input, own) in &translated {
        let mut code = 0;
        for &value in own {
            code += values[code..].iter().position(|&other| other == value).expect("the union has every value");
            codes[*input].push(code as u32);
        }
    }
    let mut labels = vec![Fingerprint::ZERO; values.len()];
    for (&(input, key), (_, own)) in sources.iter().zip(&translated) {
        label_fingerprints(&inputs[input], key, &codes[input], &mut labels)
            .map_err(|source| CompactError::Input { input, source })?;
        debug_assert_eq!(own.len(), codes[input].len());
    }
    Ok(Dictionary { values, codes, labels })
}

fn values(view: &BlockView<'_>, key: KeyId) -> Result<Vec<SymbolId>> {
    let dictionary = view.dictionary(key)?;
    let column = dictionary.column(0)?;
    (0..dictionary.row_count()).map(|code| dictionary.code(code, &column).map(SymbolId)).collect()
}

/// Fills in the fingerprints of the labels that one input has.
fn label_fingerprints(view: &BlockView<'_>, key: KeyId, codes: &[u32], labels: &mut [Fingerprint]) -> Result<()> {
    let name = SymbolHash::of(view.key_name(key)?);
    for (value, &code) in view.label_values(key)?.zip(codes) {
        let slot = &mut labels[code as usize];
        if *slot == Fingerprint::ZERO {
            *slot = Fingerprint::of_label(name, SymbolHash::of(value?));
        }
    }
    Ok(())
}
