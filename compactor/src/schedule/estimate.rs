//! Memory of a job, from the counts of its inputs' catalogues.

use chronoxide_locations::Counts;

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

/// Memory that some inputs add to a job: labels, which do not shrink when series are spread over shards, and rows,
/// which do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InputMemory {
    labels: u64,
    rows: u64,
    series: u64,
    /// Codes of all series.
    codes: u64,
    /// True if an input has a plan, which the output takes over.
    has_plan: bool,
}

impl InputMemory {
    pub(super) fn from_counts(counts: &Counts, series: u64, is_archive: bool) -> Self {
        let arenas = 1 + u64::from(counts.is_packed) + 2 * u64::from(is_archive);
        // Counts are read without their checksums.
        let sum = |terms: &[(u64, u64)]| {
            terms.iter().fold(0_u64, |sum, (count, size)| sum.saturating_add(count.saturating_mul(*size)))
        };
        let labels = sum(&[
            (counts.arena_len, arenas),
            (counts.symbols, SYMBOL),
            (counts.values, VALUE),
            (counts.metric_bytes, METRIC_BYTE),
        ]);
        let of_label = TRANSLATED_CODE.saturating_mul(counts.largest_width).saturating_add(TRANSLATED);
        let rows = sum(&[
            (counts.largest_keyset, of_label),
            (counts.inner_rows, INNER_ROW),
            (counts.inner_codes, INNER_CODE),
            (counts.inner_labels, 4),
            (counts.lists, LIST),
            (counts.member_bytes, MEMBER_BYTE),
        ]);
        Self { labels, rows, series, codes: counts.codes, has_plan: counts.inner_rows > 0 }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            labels: self.labels.saturating_add(other.labels),
            rows: self.rows.saturating_add(other.rows),
            series: self.series.saturating_add(other.series),
            codes: self.codes.saturating_add(other.codes),
            has_plan: self.has_plan || other.has_plan,
        }
    }

    /// Returns the memory of a job that reads the inputs whole. If `learns`, it learns a plan even if an input has one.
    pub(super) fn job(self, learns: bool) -> u64 {
        // Learned from all rows, or from a sample of them.
        let learned = (self.codes / self.series.max(1)).saturating_mul(self.series.min(PLANNED_SERIES));
        let scheduled = if learns || !self.has_plan { learned.saturating_mul(PLANNED_CODE) } else { 0 };
        (LEAST_MEMORY as u64).saturating_add(self.labels).saturating_add(self.rows).saturating_add(scheduled)
    }

    /// Returns the memory of a job that reads one of several shards. Shards differ in size: the largest counts as twice
    /// the mean.
    pub(super) fn shard(self, shards: u32, learns: bool) -> u64 {
        let shard = |all: u64| all.saturating_mul(2) / u64::from(shards.max(2));
        let (rows, series, codes) = (shard(self.rows), shard(self.series), shard(self.codes));
        Self { rows, series, codes, ..self }.job(learns)
    }
}
