//! Estimates the memory of a compaction: from the catalogues of its inputs before it begins, and from what is merged
//! before each further step. Estimates are approximate maxima in bytes. Pages of mapped files are not counted: the
//! system can drop them.

use chronoxide_format::KeyId;
use chronoxide_format::identity::Fingerprint;
use chronoxide_format::layout::SectionKind;
use chronoxide_format::view::{BlockView, Keyset};
use chronoxide_planner::KeysetPlan;

use crate::compact::{Planning, sampled_series};
use crate::error::InInput;
use crate::merge::{Adopted, MergedKeyset, MergedLists, MergedTables, MoreRows, Vocabulary, inner_tables, table};
use crate::{CompactError, CompactOptions, SCRATCH_MEMORY};

/// Memory per symbol of an input while arenas are merged: two references, and two positions in the merged symbols.
const INPUT_SYMBOL: u64 = 40;
/// Memory per value of an input while dictionaries are merged: symbol, merged code, and two positions in the sort.
const INPUT_VALUE: u64 = 16;
/// Memory per merged symbol: reference, new number, hash, and end in the output, in vectors that grow.
const SYMBOL: u64 = 64;
/// Memory per merged value: symbol, fingerprint, new number, and all of them again in the output.
const VALUE: u64 = 48;
/// Memory per row of an input's shared table while tables are merged: reference in the sort, and merged row.
const INPUT_ROW: u64 = 20;
/// Memory per code of such a row: in the codes of the outputs.
const INPUT_CODE: u64 = 4;
/// Memory per merged row of a shared table: fingerprint, new number, and fingerprint in the output.
const ROW: u64 = 40;
/// Memory per code of a merged row: in the merged table, in the output, and packed.
const CODE: u64 = 10;
/// Memory per additional row of a shared table, besides its codes: entry in a hash table, and vector.
const MORE_ROW: u64 = 40;
/// Memory per list: end, fingerprint, entry in a hash table, and merged number.
const LIST: u64 = 40;
/// Memory per list of an output: position in the sort, two numbers, end, and properties in the builder.
const OUTPUT_LIST: u64 = 72;
/// Memory per byte of encoded lists in an output: encoded again, and packed.
const OUTPUT_LIST_BYTE: u64 = 2;
/// Memory per code of a planned row: read, sorted, factored, packed.
const PLANNED: u64 = 16;
/// Memory per code of a sampled row: read from several inputs, in the sample, the content that a plan is learned from,
/// and the content that plans are judged by, factored.
const SAMPLED: u64 = 40;
/// Memory per row of metric metadata: entry in the merged set, and record in the output.
const METRIC: u64 = 256;
/// Memory per byte of metric metadata: copied, kept as text, and written.
const METRIC_TEXT: u64 = 4;
/// Memory per byte of metric metadata that were not decoded, for their rows, which are not known: one in 16 bytes.
const PACKED_METRIC: u64 = METRIC / 16;
/// Memory of rows that are being merged, and of the program.
const WORK: u64 = 96 << 20;

/// Memory that every merge to a file needs, as [`CompactOptions::memory_limit`] counts it, in bytes.
pub const LEAST_MEMORY: usize = WORK as usize + SCRATCH_MEMORY;

/// Memory per translated series, besides its codes: position in the sort, and overlap.
const TRANSLATED: u64 = 48;

/// Memory per series of a remap, besides its codes: target, and the candidate encodings.
const REMAPPED: u64 = 120;

/// Refuses a merge that could exceed the memory limit. A later step may find that it needs more than an earlier one.
pub(crate) fn check(needed: u64, options: &CompactOptions) -> Result<(), CompactError> {
    match options.memory_limit.map(|limit| limit as u64) {
        Some(limit) if needed > limit => Err(CompactError::Memory { needed, limit }),
        _ => Ok(()),
    }
}

/// Returns the memory for translating a keyset, whose rows change their order and are sorted.
pub(crate) fn translation(adopted: &Adopted) -> u64 {
    let of_keyset =
        |(keyset, choice): (&MergedKeyset, &KeysetPlan)| translated_bytes(keyset.translated, choice.width() as u64);
    adopted.keysets.iter().zip(&adopted.plan.keysets).map(of_keyset).max().unwrap_or(0)
}

