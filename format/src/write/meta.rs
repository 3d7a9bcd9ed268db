//! Metadata of the block that the writer provides (spec, section 10).

use std::sync::Arc;

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{I64, U16, U32, U64};

use super::{BuildError, PackedColumn, SectionBytes};
use crate::identity::{BlockId, Fingerprint};
use crate::layout::{MAX_META_LEN, MetaHeader, PairHeader, RowForm, TIME_KNOWN, WINDOW_KNOWN};
use crate::metadata::MetricSet;
use crate::number::length;
use crate::policy::LabelPolicy;
use crate::view::{Job, TimeRange};

/// Metadata of a block that its content does not imply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockMeta {
    /// Time range of the data, if known.
    pub time: Option<TimeRange>,
    /// Window that the block was cut for, if any.
    pub window: Option<TimeRange>,
    /// Job that writes the block, if any.
    pub job: Option<Job>,
    /// Ids of the blocks that this one was merged from, in increasing order.
    pub parents: Vec<BlockId>,
    /// Origins of the parents that may still exist, in increasing order.
    pub ancestors: Vec<BlockId>,
    /// Labels of the block as a whole, in increasing order of keys. Values must not be empty.
    pub external_labels: Vec<(String, String)>,
    /// Annotations of a user, in increasing order of keys.
    pub annotations: Vec<(String, String)>,
    /// Type, unit and description of the block's metrics. Part of its id, not of its fingerprint.
    pub metrics: MetricSet,
    /// Series columns, in any order: each has a value or none for each series of the block, in the order of refs.
    pub columns: Vec<PackedColumn>,
    /// Length limits of labels.
    pub policy: LabelPolicy,
    /// The version of the planner that chose the tables; 0 for none.
    pub planner_version: u32,
    /// True if strings and metric metadata are packed: the block is an archive. Not part of the meta section.
    pub archive: bool,
    /// Unknown optional sections of the block that this one takes the place of. Not part of the meta section.
    pub carried: Option<Arc<CarriedSections>>,
}

/// Sections of another block that may be copied to a block of the same series with the same catalogue (LIFECYCLE.md,
/// section 4). A block that differs does not get them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedSections {
    /// The catalogue section of the other block.
    pub catalogue: Vec<u8>,
    /// The fingerprint of its content.
    pub fingerprint: Fingerprint,
    /// The sections.
    pub sections: Vec<SectionBytes>,
}

impl Default for BlockMeta {
    /// Returns metadata with nothing known and nothing cut.
    fn default() -> Self {
        Self {
            time: None,
            window: None,
            job: None,
            parents: Vec::new(),
            ancestors: Vec::new(),
            external_labels: Vec::new(),
            annotations: Vec::new(),
            metrics: MetricSet::new(),
            columns: Vec::new(),
            policy: LabelPolicy::NONE,
            planner_version: 0,
            archive: false,
            carried: None,
        }
    }
}

/// Counts and fingerprint of the content.
pub(super) struct Content {
    pub series_count: u64,
    pub label_count: u64,
    pub fingerprint: Fingerprint,
    pub row_form: RowForm,
}

impl BlockMeta {
    /// Returns the meta section.
    pub(super) fn encode(&self, content: &Content) -> Result<Vec<u8>, BuildError> {
        increasing("parents", &self.parents)?;
        increasing("ancestors", &self.ancestors)?;
        if self.ancestors.iter().any(|ancestor| self.parents.binary_search(ancestor).is_ok()) {
            return Err(BuildError::MetaOrder { what: "ancestors that are not parents" });
        }
        let [first, second] = content.fingerprint.to_parts();
        let (time_start, time_end) = range(self.time)?;
        let (window_start, window_end) = range(self.window)?;
        let job = self.job.unwrap_or(Job { id: [0; 16], output: 0, output_count: 0 });
        if self.job.is_some_and(|job| job.output >= job.output_count || job.id == [0; 16]) {
            return Err(BuildError::Job { output: job.output, output_count: job.output_count });
        }
        let flags =
            if self.time.is_some() { TIME_KNOWN } else { 0 } | if self.window.is_some() { WINDOW_KNOWN } else { 0 };
        let header = MetaHeader {
            series_count: U64::new(content.series_count),
            label_count: U64::new(content.label_count),
            fingerprint_1: U64::new(first),
            fingerprint_2: U64::new(second),
            time_start,
            time_end,
            window_start,
            window_end,
            job_id: job.id,
            job_output: U32::new(job.output),
            job_output_count: U32::new(job.output_count),
            parent_count: count("parents", self.parents.len())?,
            ancestor_count: count("ancestors", self.ancestors.len())?,
            external_label_count: count("external labels", self.external_labels.len())?,
            annotation_count: count("annotations", self.annotations.len())?,
            max_name_len: U32::new(self.policy.max_name_len()),
            max_value_len: U32::new(self.policy.max_value_len()),
            planner_version: U32::new(self.planner_version),
            row_form: content.row_form.code(),
            flags,
            reserved: U16::new(0),
        };
        let mut section = header.as_bytes().to_vec();
        for BlockId(id) in self.parents.iter().chain(&self.ancestors) {
            section.extend_from_slice(id);
        }
        if let Some((name, _)) = self.external_labels.iter().find(|(_, value)| value.is_empty()) {
            return Err(BuildError::EmptyExternalLabel { name: name.clone() });
        }
        push_pairs("external labels", &self.external_labels, &mut section)?;
        push_pairs("annotations", &self.annotations, &mut section)?;
        if length(section.len()) > MAX_META_LEN {
            return Err(BuildError::MetaLen { len: section.len() });
        }
        Ok(section)
    }
}

fn count(what: &'static str, count: usize) -> Result<U32, BuildError> {
    u32::try_from(count).map(U32::new).map_err(|_| BuildError::TooMany { what, limit: u32::MAX })
}

fn increasing<T: Ord>(what: &'static str, items: &[T]) -> Result<(), BuildError> {
    if items.is_sorted_by(|a, b| a < b) { Ok(()) } else { Err(BuildError::MetaOrder { what }) }
}

fn range(range: Option<TimeRange>) -> Result<(I64, I64), BuildError> {
    match range {
        Some(TimeRange { start, end }) if start >= end => Err(BuildError::Time { start, end }),
        Some(TimeRange { start, end }) => Ok((I64::new(start), I64::new(end))),
        None => Ok((I64::new(0), I64::new(0))),
    }
}

fn push_pairs(what: &'static str, pairs: &[(String, String)], section: &mut Vec<u8>) -> Result<(), BuildError> {
    let keys: Vec<&str> = pairs.iter().map(|(key, _)| key.as_str()).collect();
    increasing(what, &keys)?;
    for (key, value) in pairs {
        let len = |text: &str| u16::try_from(text.len()).map(U16::new).map_err(|_| BuildError::MetaOrder { what });
        if key.is_empty() {
            return Err(BuildError::MetaOrder { what });
        }
        section.extend_from_slice(PairHeader { key_len: len(key)?, value_len: len(value)? }.as_bytes());
        section.extend_from_slice(key.as_bytes());
        section.extend_from_slice(value.as_bytes());
    }
    Ok(())
}
