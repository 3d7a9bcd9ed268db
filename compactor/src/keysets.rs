//! The rows of each keyset merged.

use std::collections::BTreeMap;

use chronoxide_format::build::{BlockBuilder, BuildError};
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::view::{BlockView, Keyset};
use chronoxide_format::{KeyId, Result};
use chronoxide_planner::{Content, KeysetRows, Layout, plan};
use rayon::prelude::*;

use crate::CompactError;
use crate::dictionaries::CodeMaps;

/// What was there more than once.
#[derive(Debug)]
pub(crate) struct Duplicates {
    pub series: u64,
    pub fingerprint: Fingerprint,
}

/// The merged rows of a keyset.
struct Merged {
    rows: Vec<u32>,
    duplicates: Duplicates,
}

/// Merges the keysets of all inputs by their keys. A factored output is planned anew, from all rows at once.
pub(crate) fn merge(
    inputs: &[BlockView<'_>],
    maps: &CodeMaps,
    layout: Layout,
    builder: &mut BlockBuilder,
) -> Result<Duplicates, CompactError> {
    let mut merged: BTreeMap<Vec<KeyId>, Vec<(usize, u32)>> = BTreeMap::new();
    for (input, view) in inputs.iter().enumerate() {
        for keyset in 0..view.keyset_count() {
            let keys = keys(view, keyset).map_err(|source| CompactError::Input { input, source })?;
            let keys = keys.into_iter().map(|key| maps.keys[input][key.0 as usize]).collect();
            merged.entry(keys).or_default().push((input, keyset));
        }
    }
    let mut duplicates = Duplicates { series: 0, fingerprint: Fingerprint::ZERO };
    let keysets: Vec<_> = merged.into_iter().collect();
    let mut content = Content { value_counts: maps.value_counts(), ..Content::default() };
    let mut series: u64 = 0;
    // Some keysets at a time, so that few rows are held unpacked.
    for batch in keysets.chunks(rayon::current_num_threads() * 4) {
        let rows = batch
            .par_iter()
            .map(|(keys, sources)| merge_rows(inputs, maps, keys, sources))
            .collect::<Result<Vec<Merged>, CompactError>>()?;
        for ((keys, _), merged) in batch.iter().zip(rows) {
            if layout == Layout::Factored {
                // The planner counts in 32 bits, as blocks do.
                series += (merged.rows.len() / keys.len()) as u64;
                u32::try_from(series).map_err(|_| BuildError::TooMany { what: "series" })?;
                let keys = keys.iter().map(|key| key.0).collect();
                content.keysets.push(KeysetRows { keys, rows: merged.rows });
            } else {
                builder.push_keyset(keys, &merged.rows)?;
            }
            duplicates.series += merged.duplicates.series;
            duplicates.fingerprint = duplicates.fingerprint + merged.duplicates.fingerprint;
        }
    }
    if layout == Layout::Factored {
        let (_, factored) = plan(&content);
        factored.write(content.value_counts.len() as u32, builder)?;
    }
    Ok(duplicates)
}

fn keys(view: &BlockView<'_>, keyset: u32) -> Result<Vec<KeyId>> {
    view.keyset(keyset)?.keys()?.collect()
}

fn merge_rows(
    inputs: &[BlockView<'_>],
    maps: &CodeMaps,
    keys: &[KeyId],
    sources: &[(usize, u32)],
) -> Result<Merged, CompactError> {
    let mut codes = Vec::new();
    for &(input, keyset) in sources {
        let translation: Vec<&[u32]> = keys.iter().map(|&key| maps.codes(key, input)).collect();
        (inputs[input].keyset(keyset))
            .and_then(|keyset| translate(&keyset, &translation, &mut codes))
            .map_err(|source| CompactError::Input { input, source })?;
    }
    let mut rows: Vec<&[u32]> = codes.chunks_exact(keys.len()).collect();
    // Rows of a plain keyset are sorted already and stay so; a stable sort merges such runs.
    rows.sort();
    let mut merged = Merged {
        rows: Vec::with_capacity(codes.len()),
        duplicates: Duplicates { series: 0, fingerprint: Fingerprint::ZERO },
    };
    let mut before: Option<&[u32]> = None;
    for row in rows {
        if before == Some(row) {
            merged.duplicates.series += 1;
            merged.duplicates.fingerprint = merged.duplicates.fingerprint + maps.fingerprint(keys, row);
        } else {
            merged.rows.extend_from_slice(row);
        }
        before = Some(row);
    }
    Ok(merged)
}

/// Appends the series of a keyset as rows of the output's value codes, whatever tables they are in.
fn translate(keyset: &Keyset<'_>, translation: &[&[u32]], codes: &mut Vec<u32>) -> Result<()> {
    for series in keyset.series()? {
        let series = series?;
        for (leaf, translation) in (0..).zip(translation) {
            codes.push(translation[series.ids(leaf)?.code as usize]);
        }
    }
    Ok(())
}
