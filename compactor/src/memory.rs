//! How much memory a compaction takes at most, told from the inputs' catalogues before it begins.

use chronoxide_format::layout::SectionKind;
use chronoxide_format::view::{BlockView, Keyset};
use chronoxide_format::{KeyId, TableId};
use chronoxide_planner::{KeysetPlan, Layout};

use crate::merge::{Adopted, MergedKeyset};
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
/// Of a row of metric metadata: its place among those of all inputs, and its record in the output.
const METRIC: u64 = 256;
/// Of a byte of metric metadata: copied, kept as a text, and written.
const METRIC_TEXT: u64 = 4;
/// Rows in work, and the program itself.
const WORK: u64 = 96 << 20;

/// Of a series that is translated, besides its codes: its place among those that are sorted, and what it has in common with others.
const TRANSLATED: u64 = 48;

/// Of a series whose place in the outputs is looked for, besides its codes: where it is, and the ways to write that.
const REMAPPED: u64 = 120;

/// Refuses what could take more memory than it may.
pub(crate) fn check(needed: u64, options: &CompactOptions) -> Result<(), CompactError> {
    match options.memory_limit.map(|limit| limit as u64) {
        Some(limit) if needed > limit => Err(CompactError::Memory { needed, limit }),
        _ => Ok(()),
    }
}

/// Bytes that translating a keyset takes at most, about: its rows come in another order, and are sorted before they are merged.
pub(crate) fn translation(adopted: &Adopted) -> u64 {
    let of_keyset = |(keyset, choice): (&MergedKeyset, &KeysetPlan)| {
        keyset.translated.saturating_mul(TRANSLATED + 3 * size_of::<u32>() as u64 * choice.width() as u64)
    };
    adopted.keysets.iter().zip(&adopted.plan.keysets).map(of_keyset).max().unwrap_or(0)
}

/// Bytes that merging these blocks takes at most, about, besides [`translation`].
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

/// Bytes that finding the series of the inputs in the outputs takes at most, about: one keyset at a time for each of some inputs, and what the planner made of each row.
pub(crate) fn remaps(inputs: &[BlockView<'_>]) -> Result<u64, CompactError> {
    let mut largest = Vec::with_capacity(inputs.len());
    let mut series = 0_u64;
    for (input, view) in inputs.iter().enumerate() {
        let of_keyset = |keyset: chronoxide_format::Result<Keyset<'_, '_>>| -> chronoxide_format::Result<u64> {
            let keyset = keyset?;
            let codes = size_of::<u32>() as u64 * u64::from(keyset.table().leaf_count()?);
            Ok((REMAPPED + codes).saturating_mul(keyset.series_count().into()))
        };
        let of_input = view.keysets().map(of_keyset).try_fold(0, |most, bytes| bytes.map(|bytes| bytes.max(most)));
        largest.push(of_input.map_err(|source| CompactError::Input { input, source })?);
        let count = view.series_count().map_err(|source| CompactError::Input { input, source })?;
        series = series.saturating_add(count.into());
    }
    largest.sort_unstable();
    let at_once = largest.iter().rev().take(rayon::current_num_threads());
    Ok(at_once.fold(series.saturating_mul(size_of::<u32>() as u64), |bytes, &more| bytes.saturating_add(more)))
}

fn of_input(
    view: &BlockView<'_>,
    levels: u64,
    options: &CompactOptions,
    replan: bool,
) -> chronoxide_format::Result<u64> {
    let mut bytes = u64::from(view.symbols().count()) * SYMBOL + view.symbols().arena().len() as u64;
    for key in (0..view.key_count()).map(KeyId) {
        bytes += u64::from(view.cardinality(key)?.unwrap_or_default()) * VALUE;
    }
    for table in view.key_count()..view.table_count() - view.keyset_count() {
        let Some(table) = view.table(TableId(table))? else { break };
        bytes += u64::from(table.row_count()) * (ROW + CODE * u64::from(table.column_count()));
    }
    for pool in view.pools() {
        let pool = pool?;
        bytes += levels * (u64::from(pool.list_count()) * LIST + u64::from(pool.member_count()) * MEMBER);
    }
    let metrics = view.sections().find(|section| section.known() == Some(SectionKind::MetricMetadata));
    bytes += metrics.map_or(0, |section| section.length.saturating_mul(METRIC_TEXT));
    for row in view.metric_metadata()?.iter() {
        // Rows share texts in the block, but not in memory.
        let row = row?;
        bytes += METRIC + (row.name.len() + row.unit.len() + row.description.len()) as u64;
    }
    if options.layout == Layout::Factored && replan {
        for keyset in view.keysets() {
            let keyset = keyset?;
            bytes += u64::from(keyset.series_count()) * u64::from(keyset.table().leaf_count()?) * PLANNED;
        }
    }
    Ok(bytes)
}
