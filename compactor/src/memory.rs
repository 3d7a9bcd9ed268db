//! How much memory a compaction takes at most, told from the inputs' catalogues before it begins.

use chronoxide_format::view::BlockView;
use chronoxide_format::{KeyId, PoolId, Result, TableId};
use chronoxide_planner::Layout;

use crate::{CompactError, CompactOptions, SCRATCH_MEMORY};

/// Of a symbol: its place in the arenas that are united, two numbers, its hash, its end in the output.
const SYMBOL: u64 = 64;
/// Of a value: its numbers before and after, its fingerprint here and in the builder, its place in sets.
const VALUE: u64 = 56;
/// Of a row of a shared table, besides its codes: the same.
const ROW: u64 = 56;
/// Of a code of a row of a shared table: as it was, as it is, sorted, and written.
const CODE: u64 = 24;
/// Of a list: its end, its fingerprint, its place in tables, unions with others.
const LIST: u64 = 160;
/// Of a member: as it was, and in the output.
const MEMBER: u64 = 12;
/// Of a code of a row that is planned: read, sorted, factored, packed.
const PLANNED: u64 = 16;
/// Rows in work, and the program itself.
const WORK: u64 = 96 << 20;

/// Bytes that merging these blocks takes at most, about.
pub(crate) fn needed(inputs: &[BlockView<'_>], options: &CompactOptions, replan: bool) -> Result<u64, CompactError> {
    // Lists are united pair by pair: each level of pairs may have all members once more.
    let levels = 1 + u64::from(inputs.len().max(1).ilog2());
    let mut bytes = WORK + SCRATCH_MEMORY as u64;
    for (input, view) in inputs.iter().enumerate() {
        let of_input =
            of_input(view, levels, options, replan).map_err(|source| CompactError::Input { input, source })?;
        bytes = bytes.saturating_add(of_input);
    }
    Ok(bytes)
}

fn of_input(view: &BlockView<'_>, levels: u64, options: &CompactOptions, replan: bool) -> Result<u64> {
    let mut bytes = u64::from(view.symbols().count()) * SYMBOL + view.symbols().arena().len() as u64;
    for key in (0..view.key_count()).map(KeyId) {
        bytes += u64::from(view.dictionary(key)?.row_count()) * VALUE;
    }
    for table in view.key_count()..view.table_count() - view.keyset_count() {
        let table = view.table(TableId(table))?;
        bytes += u64::from(table.row_count()) * (ROW + CODE * u64::from(table.column_count()));
    }
    for pool in (0..view.pool_count()).map(PoolId) {
        let pool = view.pool(pool)?;
        bytes += levels * (u64::from(pool.list_count()) * LIST + u64::from(pool.member_count()) * MEMBER);
    }
    if options.layout == Layout::Factored && replan {
        for keyset in 0..view.keyset_count() {
            let keyset = view.keyset(keyset)?;
            bytes += u64::from(keyset.series_count()) * u64::from(keyset.table().leaf_count()?) * PLANNED;
        }
    }
    Ok(bytes)
}
