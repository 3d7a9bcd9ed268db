//! Merges arenas: the only place where strings are compared.

use std::cmp::Ordering;

use chronoxide_format::SymbolId;
use chronoxide_format::view::{BlockView, Text};
use chronoxide_format::write::{BuildError, Limits};
use rayon::prelude::*;

use crate::CompactError;
use crate::error::InInput;

/// Distinct symbols of all inputs, in byte order.
pub(crate) struct MergedSymbols<'a> {
    pub symbols: Vec<&'a str>,
    /// Merged number of each symbol, by input and symbol id.
    pub maps: Vec<Vec<u32>>,
}

/// Merges the sorted arenas of all inputs, and additional symbols.
pub(crate) fn merge<'a>(inputs: &'a [BlockView<'a>], more: &[&'a str]) -> Result<MergedSymbols<'a>, CompactError> {
    merge_within(inputs, more, Limits::FORMAT.count)
}

/// Like [`merge`], with at most `limit` symbols.
fn merge_within<'a>(
    inputs: &'a [BlockView<'a>],
    more: &[&'a str],
    limit: u32,
) -> Result<MergedSymbols<'a>, CompactError> {
    let mut arenas = (inputs.par_iter().enumerate())
        .map(|(input, view)| arena(view).in_input(input))
        .collect::<Result<Vec<Vec<&str>>, _>>()?;
    let mut more = more.to_vec();
    more.sort_unstable();
    more.dedup();
    arenas.push(more);
    let mut merged = union(arenas);
    // Numbers beyond 32 bits wrapped around, but they were only stored.
    if u32::try_from(merged.symbols.len()).is_ok_and(|count| count <= limit) {
        merged.maps.pop();
        Ok(merged)
    } else {
        Err(BuildError::TooMany { what: "symbols", limit }.into())
    }
}

fn arena<'a>(view: &'a BlockView<'a>) -> chronoxide_format::Result<Vec<&'a str>> {
    let text: Text<'a, 'a> = view.text()?;
    (0..view.symbols().count()).map(|id| text.symbol(SymbolId(id))).collect()
}

/// Merges recursively; each half is deduplicated before it is merged.
fn union(mut arenas: Vec<Vec<&str>>) -> MergedSymbols<'_> {
    if arenas.len() < 2 {
        let symbols = arenas.pop().unwrap_or_default();
        return MergedSymbols { maps: vec![(0..symbols.len() as u32).collect()], symbols };
    }
    let right = arenas.split_off(arenas.len() / 2);
    let (left, right) = rayon::join(|| union(arenas), || union(right));
    let mut symbols = Vec::with_capacity(left.symbols.len().max(right.symbols.len()));
    let (mut from_left, mut from_right) =
        (Vec::with_capacity(left.symbols.len()), Vec::with_capacity(right.symbols.len()));
    let (mut a, mut b) = (left.symbols.iter().peekable(), right.symbols.iter().peekable());
    loop {
        let number = symbols.len() as u32;
        let order = match (a.peek(), b.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.cmp(b),
        };
        let of_right = if order.is_ge() { b.next() } else { None };
        let of_left = if order.is_le() { a.next() } else { None };
        from_left.extend(of_left.map(|_| number));
        from_right.extend(of_right.map(|_| number));
        symbols.extend(of_left.or(of_right));
    }
    let composed = |maps: Vec<Vec<u32>>, later: &[u32]| -> Vec<Vec<u32>> {
        maps.into_par_iter().map(|map| map.into_iter().map(|number| later[number as usize]).collect()).collect()
    };
    let mut maps = composed(left.maps, &from_left);
    maps.extend(composed(right.maps, &from_right));
    MergedSymbols { symbols, maps }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn more_symbols_than_a_block_holds_are_an_error() {
        let more = ["b", "a", "c", "b"];
        assert_eq!(merge_within(&[], &more, 3).expect("as many as fit").symbols, ["a", "b", "c"]);
        let error = merge_within(&[], &more, 2).err().expect("one too many");
        assert_eq!(error.to_string(), "a block holds at most 2 symbols; use shorter time windows or more shards");
    }

    #[test]
    fn each_symbol_stands_once_and_is_found_from_each_arena() {
        let arenas = vec![vec!["a", "c", "d"], vec![], vec!["b", "c"], vec!["a", "d", "e"], vec!["c"]];
        let merged = union(arenas.clone());
        let expected: BTreeSet<&str> = arenas.iter().flatten().copied().collect();
        assert_eq!(merged.symbols, expected.into_iter().collect::<Vec<_>>());
        let found = |map: &Vec<u32>| map.iter().map(|&number| merged.symbols[number as usize]).collect::<Vec<_>>();
        assert_eq!(merged.maps.iter().map(found).collect::<Vec<_>>(), arenas);
    }
}
