//! Arenas merged: the only place where strings are looked at.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use chronoxide_format::SymbolId;
use chronoxide_format::build::BlockBuilder;
use chronoxide_format::view::{BlockView, Text};

use crate::CompactError;

/// For each input and each of its symbols, the symbol of the output.
pub(crate) struct SymbolMaps(pub Vec<Vec<SymbolId>>);

/// Merges the sorted arenas of all inputs into that of the output.
pub(crate) fn merge(inputs: &[BlockView<'_>], builder: &mut BlockBuilder) -> Result<SymbolMaps, CompactError> {
    let in_input = |input| move |source| CompactError::Input { input, source };
    let texts = (inputs.iter().enumerate())
        .map(|(input, view)| view.text().map_err(in_input(input)))
        .collect::<Result<Vec<Text<'_>>, _>>()?;
    let mut maps: Vec<Vec<SymbolId>> = inputs.iter().map(|_| Vec::new()).collect();
    let mut heap = BinaryHeap::new();
    for (input, text) in texts.iter().enumerate() {
        heap.extend(text.symbol(SymbolId(0)).map_err(in_input(input))?.map(|symbol| Reverse((symbol, input))));
    }
    let mut last: Option<(&str, SymbolId)> = None;
    while let Some(Reverse((symbol, input))) = heap.pop() {
        let id = match last {
            Some((before, id)) if before == symbol => id,
            _ => builder.push_symbol(symbol)?,
        };
        last = Some((symbol, id));
        maps[input].push(id);
        let next = SymbolId(maps[input].len() as u32);
        heap.extend(texts[input].symbol(next).map_err(in_input(input))?.map(|symbol| Reverse((symbol, input))));
    }
    Ok(SymbolMaps(maps))
}
