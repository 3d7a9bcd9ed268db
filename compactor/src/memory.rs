//! Memory of a merge, from the catalogues of its inputs. Pages of mapped files are not counted: the system can drop
//! them.

use chronoxide_format::view::BlockView;
use chronoxide_locations::Counts;
use chronoxide_planner::KeysetPlan;

use crate::compact::{Planning, sampled_series};
use crate::error::InInput;
use crate::merge::{Adopted, MergedKeyset};
use crate::{CompactError, CompactOptions, PLANNED_SERIES, SCRATCH_MEMORY};

// Bytes per unit, each the maximum of what a step holds at once.

/// Symbol: two references and two positions while arenas are merged; then reference, new number, hash, and end in the
/// output.
const SYMBOL: u64 = 104;
/// Value: symbol, merged code, and two positions while dictionaries are merged; then symbol, fingerprint, new number,
/// and all of them again in the output.
const VALUE: u64 = 68;
/// Row of a shared table: merged row, fingerprint, new number, and fingerprint in the output.
const INNER_ROW: u64 = 48;
/// Code of such a row: in the merged table, in the output, and packed.
const INNER_CODE: u64 = 10;
/// Label of such a row, for translations.
const INNER_LABEL: u64 = 4;
/// List: end, fingerprint, entry in a hash table, and merged number; then position in the sort, two numbers, end, and
/// properties in the output. Uniting and translating lists can double them before.
const LIST: u64 = 112;
/// Byte of encoded lists: merged, encoded again, and packed.
const MEMBER_BYTE: u64 = 3;
/// Byte of metric metadata: copied, kept as text, and written, in rows that take 256 for 16 or more.
const METRIC_BYTE: u64 = 20;
/// Byte of a section that is carried to the output: copied, and held until it is written.
const CARRIED_BYTE: u64 = 2;
/// Translated series: position in the sort, and overlap.
const TRANSLATED: u64 = 48;
/// Code of a translated series.
const TRANSLATED_CODE: u64 = 12;
/// Code of a row that a plan is learned from: read, sorted, factored, packed.
const PLANNED_CODE: u64 = 16;
/// Code of a sampled row: read from several inputs, in the sample, the content that a plan is learned from, and the
/// content that plans are judged by, factored.
const SAMPLED_CODE: u64 = 40;
/// Series whose targets are known, for remaps and columns, besides its codes: target, and the candidate encodings.
const REMAPPED: u64 = 120;
/// Value of a series column in a keyset that is in memory: a number, or a reference to a text, in grown vectors.
const VALUE_AT_ONCE: u64 = 32;
/// Value of a series column: what it can take more in the output than in its input.
const COLUMN_VALUE: u64 = 2;
/// Byte of a series column: packed, in vectors that grow, and in the section.
const COLUMN_BYTE: u64 = 3;
/// Number of an output's series whose values are in memory at a time, apart from those of a larger keyset.
pub(crate) const SERIES_AT_ONCE: u64 = 1 << 20;
/// Rows that are being merged, and the program.
const WORK: u64 = 96 << 20;

/// Memory that every merge to a file needs, as [`CompactOptions::memory_limit`] counts it, in bytes.
pub const LEAST_MEMORY: usize = WORK as usize + SCRATCH_MEMORY;

/// Steps of a merge that take memory besides labels, tables and lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    pub planning: Planning,
    /// Maximum number of series that a plan is learned from.
    pub planned_series: u32,
    pub has_outputs: bool,
    pub has_remaps: bool,
    /// True if series of several keysets can become one.
    pub is_changing: bool,
}

/// Part of some inputs in the memory of a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InputMemory {
    /// Bytes that do not shrink when series are spread over shards.
    labels: u64,
    /// Bytes of shared tables and lists.
    rows: u64,
    /// Bytes of the largest keysets, if all are translated.
    translated: u64,
    /// Series of the largest keysets.
    largest_keysets: u64,
    /// Bytes of the targets of a keyset's series.
    targets: u64,
    series: u64,
    /// Codes of all series.
    codes: u64,
    columns: u64,
    column_bytes: u64,
    /// Bytes that one of the inputs takes, if the others are like it.
    of_one: u64,
    /// True if an input has a plan, which the output takes over.
    has_plan: bool,
}

impl InputMemory {
    /// Counts may be read without their checksums.
    pub(crate) fn from_counts(counts: &Counts, series: u64, is_archive: bool) -> Self {
        let sum = |terms: &[(u64, u64)]| {
            terms.iter().fold(0_u64, |sum, (count, size)| sum.saturating_add(count.saturating_mul(*size)))
        };
        // Decoded; the frame and the section of an archive to write.
        let arenas = 1 + u64::from(counts.is_packed) + 2 * u64::from(is_archive);
        let labels = sum(&[
            (counts.arena_len, arenas),
            (counts.symbols, SYMBOL),
            (counts.values, VALUE),
            (counts.metric_bytes, METRIC_BYTE),
            (counts.carried_bytes, CARRIED_BYTE),
        ]);
        let rows = sum(&[
            (counts.inner_rows, INNER_ROW),
            (counts.inner_codes, INNER_CODE),
            (counts.lists, LIST),
            (counts.member_bytes, MEMBER_BYTE),
        ]);
        let width = counts.largest_width;
        let of_series = |bytes: u64, of_code: u64| {
            of_code.saturating_mul(width).saturating_add(bytes).saturating_mul(counts.largest_keyset)
        };
        Self {
            labels,
            rows,
            translated: of_series(TRANSLATED, TRANSLATED_CODE)
                .saturating_add(counts.inner_labels.saturating_mul(INNER_LABEL)),
            largest_keysets: counts.largest_keyset,
            targets: of_series(REMAPPED, 4),
            series,
            codes: counts.codes,
            columns: counts.columns,
            column_bytes: sum(&[(counts.column_bytes, COLUMN_BYTE), (counts.column_text_bytes, 1)]),
            of_one: labels.saturating_add(rows) / 2,
            has_plan: counts.inner_rows > 0,
        }
    }