/// Returns the memory of merged symbols and dictionaries, in the merge and in an output.
pub(crate) fn vocabulary(vocabulary: &Vocabulary<'_>) -> u64 {
    let arena: usize = vocabulary.symbols.iter().map(|symbol| symbol.len()).sum();
    let values: usize = vocabulary.keys.iter().map(|key| key.values.len()).sum();
    let codes: usize = vocabulary.code_maps.iter().flatten().map(Vec::len).sum();
    arena as u64 + vocabulary.symbols.len() as u64 * SYMBOL + values as u64 * VALUE + (codes * size_of::<u32>()) as u64
}

/// Returns the sum over all inputs.
fn sum(
    inputs: &[BlockView<'_>],
    of_input: impl Fn(usize, &BlockView<'_>) -> chronoxide_format::Result<u64>,
) -> Result<u64, CompactError> {
    let inputs = inputs.iter().enumerate();
    inputs
        .map(|(input, view)| of_input(input, view).in_input(input))
        .try_fold(0_u64, |sum, of_input| Ok(sum.saturating_add(of_input?)))
}

/// Returns the memory of the labels of inner tables' rows, which translations read.
pub(crate) fn label_rows(
    inputs: &[BlockView<'_>],
    vocabulary: &Vocabulary<'_>,
    adopted: &Adopted,
) -> Result<u64, CompactError> {
    let mut is_translated = vec![false; inputs.len()];
    for source in adopted.keysets.iter().flat_map(|keyset| &keyset.sources).filter(|source| !source.agrees) {
        is_translated[source.input] = true;
    }
    let bits = sum(inputs, |input, view| {
        let mut bits = 0_u64;
        for number in inner_tables(view).filter(|_| is_translated[input]) {
            let table = table(view, number)?;
            let mut of_row = 0;
            for key in table.keys()? {
                of_row += u64::from(vocabulary.value_width(vocabulary.key_maps[input][key?.0 as usize]));
            }
            bits = bits.saturating_add(of_row * u64::from(table.row_count()));
        }
        Ok(bits)
    })?;
    Ok(bits / 8)
}

/// Returns the memory for merging the shared tables of the plan.
pub(crate) fn merging_tables(
    inputs: &[BlockView<'_>],
    adopted: &Adopted,
    more: &MoreRows,
) -> Result<u64, CompactError> {
    let code = size_of::<u32>() as u64;
    let mut bytes = sum(inputs, |input, view| {
        let mut bytes = 0_u64;
        for number in inner_tables(view).filter(|&number| adopted.parts[input][number as usize].is_some()) {
            let table = table(view, number)?;
            let columns = u64::from(table.column_count());
            let of_row = INPUT_ROW + INPUT_CODE * columns + size_of::<Fingerprint>() as u64 + code * columns;
            bytes = bytes.saturating_add(of_row * u64::from(table.row_count()));
        }
        Ok(bytes)
    })?;
    for rows in more.iter().map(chronoxide_planner::InternedRows::rows) {
        let count = rows.len() as u64;
        let codes: u64 = rows.map(|row| row.len() as u64).sum();
        bytes += count * MORE_ROW + 2 * codes * code;
    }
    Ok(bytes)
}

/// Returns the memory of merged shared tables, in the merge and in an output.
pub(crate) fn tables(tables: &MergedTables) -> u64 {
    let (mut rows, mut codes) = (0_u64, 0_u64);
    for table in &tables.tables {
        rows += table.fingerprints.len() as u64;
        codes += table.rows.len() as u64;
    }
    rows * ROW + codes * CODE + (tables.mapped_rows() * size_of::<u32>()) as u64
}

/// Returns the memory of merged lists while rows are merged. Merging rows unites lists and translates others, so there
/// can be twice as many in the end.
pub(crate) fn merging_lists(lists: &MergedLists<'_>) -> u64 {
    let (count, bytes) = lists.len();
    2 * (count * LIST + bytes)
}

/// Returns the memory of merged lists in the merge and in an output.
pub(crate) fn lists(lists: &MergedLists<'_>) -> u64 {
    let (count, bytes) = lists.len();
    count * (LIST + OUTPUT_LIST) + bytes * (1 + OUTPUT_LIST_BYTE)
}

fn translated_bytes(series: u64, width: u64) -> u64 {
    series.saturating_mul(TRANSLATED + 3 * size_of::<u32>() as u64 * width)
}

/// Returns the memory that a compaction needs at all its steps. The memory of labels, tables and lists comes to it.
pub(crate) fn fixed(
    inputs: &[BlockView<'_>],
    options: &CompactOptions,
    planning: Planning,
    planned_series: u32,
) -> Result<u64, CompactError> {
    let of_inputs = sum(inputs, |_, view| of_input(view, options))?;
    let (mut series, mut codes) = (0, 0_u64);
    // Every keyset may be translated, one at a time.
    let mut translated = 0_u64;
    for (input, view) in inputs.iter().enumerate() {
        let mut largest = 0;
        for keyset in view.keysets() {
            let keyset = keyset.in_input(input)?;
            let leaves = keyset.table().leaf_count().in_input(input)?;
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
    Ok((LEAST_MEMORY as u64).saturating_add(of_inputs).saturating_add(planned))
}

/// Returns the number of series of all inputs.
pub(crate) fn series_count(inputs: &[BlockView<'_>]) -> Result<u64, CompactError> {
    sum(inputs, |_, view| Ok(view.series_count()?.into()))
}

/// Returns the bytes of all packed sections, decoded.
pub(crate) fn packed_content(inputs: &[BlockView<'_>]) -> Result<u64, CompactError> {
    sum(inputs, |_, view| Ok(view.packed()?.map_or(0, |packed| packed.content_len())))
}

/// Returns the approximate maximum of bytes for remaps: one keyset at a time for some inputs, and the refs of planned
/// rows.
pub(crate) fn remaps(inputs: &[BlockView<'_>]) -> Result<u64, CompactError> {
    let code = size_of::<u32>() as u64;
    let of_keyset = |keyset: chronoxide_format::Result<Keyset<'_, '_>>| -> chronoxide_format::Result<u64> {
        let keyset = keyset?;
        let codes = code * u64::from(keyset.table().leaf_count()?);
        Ok((REMAPPED + codes).saturating_mul(keyset.series_count().into()))
    };
    let mut largest = Vec::with_capacity(inputs.len());
    for (input, view) in inputs.iter().enumerate() {
        let of_input = view.keysets().map(of_keyset).try_fold(0, |most, bytes| bytes.map(|bytes| bytes.max(most)));
        largest.push(of_input.in_input(input)?);
    }
    largest.sort_unstable();
    let at_once = largest.iter().rev().take(rayon::current_num_threads());
    Ok(at_once.fold(series_count(inputs)?.saturating_mul(code), |bytes, &more| bytes.saturating_add(more)))
}

/// Returns the memory for merging symbols and dictionaries.
pub(crate) fn merging_labels(inputs: &[BlockView<'_>]) -> Result<u64, CompactError> {
    sum(inputs, |_, view| {
        let mut bytes = u64::from(view.symbols().count()) * INPUT_SYMBOL;
        for key in (0..view.key_count()).map(KeyId) {
            bytes = bytes.saturating_add(u64::from(view.cardinality(key)?.unwrap_or_default()) * INPUT_VALUE);
        }
        Ok(bytes)
    })
}

fn of_input(view: &BlockView<'_>, options: &CompactOptions) -> chronoxide_format::Result<u64> {
    // The view of an archive need not be decoded.
    let packed = view.packed()?;
    let packed_len = packed.map(|packed| packed.arena_len());
    let arena_len = packed_len.unwrap_or(view.symbols().arena().len() as u64);
    // The decoded arena of an archive; the frame and the section of an archive to write.
    let mut bytes = arena_len * (u64::from(packed_len.is_some()) + 2 * u64::from(options.archive));
    // Sections that may be carried: copied from the input, and held until they are written.
    for section in view.unknown_sections() {
        bytes = bytes.saturating_add(section.length.saturating_mul(2));
    }
    let packed_metrics = packed.map_or(0, |packed| packed.metrics_len());
    let metrics = view.sections().find(|section| section.known() == Some(SectionKind::MetricMetadata));
    let metrics_len = metrics.map_or(packed_metrics, |section| section.length);
    bytes += metrics_len.saturating_mul(METRIC_TEXT);
    if view.is_packed() && packed_metrics > 0 {
        return Ok(bytes.saturating_add(metrics_len.saturating_mul(PACKED_METRIC)));
    }
    for row in view.metric_metadata()?.iter() {
        // Rows share texts in the block, but not in memory.
        let row = row?;
        bytes += METRIC + (row.name.len() + row.unit.len() + row.description.len()) as u64;
    }
    Ok(bytes)
}
