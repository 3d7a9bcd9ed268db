//! Used parts of a store, and their order in a block.

use chronoxide_planner::Origin;

use super::selection::Selection;
use crate::keyset::KeysetStore;
use crate::symbols::StoreSymbolId;

/// Rank of unused parts.
const UNUSED: u32 = u32::MAX;

/// Ranks of the parts of a store in a block: maps ids of the store to ids of the block. Labels without series have no
/// rank.
pub(crate) struct BlockOrder {
    /// Used symbols in byte order. The position is the symbol id in the block.
    pub(crate) symbols: Vec<StoreSymbolId>,
    /// Used keys sorted by name. The position is the key id in the block.
    pub(crate) keys: Vec<BlockKey>,
    /// Keysets that have series, sorted by their lists of block keys.
    pub(crate) keysets: Vec<BlockKeyset>,
    /// Value code in the block, for each key of the store and each of its codes.
    pub(crate) code_ranks: Vec<Vec<u32>>,
}

/// Key of the block, in symbol ids of the block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BlockKey {
    pub(crate) name: u32,
    /// Values of the key. The position is the value code.
    pub(crate) values: Vec<u32>,
    /// Origin of its labels.
    pub(crate) origin: Origin,
}

/// Keyset of the block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BlockKeyset {
    /// Keys, as key ids of the block.
    pub(crate) keys: Vec<u32>,
    /// Position among the keysets of the store.
    pub(crate) source: usize,
    /// Number of selected series.
    pub(crate) series: usize,
}

impl BlockKeyset {
    /// Returns the number of refs and codes of its selected series.
    pub(crate) fn row_len(&self) -> usize {
        self.series * (self.keys.len() + 1)
    }
}

impl BlockOrder {
    /// Computes the order of the selected series of a store. Costs one pass over all codes, and sorting the used
    /// symbols.
    pub(crate) fn new(store: &KeysetStore, selection: &Selection) -> Self {
        let mut code_ranks = used_codes(store, selection);
        let (symbols, symbol_ranks) = rank_symbols(store, &code_ranks);
        let rank = |symbol: StoreSymbolId| symbol_ranks.get(symbol.index()).copied().unwrap_or(UNUSED);

        // Keys by the rank of their names. A key is used if one of its values is.
        let mut by_name = Vec::new();
        for (key, (source, codes)) in store.keys().as_slice().iter().zip(&code_ranks).enumerate() {
            if codes.iter().any(|&code| code != UNUSED) {
                by_name.push((rank(source.name), key));
            }
        }
        by_name.sort_unstable();

        let mut key_ranks = vec![UNUSED; code_ranks.len()];
        let mut keys = Vec::with_capacity(by_name.len());
        for (key_rank, &(name, key)) in (0u32..).zip(&by_name) {
            let (Some(source), Some(codes), Some(place)) =
                (store.keys().as_slice().get(key), code_ranks.get_mut(key), key_ranks.get_mut(key))
            else {
                continue;
            };
            *place = key_rank;
            keys.push(BlockKey { name, values: rank_values(codes, &source.values, rank), origin: source.origin() });
        }

        let mut keysets = Vec::new();
        for (source, keyset) in store.keysets().iter().enumerate() {
            let series = selection.count(source, keyset);
            if series > 0 {
                let rank = |key: &crate::StoreKeyId| key_ranks.get(key.index()).copied().unwrap_or(UNUSED);
                keysets.push(BlockKeyset { keys: keyset.keys().iter().map(rank).collect(), source, series });
            }
        }
        keysets.sort_unstable_by(|left, right| left.keys.cmp(&right.keys));

        Self { symbols, keys, keysets, code_ranks }
    }
}

/// Returns 0 for each code of each key that a selected series has, and [`UNUSED`] for others.
fn used_codes(store: &KeysetStore, selection: &Selection) -> Vec<Vec<u32>> {
    let mut used: Vec<Vec<u32>> = store.keys().as_slice().iter().map(|key| vec![UNUSED; key.values.len()]).collect();
    for (number, keyset) in store.keysets().iter().enumerate() {
        // Row by row, because the columns of a row are neighbours in memory.
        let of_key = |key: &crate::StoreKeyId| used.get_mut(key.index()).map(std::mem::take).unwrap_or_default();
        let mut columns: Vec<Vec<u32>> = keyset.keys().iter().map(of_key).collect();
        selection.rows(number, keyset).for_each(|(_, codes)| {
            for (&code, used) in codes.iter().zip(&mut columns) {
                if let Some(code) = used.get_mut(code as usize) {
                    *code = 0;
                }
            }
        });
        for (key, column) in keyset.keys().iter().zip(columns) {
            if let Some(place) = used.get_mut(key.index()) {
                *place = column;
            }
        }
    }
    used
}

/// Returns the used symbols in byte order, and the rank of each symbol of the store.
fn rank_symbols(store: &KeysetStore, used_codes: &[Vec<u32>]) -> (Vec<StoreSymbolId>, Vec<u32>) {
    let mut used = vec![false; store.symbol_count()];
    let mut mark = |symbol: StoreSymbolId| {
        if let Some(used) = used.get_mut(symbol.index()) {
            *used = true;
        }
    };
    for (key, codes) in store.keys().as_slice().iter().zip(used_codes) {
        let mut any = false;
        for (&value, &code) in key.values.iter().zip(codes) {
            if code != UNUSED {
                mark(value);
                any = true;
            }
        }
        if any {
            mark(key.name);
        }
    }

    // The first 8 bytes are next to the id: most comparisons end there and read no text.
    let text = |id: u32| store.symbols().text(id).as_bytes();
    let first_bytes = |id: u32| {
        let mut first = [0; 8];
        first.iter_mut().zip(text(id)).for_each(|(to, &from)| *to = from);
        u64::from_be_bytes(first)
    };
    let used_ids = (0u32..).zip(&used).filter(|&(_, &used)| used).map(|(id, _)| id);
    let mut sorted: Vec<(u64, u32)> = used_ids.map(|id| (first_bytes(id), id)).collect();
    sorted.sort_unstable_by(|left, right| left.0.cmp(&right.0).then_with(|| text(left.1).cmp(text(right.1))));

    let mut ranks = vec![UNUSED; used.len()];
    for (rank, &(_, id)) in (0u32..).zip(&sorted) {
        if let Some(place) = ranks.get_mut(id as usize) {
            *place = rank;
        }
    }
    (sorted.into_iter().map(|(_, id)| StoreSymbolId(id)).collect(), ranks)
}

/// Returns the used values of a key in order of the block's symbols. `codes` contains 0 for the used codes, which
/// become their ranks.
fn rank_values(codes: &mut [u32], values: &[StoreSymbolId], rank: impl Fn(StoreSymbolId) -> u32) -> Vec<u32> {
    let used = codes.iter().zip(values).enumerate().filter(|&(_, (&code, _))| code != UNUSED);
    let mut sorted: Vec<(u32, usize)> = used.map(|(code, (_, &symbol))| (rank(symbol), code)).collect();
    sorted.sort_unstable();
    for (rank, &(_, code)) in (0u32..).zip(&sorted) {
        if let Some(place) = codes.get_mut(code) {
            *place = rank;
        }
    }
    sorted.into_iter().map(|(symbol, _)| symbol).collect()
}
