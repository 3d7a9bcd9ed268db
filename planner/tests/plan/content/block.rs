//! Blocks of content, and the sizes of their parts.

use chronoxide_format::layout::{RowForm, SectionKind};
use chronoxide_format::view::{BlockView, Section};
use chronoxide_format::write::{BlockBuilder, BlockMeta};
use chronoxide_format::{KeyId, SeriesRef, SymbolId};
use chronoxide_planner::Factored;

use super::Model;

/// A builder that has the symbols and keys of a model.
fn builder(model: &Model) -> BlockBuilder {
    let mut symbols: Vec<&String> = model.names.iter().chain(model.values.iter().flatten()).collect();
    symbols.sort();
    symbols.dedup();
    let id = |symbol: &String| SymbolId(symbols.binary_search(&symbol).unwrap() as u32);
    let mut builder = BlockBuilder::new(RowForm::BitPacked);
    for symbol in &symbols {
        builder.push_symbol(symbol).unwrap();
    }
    for (name, values) in model.names.iter().zip(&model.values) {
        builder.push_key(id(name), &values.iter().map(id).collect::<Vec<_>>()).unwrap();
    }
    builder
}

/// The block of a model in the tables that were chosen, and its series of each series of the model.
pub fn write(model: &Model, factored: &Factored) -> (Vec<u8>, Vec<SeriesRef>) {
    let mut builder = builder(model);
    let refs = factored.clone().write(model.names.len() as u32, &mut builder).unwrap();
    (builder.finish(&BlockMeta::default()).unwrap(), refs)
}

/// The block of a model with rows of value codes only.
pub fn plain_block(model: &Model) -> Vec<u8> {
    let mut builder = builder(model);
    for keyset in &model.content.keysets {
        let keys: Vec<KeyId> = keyset.keys.iter().copied().map(KeyId).collect();
        builder.push_keyset(&keys, &keyset.rows).unwrap();
    }
    builder.finish(&BlockMeta::default()).unwrap()
}

/// Bytes of what is not the same whatever the tables of a block are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes of the rows of dictionaries, which are equal.
    pub dictionaries: u64,
    /// Bytes of other records and rows, and of the members section.
    pub tables: u64,
    /// Bytes of each keyset's own rows and anchors.
    pub keysets: Vec<u64>,
}

/// A section of a block.
fn section(view: &BlockView<'_>, kind: SectionKind) -> Section {
    view.sections().find(|section| section.known() == Some(kind)).unwrap()
}

/// Bytes of a section.
pub fn section_len(view: &BlockView<'_>, kind: SectionKind) -> u64 {
    section(view, kind).length
}

/// Sizes of the parts of a block, by what its reader says.
pub fn sizes(block: &[u8]) -> Sizes {
    let view = BlockView::open(block).unwrap();
    let catalogue = section_len(&view, SectionKind::Catalogue);
    // Header, records of keys, and the closing bytes (spec, section 5).
    let start = section(&view, SectionKind::Catalogue).offset as usize;
    let key_bits: u64 = block[start + 24..start + 29].iter().map(|&width| u64::from(width)).sum();
    let of_keys = 42 + (u64::from(view.key_count()) * key_bits).div_ceil(8) + 8;
    let dictionaries = (0..view.key_count()).map(|key| view.dictionary(KeyId(key)).unwrap().unwrap().len()).sum();
    let keyset = |number| {
        let keyset = view.keyset(number).unwrap().unwrap();
        keyset.table().len() + keyset.anchors_len()
    };
    let rows = section_len(&view, SectionKind::Rows) - 8 - dictionaries;
    Sizes {
        dictionaries,
        tables: catalogue - of_keys + rows + section_len(&view, SectionKind::Members),
        keysets: (0..view.keyset_count()).map(keyset).collect(),
    }
}
