//! Estimates the memory of a compaction from the catalogues of its inputs, before it begins.

use chronoxide_format::layout::SectionKind;
use chronoxide_format::view::{BlockView, Keyset};
use chronoxide_format::{KeyId, TableId};
use chronoxide_planner::KeysetPlan;

use crate::compact::{Planning, sampled_series};
use crate::merge::{Adopted, MergedKeyset};
use crate::{CompactError, CompactOptions, SCRATCH_MEMORY};

/// Memory per symbol: position in the input arena, two remap entries, hash, and end offset in the output.
const SYMBOL: u64 = 64;
/// Memory per value: old and new number, fingerprint in the merge and in the builder, entries in sets.
const VALUE: u64 = 56;
/// Memory per row of a shared table, besides its codes: as per value.
const ROW: u64 = 56;
/// Memory per code of a row of a shared table: read, translated, sorted, and written.
const CODE: u64 = 24;
/// Memory per list: end, fingerprint and entry in a hash table, for itself and for its union with others, and the set
/// of united lists with its union and overlap.
const LIST: u64 = 160;
/// Memory per member of a list, encoded: in a list, in a union, in the lists of the output, and packed.
const MEMBER: u64 = 12;
/// Memory per code of a planned row: read, sorted, factored, packed.
const PLANNED: u64 = 16;
/// Memory per code of a sampled row: read from several inputs, in the sample, the content that a plan is learned from,
/// and the content that plans are judged by, factored.
const SAMPLED: u64 = 40;
/// Memory per row of metric metadata: entry in the merged set, and record in the output.
const METRIC: u64 = 256;
/// Memory per byte of metric metadata: copied, kept as text, and written.
const METRIC_TEXT: u64 = 4;
/// Memory of rows that are being merged, and of the program.
const WORK: u64 = 96 << 20;

/// Memory per translated series, besides its codes: position in the sort, and overlap.
const TRANSLATED: u64 = 48;

/// Memory per series of a remap, besides its codes: target, and the candidate encodings.
const REMAPPED: u64 = 120;

/// Refuses a merge that could exceed the memory limit.
pub(crate) fn check(needed: u64, options: &CompactOptions) -> Result<(), CompactError> {
    match options.memory_limit.map(|limit| limit as u64) {
        Some(limit) if needed > limit => Err(CompactError::Memory { needed, limit }),
        _ => Ok(()),
    }
}

/// Returns the approximate maximum of bytes for translating a keyset, whose rows change their order and are sorted.
pub(crate) fn translation(adopted: &Adopted) -> u64 {
    let of_keyset =
        |(keyset, choice): (&MergedKeyset, &KeysetPlan)| translated_bytes(keyset.translated, choice.width() as u64);
    adopted.keysets.iter().zip(&adopted.plan.keysets).map(of_keyset).max().unwrap_or(0)
}

fn translated_bytes(series: u64, width: u64) -> u64 {
    series.saturating_mul(TRANSLATED + 3 * size_of::<u32>() as u64 * width)
}

/// Returns the approximate maximum of bytes for merging these blocks, without [`translation`].
pub(crate) fn needed(
    inputs: &[BlockView<'_>],
    options: &CompactOptions,
    planning: Planning,
    planned_series: u32,
) -> Result<u64, CompactError> {
    let mut bytes = WORK + SCRATCH_MEMORY as u64;
    let (mut series, mut codes) = (0, 0_u64);
    // Every keyset may be translated, one at a time.
    let mut translated = 0_u64;
    for (input, view) in inputs.iter().enumerate() {
        let at = |source| CompactError::Input { input, source };
        bytes = bytes.saturating_add(input_memory(view, options).map_err(at)?);
        let mut largest = 0;
        for keyset in view.keysets() {
            let keyset = keyset.map_err(at)?;
            let leaves = keyset.table().leaf_count().map_err(at)?;
            largest = largest.max(translated_bytes(keyset.series_count().into(), leaves.into()));
            series += u64::from(keyset.series_count());
            codes = codes.saturating_add(u64::from(keyset.series_count()) * u64::from(leaves));
        }
        translated = translated.saturating_add(largest);
    }
    let planned = match planning {
        Planning::Plain | Planning::Adopted => 0,
        Planning::Whole => codes.saturating_mul(PLANNED),
        Planning::Sampled => {
            let codes = codes / series.max(1) * u64::from(sampled_series(planned_series));
            codes.saturating_mul(SAMPLED).saturating_add(translated)
        }
    };
    Ok(bytes.saturating_add(planned))
}

/// Returns the bytes of all packed arenas, decoded.
pub(crate) fn packed_arenas(inputs: &[BlockView<'_>]) -> Result<u64, CompactError> {
    let mut bytes = 0_u64;
    for (input, view) in inputs.iter().enumerate() {
        let packed = view.packed_arena().map_err(|source| CompactError::Input { input, source })?;
        bytes = bytes.saturating_add(packed.map_or(0, |packed| packed.arena_len()));
    }
    Ok(bytes)
}

/// Returns the approximate maximum of bytes for remaps: one keyset at a time for some inputs, and the refs of planned
/// rows.
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

fn input_memory(view: &BlockView<'_>, options: &CompactOptions) -> chronoxide_format::Result<u64> {
    // The view of an archive need not be decoded.
    let packed_len = view.packed_arena()?.map(|packed| packed.arena_len());
    let arena_len = packed_len.unwrap_or(view.symbols().arena().len() as u64);
    let mut bytes = u64::from(view.symbols().count()) * SYMBOL + arena_len;
    // The decoded arena of an archive; the frame and the section of an archive to write.
    bytes += arena_len * (u64::from(packed_len.is_some()) + 2 * u64::from(options.archive));
    for key in (0..view.key_count()).map(KeyId) {
        bytes += u64::from(view.cardinality(key)?.unwrap_or_default()) * VALUE;
    }
    for table in view.key_count()..view.table_count() - view.keyset_count() {
        let Some(table) = view.table(TableId(table))? else { break };
        bytes += u64::from(table.row_count()) * (ROW + CODE * u64::from(table.column_count()));
    }
    for pool in view.pools() {
        let pool = pool?;
        bytes += u64::from(pool.list_count()) * LIST + u64::from(pool.member_count()) * MEMBER;
    }
    let metrics = view.sections().find(|section| section.known() == Some(SectionKind::MetricMetadata));
    bytes += metrics.map_or(0, |section| section.length.saturating_mul(METRIC_TEXT));
    for row in view.metric_metadata()?.iter() {
        // Rows share texts in the block, but not in memory.
        let row = row?;
        bytes += METRIC + (row.name.len() + row.unit.len() + row.description.len()) as u64;
    }
    Ok(bytes)
}