    /// Reads the catalogues of blocks, which need not be verified.
    ///
    /// # Errors
    /// A block is damaged.
    pub(crate) fn of_views(views: &[BlockView<'_>], is_archive: bool) -> Result<Self, CompactError> {
        let mut all = Self::default();
        for (input, view) in views.iter().enumerate() {
            let counts = Counts::from_view(view).in_input(input)?;
            all = all.and(Self::from_counts(&counts, view.series_count().in_input(input)?.into(), is_archive));
        }
        Ok(all)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            labels: self.labels.saturating_add(other.labels),
            rows: self.rows.saturating_add(other.rows),
            translated: self.translated.saturating_add(other.translated),
            largest_keysets: self.largest_keysets.saturating_add(other.largest_keysets),
            targets: self.targets.max(other.targets),
            series: self.series.saturating_add(other.series),
            codes: self.codes.saturating_add(other.codes),
            columns: self.columns.max(other.columns),
            column_bytes: self.column_bytes.saturating_add(other.column_bytes),
            of_one: self.of_one.max(other.of_one),
            has_plan: self.has_plan || other.has_plan,
        }
    }

    /// Returns the part of one of several shards. Shards differ in size: the largest counts as twice the mean.
    pub(crate) fn shard(self, shards: u32) -> Self {
        let part = |all: u64| all.saturating_mul(2) / u64::from(shards.max(2));
        Self {
            rows: part(self.rows),
            translated: part(self.translated),
            largest_keysets: part(self.largest_keysets),
            targets: part(self.targets),
            series: part(self.series),
            codes: part(self.codes),
            column_bytes: part(self.column_bytes),
            ..self
        }
    }

    pub(crate) fn series(&self) -> u64 {
        self.series
    }

    /// Returns the memory of a merge whose inputs are factored alike, so that nothing is translated.
    pub(crate) fn merge(&self, steps: &Steps) -> Need {
        let planned = match steps.planning {
            Planning::Plain | Planning::Adopted => 0,
            Planning::Whole => self.codes.saturating_mul(PLANNED_CODE),
            Planning::Sampled => (self.codes / self.series.max(1))
                .saturating_mul(self.series.min(sampled_series(steps.planned_series).into()))
                .saturating_mul(SAMPLED_CODE)
                .saturating_add(self.translated),
        };
        let has_columns = steps.has_outputs && self.columns > 0;
        let at_once = if steps.is_changing { self.series } else { self.largest_keysets };
        let at_once = at_once.max(SERIES_AT_ONCE.min(self.series)).saturating_mul(VALUE_AT_ONCE);
        let columns = match has_columns {
            true => (self.columns)
                .saturating_mul(at_once.saturating_add(self.series.saturating_mul(COLUMN_VALUE)))
                .saturating_add(self.column_bytes),
            false => 0,
        };
        // Values follow their series as remaps do: one keyset at a time for some inputs, and a number per series.
        let targets = match has_columns || steps.has_remaps {
            true => (self.targets)
                .saturating_mul(rayon::current_num_threads() as u64)
                .saturating_add(self.series.saturating_mul(4)),
            false => 0,
        };
        let most = [self.labels, self.rows, planned, columns, targets]
            .into_iter()
            .fold(LEAST_MEMORY as u64, u64::saturating_add);
        Need { least: self.of_one, most }
    }

    /// Returns the maximum memory of a job, all of whose inputs may have to be translated. If `learns`, it learns a
    /// plan even if an input has one.
    pub(crate) fn job(&self, learns: bool) -> u64 {
        let planned_series = PLANNED_SERIES;
        let planning = match learns || !self.has_plan {
            false => Planning::Adopted,
            true if self.series > planned_series.into() => Planning::Sampled,
            true => Planning::Whole,
        };
        let steps = Steps { planning, planned_series, has_outputs: true, has_remaps: false, is_changing: false };
        self.merge(&steps).most.saturating_add(self.translated)
    }
}

/// Bytes of memory that a merge needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// Certain minimum.
    pub least: u64,
    /// Approximate maximum.
    pub most: u64,
}

impl Need {
    /// Adds the translation of keysets, whose rows change their order and are sorted: one after the other.
    pub(crate) fn and_translation(self, adopted: &Adopted) -> Self {
        let of_keyset = |(keyset, choice): (&MergedKeyset, &KeysetPlan)| {
            keyset.translated.saturating_mul(TRANSLATED + TRANSLATED_CODE * choice.width() as u64)
        };
        let bytes = adopted.keysets.iter().zip(&adopted.plan.keysets).map(of_keyset).max().unwrap_or(0);
        Self { least: self.least.saturating_add(bytes / 2), most: self.most.saturating_add(bytes) }
    }

    /// Refuses a merge that could exceed the limit. In a program whose memory spills, only a merge that certainly
    /// exceeds it is refused: others are stopped when they do.
    pub(crate) fn check(self, options: &CompactOptions) -> Result<(), CompactError> {
        let compared = if chronoxide_memory::can_spill() { self.least } else { self.most };
        match options.memory_limit.map(|limit| limit as u64) {
            Some(limit) if compared > limit => Err(CompactError::Memory { needed: self.most, limit }),
            _ => Ok(()),
        }
    }
}
