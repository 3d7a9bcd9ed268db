//! Packs metric metadata (METRICS.md).

use std::collections::BTreeMap;

use zerocopy::IntoBytes;

use super::BuildError;
use super::catalogue::{count, pack, widths};
use crate::bits::BitWriter;
use crate::layout::{MAX_METRIC_TEXT_LEN, MetricsHeader};
use crate::metadata::{MetricMetadata, MetricSet};
use crate::number::length;
use crate::view::BlockView;
use crate::{Error, Result};

/// The records of a metric-metadata section, unpacked: each field is a `u64` in the order of the spec's table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricRecords {
    /// `name`, `type`, `temporality`, `monotonic`, `unit`, `description`
    pub rows: Vec<[u64; 6]>,
    /// `end`
    pub ends: Vec<[u64; 1]>,
    /// Bytes of all texts.
    pub text: Vec<u8>,
}

impl MetricRecords {
    /// Returns the records of a block; empty if it has no such section.
    ///
    /// # Errors
    /// `Corrupt` if the section is damaged.
    pub fn from_view(view: &BlockView<'_>) -> Result<Self> {
        let metrics = view.metric_metadata()?;
        macro_rules! all {
            ($array:ident) => {
                (0..metrics.$array.count)
                    .map_while(|number| metrics.$array.get(&metrics.bits, number))
                    .collect::<Result<_, Error>>()?
            };
        }
        Ok(Self { rows: all!(rows), ends: all!(ends), text: metrics.text.to_vec() })
    }

    /// Returns the records that hold these metadata.
    pub(super) fn from_set(metrics: &MetricSet) -> Result<Self, BuildError> {
        let mut numbers = BTreeMap::new();
        for MetricMetadata { name, unit, description, .. } in metrics.iter() {
            for (what, text, least) in [("name", name, 1), ("unit", unit, 0), ("description", description, 0)] {
                let len = text.len();
                if len < least || length(len) > u64::from(MAX_METRIC_TEXT_LEN) {
                    return Err(BuildError::MetricText { what, len, least });
                }
                numbers.insert(text, 0);
            }
        }
        // The empty text is number 0 and not written.
        numbers.insert("", 0);
        let mut records = Self::default();
        for ((&text, number), place) in numbers.iter_mut().zip(0..) {
            *number = place;
            if !text.is_empty() {
                records.text.extend_from_slice(text.as_bytes());
                records.ends.push([length(records.text.len())]);
            }
        }
        let number = |text| numbers.get(text).copied().unwrap_or(0);
        for row in metrics.iter() {
            records.rows.push([
                number(row.name),
                row.metric_type.code().into(),
                row.temporality.code().into(),
                row.monotonicity.code().into(),
                number(row.unit),
                number(row.description),
            ]);
        }
        Ok(records)
    }

    /// Returns the section.
    ///
    /// # Errors
    /// `TooMany` if there are more rows or texts than the format can count.
    pub fn encode(&self) -> Result<Vec<u8>, BuildError> {
        let header = MetricsHeader {
            row_count: count("rows of metric metadata", &self.rows)?,
            text_count: count("texts of metrics", &self.ends)?,
            row_widths: widths(&self.rows),
            text_widths: widths(&self.ends),
            reserved: 0,
        };
        Ok(self.pack(&header))
    }

    /// Returns the section with another header; fields that do not fit their width lose bits. For tests of readers.
    #[must_use]
    pub fn pack(&self, header: &MetricsHeader) -> Vec<u8> {
        let mut writer = BitWriter::new();
        for &byte in header.as_bytes() {
            writer.push(byte.into(), 8);
        }
        pack(&mut writer, &self.rows, header.row_widths);
        pack(&mut writer, &self.ends, header.text_widths);
        let mut section = writer.finish();
        section.extend_from_slice(&self.text);
        section
    }
}
