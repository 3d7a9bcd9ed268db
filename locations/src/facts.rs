//! [`Facts`]: what a block says about itself, as lists and manifests hold it.

use chronoxide_format::identity::Fingerprint;
use chronoxide_format::layout::{MAX_PACKED_LEN, PACKED_ARENA, PackedHeader, RowForm, SectionKind};
use chronoxide_format::policy::LabelPolicy;
use chronoxide_format::view::{BlockView, Job, ReadOnly, Section, TimeRange};
use chronoxide_format::{KeyId, Result};
use chronoxide_reader::BlockId;
use chronoxide_reader::lineage::Lineage;
use serde::{Deserialize, Serialize};
use zerocopy::FromBytes;

use crate::text;

/// Facts that a block states in its header, meta section and catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Block id.
    #[serde(with = "text")]
    pub id: BlockId,
    /// Checksum of the header, which covers the checksums of everything else: files with one id and one header
    /// checksum are copies.
    pub header_checksum: u32,
    /// Number of series.
    pub series: u64,
    /// Fingerprint of the series, as hexadecimal digits.
    #[serde(with = "text::fingerprint")]
    pub fingerprint: Fingerprint,
    /// Time range of the data in nanoseconds since 1970: start and end, which is not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<[i64; 2]>,
    /// Window that the block was cut for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<[i64; 2]>,
    /// Job that wrote the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobFacts>,
    /// Inputs of the job.
    #[serde(default, with = "text::list", skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<BlockId>,
    /// Origins that the parents hold whole.
    #[serde(default, with = "text::list", skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<BlockId>,
    /// True if series were dropped or labels were changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_rewritten: bool,
    /// External labels, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_labels: Vec<(String, String)>,
    /// Maximum length of label names and values, in bytes.
    pub label_policy: [u32; 2],
    /// Reason why this version must not replace the block.
    #[serde(default, with = "text::read_only", skip_serializing_if = "Option::is_none")]
    pub read_only: Option<ReadOnly>,
    /// Version of the planner, 0 for plain rows.
    pub planner_version: u32,
    /// True if the fields of plain rows have whole bytes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_fixed_width: bool,
    /// Counts of the catalogue, from which the memory of a merge is estimated.
    pub counts: Counts,
}

/// Job of a block and the place of the block among its outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFacts {
    /// Id of the job, as hexadecimal digits.
    #[serde(with = "text::job")]
    pub id: [u8; 16],
    /// Number of this output, from 0.
    pub output: u32,
    /// Number of outputs.
    pub output_count: u32,
}

/// Counts of a block's catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Symbols.
    pub symbols: u64,
    /// Bytes of all symbols.
    pub arena_len: u64,
    /// True if the arena is packed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_packed: bool,
    /// Values of all dictionaries.
    pub values: u64,
    /// Rows of inner tables: maps and shared tables.
    pub inner_rows: u64,
    /// Codes of these rows.
    pub inner_codes: u64,
    /// Labels of these rows: what their codes stand for.
    pub inner_labels: u64,
    /// Lists of all pools.
    pub lists: u64,
    /// Bytes of the members section.
    pub member_bytes: u64,
    /// Codes of all series, if no row had a list.
    pub codes: u64,
    /// Series of the keyset whose series have the most codes together.
    pub largest_keyset: u64,
    /// Labels of a series of that keyset.
    pub largest_width: u64,
    /// Bytes of metric metadata.
    pub metric_bytes: u64,
    /// Bytes of optional sections that this version does not know.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub carried_bytes: u64,
    /// Series columns.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub columns: u64,
    /// Bytes of their values.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub column_bytes: u64,
    /// Bytes of the texts of columns that have dictionaries.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub column_text_bytes: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Facts {
    /// Reads the header, the meta section and the catalogue of a block.
    ///
    /// # Errors
    /// `Corrupt` if one of them is damaged.
    pub fn from_view(view: &BlockView<'_>) -> Result<Self> {
        let meta = view.meta()?;
        let lineage = Lineage::from_view(view)?;
        let pair = |range: TimeRange| [range.start, range.end];
        let mut external_labels = Vec::new();
        for label in meta.external_labels()? {
            let (name, value) = label?;
            external_labels.push((name.to_owned(), value.to_owned()));
        }
        let policy = meta.policy();
        Ok(Self {
            id: view.block_id(),
            header_checksum: header_checksum(view.bytes()),
            series: meta.series_count(),
            fingerprint: Fingerprint::from_parts(meta.fingerprint()).unwrap_or(Fingerprint::ZERO),
            time: meta.time().map(pair),
            window: meta.window().map(pair),
            job: lineage.job.map(|Job { id, output, output_count }| JobFacts { id, output, output_count }),
            parents: lineage.parents,
            ancestors: lineage.ancestors,
            is_rewritten: lineage.is_rewritten,
            external_labels,
            label_policy: [policy.max_name_len(), policy.max_value_len()],
            read_only: view.read_only(),
            planner_version: meta.planner_version(),
            is_fixed_width: view.row_form() == Some(RowForm::FixedWidth),
            counts: Counts::from_view(view)?,
        })
    }

    /// Returns the lineage.
    #[must_use]
    pub fn lineage(&self) -> Lineage {
        Lineage {
            id: self.id,
            job: self.job.map(|JobFacts { id, output, output_count }| Job { id, output, output_count }),
            parents: self.parents.clone(),
            ancestors: self.ancestors.clone(),
            series_count: self.series,
            is_read_only: self.read_only.is_some(),
            is_rewritten: self.is_rewritten,
        }
    }

    /// Returns the time range of the data.
    #[must_use]
    pub fn time_range(&self) -> Option<TimeRange> {
        self.time.map(|[start, end]| TimeRange { start, end })
    }

    /// Returns the window that the block was cut for.
    #[must_use]
    pub fn window_range(&self) -> Option<TimeRange> {
        self.window.map(|[start, end]| TimeRange { start, end })
    }

    /// Returns the label policy, or the default one if the limits are not valid, which no block has.
    #[must_use]
    pub fn policy(&self) -> LabelPolicy {
        let [name, value] = self.label_policy;
        LabelPolicy::new(name, value).unwrap_or_default()
    }
}

