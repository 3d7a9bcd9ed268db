//! Inputs to output, with the balance of series.

use chronoxide_format::build::BlockBuilder;
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::verify::ContentFingerprint;
use chronoxide_format::view::BlockView;
use chronoxide_planner::Layout;
use rayon::prelude::*;

use crate::{CompactError, dictionaries, keysets, meta, symbols};

/// How blocks are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactOptions {
    /// How the output is laid out.
    pub layout: Layout,
}

/// A merged block.
#[derive(Clone, Debug)]
pub struct Compacted {
    /// The block.
    pub block: Vec<u8>,
    /// Series of all inputs.
    pub series_in: u64,
    /// Series that were there before, in another input or the same one given twice.
    pub duplicates: u64,
    /// Series of the output.
    pub series_out: u64,
    /// Sections of the inputs that this version does not know, and left out.
    pub optional_sections_left_out: usize,
}

/// Merges blocks into one that has each of their series once.
///
/// Every input is verified before anything of it is used, and the series of inputs, output and duplicates must balance, in number and in
/// fingerprint: damage is never given a fresh checksum.
///
/// # Errors
/// A damaged input, inputs that say different things of themselves, or more series than a block holds.
pub fn compact(inputs: &[BlockView<'_>], options: &CompactOptions) -> Result<Compacted, CompactError> {
    for (input, view) in inputs.iter().enumerate() {
        if !view.may_be_compacted() {
            let [_, bits, _] = view.features();
            return Err(CompactError::UnknownFeatures { input, bits });
        }
    }
    let verified = inputs
        .par_iter()
        .enumerate()
        .map(|(input, view)| view.verify().map_err(|source| CompactError::Input { input, source }))
        .collect::<Result<Vec<ContentFingerprint>, CompactError>>()?;

    let meta = meta::merge(inputs, options.layout)?;
    let mut builder = BlockBuilder::new(options.layout.row_form());
    let symbol_maps = symbols::merge(inputs, &mut builder)?;
    let code_maps = dictionaries::merge(inputs, &symbol_maps, &mut builder)?;
    let duplicates = keysets::merge(inputs, &code_maps, options.layout, &mut builder)?;
    let block = builder.finish(&meta)?;

    let at_output = |source| CompactError::Input { input: inputs.len(), source };
    let output = BlockView::open(&block).and_then(|view| view.meta()).map_err(at_output)?;
    let series_in: u64 = verified.iter().map(|content| content.series_count).sum();
    let series_out = output.series_count();
    let fingerprint_in: Fingerprint = verified.iter().map(|content| content.fingerprint).sum();
    let fingerprint_out = Fingerprint::from_parts(output.fingerprint());
    let balanced = fingerprint_out.map(|out| out + duplicates.fingerprint) == Some(fingerprint_in);
    if !balanced || series_in != series_out + duplicates.series {
        return Err(CompactError::Unbalanced {
            series_in,
            duplicates: duplicates.series,
            series_out,
            fingerprints: if balanced { "equal" } else { "different" },
        });
    }
    let unknown_sections = inputs.iter().flat_map(BlockView::sections).filter(|section| section.known().is_none());
    Ok(Compacted {
        series_in,
        duplicates: duplicates.series,
        series_out,
        optional_sections_left_out: unknown_sections.count(),
        block,
    })
}
