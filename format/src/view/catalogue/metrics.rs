//! [`Metrics`]: type, unit and description of a block's metrics (METRICS.md).

use std::fmt;
use std::iter::FusedIterator;
use std::ops::Range;

use zerocopy::FromBytes;

use super::Records;
use crate::bits::{Bits, bytes_for};
use crate::checksum::SectionProofs;
use crate::error::{Place, corrupt};
use crate::layout::{MAX_CODE_WIDTH, MAX_OFFSET_WIDTH, MetricsHeader, STREAM_TAIL};
use crate::metadata::{MetricMetadata, MetricType, Monotonicity, Temporality};
use crate::number::{length, low32};
use crate::{Result, Rule};

/// The metric metadata of a block: rows in the order of metric names. A metric has several rows if sources differ.
#[derive(Clone, Copy)]
pub struct Metrics<'a> {
    pub(crate) bits: Bits<'a>,
    pub(crate) rows: Records<6>,
    /// End of each text.
    pub(crate) ends: Records<1>,
    /// Bytes of all texts.
    pub(crate) text: &'a [u8],
    /// Offset of the texts in the section.
    text_start: u64,
    proofs: Option<SectionProofs<'a>>,
}

impl fmt::Debug for Metrics<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<'a> Metrics<'a> {
    /// Metadata of a block without this section.
    pub(crate) const EMPTY: Self = Self {
        bits: Bits::new(&[], Rule::MetricLength),
        rows: Records::NONE,
        ends: Records::NONE,
        text: &[],
        text_start: 0,
        proofs: None,
    };

    /// Places rows, ends and texts in their section. Costs O(1).
    pub(crate) fn open(section: &'a [u8], proofs: Option<SectionProofs<'a>>) -> Result<Self> {
        let (header_len, section_len) = (length(size_of::<MetricsHeader>()), length(section.len()));
        if let Some(proofs) = &proofs {
            proofs.touch(0, header_len)?;
        }
        let (header, _) = MetricsHeader::ref_from_prefix(section)
            .map_err(|_| corrupt(Rule::MetricHeader, Place::Byte(0), section_len, header_len))?;
        check_header(header)?;
        let rows = Records::new(header_len * 8, header.row_count.get(), header.row_widths);
        let ends = Records::new(rows.slack().1, header.text_count.get(), header.text_widths);
        // Rows are distinct and texts are not empty, so that only a single record may take no bits. With that, the
        // section's length bounds both counts.
        if !rows.is_bounded() || !ends.is_bounded() {
            return Err(corrupt(Rule::MetricHeader, Place::Byte(8), 0, 1));
        }
        let text_start = bytes_for(ends.slack().1) + STREAM_TAIL;
        let split = usize::try_from(text_start).ok().and_then(|start| section.split_at_checked(start));
        let Some((stream, text)) = split else {
            return Err(corrupt(Rule::MetricLength, Place::Byte(0), section_len, text_start));
        };
        let bits = Bits::with_proofs(stream, Rule::MetricLength, proofs);
        let metrics = Self { bits, rows, ends, text, text_start, proofs };
        let text_len = metrics.end(metrics.ends.count)?;
        if text_len != length(text.len()) {
            return Err(corrupt(Rule::MetricLength, Place::Byte(0), section_len, text_start.saturating_add(text_len)));
        }
        Ok(metrics)
    }