impl Counts {
    /// Reads the catalogue of a block.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged.
    pub fn from_view(view: &BlockView<'_>) -> Result<Self> {
        let section = |kind| view.sections().find(|section| section.known() == Some(kind));
        let len = |kind| section(kind).map_or(0, |section| section.length);
        let is_archive = view.features()[0] & PACKED_ARENA != 0;
        let content_len =
            |kind| section(kind).filter(|_| is_archive).and_then(|section| packed_content_len(view, &section));
        let mut counts = Self {
            symbols: view.symbols().count().into(),
            arena_len: content_len(SectionKind::PackedArena).unwrap_or(len(SectionKind::Arena)),
            is_packed: view.is_packed(),
            member_bytes: len(SectionKind::Members),
            metric_bytes: content_len(SectionKind::PackedMetricMetadata).unwrap_or(len(SectionKind::MetricMetadata)),
            carried_bytes: view.unknown_sections().map(|section| section.length).fold(0, u64::saturating_add),
            columns: view.column_count().into(),
            ..Self::default()
        };
        for key in (0..view.key_count()).map(KeyId) {
            counts.values += u64::from(view.cardinality(key)?.unwrap_or_default());
        }
        for table in view.tables() {
            let table = table?;
            if !table.is_dictionary() && !table.is_keyset() {
                let rows = u64::from(table.row_count());
                counts.inner_rows += rows;
                counts.inner_codes = counts.inner_codes.saturating_add(rows * u64::from(table.column_count()));
                counts.inner_labels = counts.inner_labels.saturating_add(rows * u64::from(table.leaf_count()?));
            }
        }
        for pool in view.pools() {
            counts.lists += u64::from(pool?.list_count());
        }
        for column in view.series_columns() {
            let column = column?;
            counts.column_bytes = counts.column_bytes.saturating_add(column.byte_len());
            counts.column_text_bytes = counts.column_text_bytes.saturating_add(column.text_len());
        }
        let mut largest = 0;
        for keyset in view.keysets() {
            let keyset = keyset?;
            let (series, width) = (u64::from(keyset.series_count()), u64::from(keyset.table().leaf_count()?));
            counts.codes = counts.codes.saturating_add(series * width);
            if series * width >= largest {
                largest = series * width;
                (counts.largest_keyset, counts.largest_width) = (series, width);
            }
        }
        Ok(counts)
    }
}

/// Returns the length of a packed section when it is decoded, as its header states it.
fn packed_content_len(view: &BlockView<'_>, section: &Section) -> Option<u64> {
    let bytes = view.bytes().get(usize::try_from(section.offset).ok()?..)?;
    PackedHeader::ref_from_prefix(bytes).ok().map(|(header, _)| header.content_len.get().min(MAX_PACKED_LEN))
}

/// Returns the checksum that a header states of itself.
#[must_use]
pub fn header_checksum(block: &[u8]) -> u32 {
    block.get(60..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
