//! Memory of a job, from the counts of its inputs' catalogues.

use chronoxide_store::Counts;

use crate::memory::LEAST_MEMORY;

/// Bytes per unit, each the sum of what all steps hold at once; see `memory.rs` for its parts.
const SYMBOL: u64 = 104;
const VALUE: u64 = 68;
const INNER_ROW: u64 = 76;
const INNER_CODE: u64 = 18;
const LIST: u64 = 152;
const MEMBER_BYTE: u64 = 4;
const METRIC_BYTE: u64 = 36;
/// Bytes per series and per code of the largest keyset, whose rows may be translated.
const TRANSLATED: u64 = 48;
const TRANSLATED_CODE: u64 = 12;
/// Bytes per code of rows that a plan is learned from.
const PLANNED_CODE: u64 = 16;
/// Most series whose rows are held to learn a plan.
const PLANNED_SERIES: u64 = crate::PLANNED_SERIES as u64;

/// Memory that one input adds to a job, in two parts: labels, which do not shrink when series are spread over shards,
/// and the rest, which does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InputMemory {
    pub(super) labels: u64,
    pub(super) rows: u64,
}

impl InputMemory {
    pub(super) fn from_counts(counts: &Counts, series: u64, is_archive: bool) -> Self {
        let arenas = 1 + u64::from(counts.is_packed) + 2 * u64::from(is_archive);
        let labels = (counts.arena_len * arenas)
            .saturating_add(counts.symbols * SYMBOL + counts.values * VALUE + counts.metric_bytes * METRIC_BYTE);
        let translated = counts.largest_keyset.saturating_mul(TRANSLATED + TRANSLATED_CODE * counts.largest_width);
        // Learned from all rows, or from a sample of them.
        let planned = counts.codes / series.max(1) * series.min(PLANNED_SERIES);
        let rows = translated
            .saturating_add(counts.inner_rows * INNER_ROW + counts.inner_codes * INNER_CODE)
            .saturating_add(counts.inner_labels * 4)
            .saturating_add(counts.lists * LIST + counts.member_bytes * MEMBER_BYTE)
            .saturating_add(planned * PLANNED_CODE);
        Self { labels, rows }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { labels: self.labels.saturating_add(other.labels), rows: self.rows.saturating_add(other.rows) }
    }

    /// Returns the memory of a job that reads the inputs whole.
    pub(super) fn job(self) -> u64 {
        (LEAST_MEMORY as u64).saturating_add(self.labels).saturating_add(self.rows)
    }

    /// Returns the memory of a job that reads one of several shards. Shards differ in size: the largest counts as twice
    /// the mean.
    pub(super) fn shard(self, shards: u32) -> u64 {
        let rows = self.rows.saturating_mul(2) / u64::from(shards.max(2));
        Self { rows, ..self }.job()
    }
}

/// Returns the memory of a job that merges blocks with these counts and numbers of series, in bytes: an estimate that
/// is meant to be too large.
#[must_use]
pub fn memory_of<'a>(blocks: impl IntoIterator<Item = (&'a Counts, u64)>, is_archive: bool) -> u64 {
    let of_block = |(counts, series)| InputMemory::from_counts(counts, series, is_archive);
    blocks.into_iter().map(of_block).fold(InputMemory::default(), InputMemory::and).job()
}