    /// Returns the number of rows.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.rows.count
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.count == 0
    }

    /// Returns row `row`, or `None` if it is out of range.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn get(&self, row: u32) -> Result<Option<MetricMetadata<'a>>> {
        let Some(record) = self.rows.get(&self.bits, row) else { return Ok(None) };
        let [name, metric_type, temporality, monotonicity, unit, description] = record?;
        let read_text = |number| self.read_text(row, number);
        if name == 0 {
            return Err(corrupt(Rule::MetricValues, Place::Metric(row.into()), 0, 1));
        }
        Ok(Some(MetricMetadata {
            name: read_text(name)?,
            // Fields have at most 32 bits.
            metric_type: MetricType::from_code(low32(metric_type)),
            temporality: Temporality::from_code(low32(temporality)),
            monotonicity: Monotonicity::from_code(low32(monotonicity)),
            unit: read_text(unit)?,
            description: read_text(description)?,
        }))
    }

    /// Returns all rows, in order.
    #[must_use]
    pub const fn iter(&self) -> MetricRows<'a> {
        MetricRows { metrics: *self, rows: 0..self.len() }
    }

    /// Returns the rows of the metric with this name, in order; none if the block has no metadata of it. Costs two
    /// binary searches over the names.
    ///
    /// # Errors
    /// `Corrupt` if a byte that was read is damaged.
    pub fn find(&self, name: impl AsRef<[u8]>) -> Result<MetricRows<'a>> {
        let name = name.as_ref();
        let first = self.first(|other| other >= name)?;
        let end = self.first(|other| other > name)?;
        Ok(MetricRows { metrics: *self, rows: first..end })
    }

    /// Returns the first row for which `is_wanted` is true. It must be false for all rows before some row, and true
    /// from there on.
    fn first(&self, is_wanted: impl Fn(&[u8]) -> bool) -> Result<u32> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_wanted(self.name(middle)?) { high = middle } else { low = middle + 1 }
        }
        Ok(low)
    }

    fn name(&self, row: u32) -> Result<&'a [u8]> {
        match self.rows.get(&self.bits, row) {
            Some(record) => {
                let [name, ..] = record?;
                self.read_bytes(row, name)
            }
            None => Ok(&[]),
        }
    }

    /// Returns the text with this number in a row; number 0 is the empty text.
    fn read_text(&self, row: u32, number: u64) -> Result<&'a str> {
        let bytes = self.read_bytes(row, number)?;
        std::str::from_utf8(bytes).map_err(|error| {
            let place = Place::MetricText(number.saturating_sub(1));
            corrupt(Rule::MetricTextUtf8, place, length(error.valid_up_to()), length(bytes.len()))
        })
    }

    fn read_bytes(&self, row: u32, number: u64) -> Result<&'a [u8]> {
        if number > u64::from(self.ends.count) {
            let bound = u64::from(self.ends.count) + 1;
            return Err(corrupt(Rule::MetricValues, Place::Metric(row.into()), number, bound));
        }
        match low32(number).checked_sub(1) {
            Some(text) => self.text(text),
            None => Ok(&[]),
        }
    }

    /// Returns the bytes of text `text`, which must be in range.
    pub(crate) fn text(&self, text: u32) -> Result<&'a [u8]> {
        let (start, end) = (self.end(text)?, self.end(text.saturating_add(1))?);
        let found = match (usize::try_from(start), usize::try_from(end)) {
            (Ok(from), Ok(to)) => self.text.get(from..to),
            _ => None,
        };
        let Some(found) = found else {
            return Err(corrupt(Rule::MetricTextEnds, Place::MetricText(text.into()), end, start));
        };
        if let Some(proofs) = &self.proofs {
            proofs.touch(self.text_start.saturating_add(start), length(found.len()))?;
        }
        Ok(found)
    }

    /// Returns the end of the first `texts` texts.
    pub(crate) fn end(&self, texts: u32) -> Result<u64> {
        match texts.checked_sub(1).and_then(|last| self.ends.get(&self.bits, last)) {
            Some(record) => record.map(|[end]| end),
            None => Ok(0),
        }
    }
}

fn check_header(header: &MetricsHeader) -> Result<()> {
    let refuse =
        |byte, found: u8, limit: u8| corrupt(Rule::MetricHeader, Place::Byte(byte), found.into(), limit.into());
    if header.row_count.get() == 0 {
        return Err(refuse(0, 0, 1));
    }
    if let Some(&width) = header.row_widths.iter().find(|&&width| width > MAX_CODE_WIDTH) {
        return Err(refuse(8, width, MAX_CODE_WIDTH));
    }
    let [end] = header.text_widths;
    if end > MAX_OFFSET_WIDTH {
        return Err(refuse(14, end, MAX_OFFSET_WIDTH));
    }
    Ok(())
}

/// Iterator over rows of metadata, in order. After an error it ends.
#[derive(Clone, Debug)]
pub struct MetricRows<'a> {
    metrics: Metrics<'a>,
    rows: Range<u32>,
}

impl FusedIterator for MetricRows<'_> {}

impl<'a> Iterator for MetricRows<'a> {
    type Item = Result<MetricMetadata<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.metrics.get(self.rows.next()?).transpose()?;
        if row.is_err() {
            self.rows = 0..0;
        }
        Some(row)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // An error may come before the last row.
        (0, self.rows.size_hint().1)
    }
}
