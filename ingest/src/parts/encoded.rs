//! Sink that keeps the parts of a request as protobuf: [`EncodedParts`].

use chronoxide_format::metadata::MetricMetadata;

use super::bytes::{Parts, TooMany};
use super::request as code;
use crate::otlp::{Level, Needs, OtlpSink, Point};

/// Sink that keeps the parts of a request as protobuf. Of attributes it keeps the places in the record: the assembler
/// recognizes most of them by their bytes.
pub(super) struct EncodedParts<'p, 'r> {
    parts: &'p mut Parts,
    record: &'r [u8],
    needs: Needs,
    /// If true, attributes are decoded, so that malformed ones are errors.
    is_checked: bool,
    max_len: usize,
    /// Current list of attributes whose place is kept.
    list: Option<List>,
}

/// List of attributes.
#[derive(Clone, Copy, PartialEq)]
enum List {
    /// Fields with the usual key.
    Run,
    /// Field with another key.
    Odd,
}

impl<'p, 'r> EncodedParts<'p, 'r> {
    /// Creates a sink for a request. It refuses more parts than the request has bytes.
    pub(super) fn new(parts: &'p mut Parts, record: &'r [u8], needs: Needs, is_checked: bool) -> Self {
        let max_len = parts.max_len(record.len());
        Self { parts, record, needs, is_checked, max_len, list: None }
    }

    fn push(&mut self, kind: u8) -> Result<(), TooMany> {
        self.parts.codes.push(kind);
        self.check()
    }

    /// Appends the place of bytes of the record.
    fn push_place(&mut self, kind: u8, bytes: &[u8]) -> Result<(), TooMany> {
        let start = bytes.as_ptr().addr().wrapping_sub(self.record.as_ptr().addr());
        // The walk copies no list of attributes. If it did, the request would be decoded directly.
        if start > self.record.len() || bytes.len() > self.record.len() - start {
            return Err(TooMany);
        }
        self.parts.codes.push(kind);
        self.parts.push_number(start as u64);
        self.parts.push_number(bytes.len() as u64);
        self.check()
    }

    fn check(&self) -> Result<(), TooMany> {
        if self.parts.len() <= self.max_len { Ok(()) } else { Err(TooMany) }
    }
}

impl OtlpSink for EncodedParts<'_, '_> {
    type Error = TooMany;

    fn needs(&self) -> Needs {
        self.needs
    }

    fn resource(&mut self) -> Result<(), TooMany> {
        self.push(code::RESOURCE)
    }

    fn scope(&mut self) -> Result<(), TooMany> {
        self.push(code::SCOPE)
    }

    fn attribute(&mut self, level: Level, key: &str, value: &str) -> Result<(), TooMany> {
        if self.list.is_some() {
            return Ok(());
        }
        self.parts.codes.push(code::TEXT_ATTRIBUTE + level as u8);
        self.parts.push_text(key);
        self.parts.push_text(value);
        self.check()
    }

    fn encoded_attribute(&mut self, level: Level, bytes: &[u8]) -> Result<bool, TooMany> {
        if self.list == Some(List::Odd) {
            self.push_place(code::ODD_ATTRIBUTE + level as u8, bytes)?;
        }
        Ok(!self.is_checked)
    }

    #[inline]
    fn encoded_attributes(&mut self, level: Level, bytes: &[u8]) -> Result<bool, TooMany> {
        if bytes.is_empty() {
            self.list = Some(List::Odd);
            return Ok(false);
        }
        self.push_place(code::RUN + level as u8, bytes)?;
        self.list = self.is_checked.then_some(List::Run);
        Ok(!self.is_checked)
    }

    fn encoded_attributes_end(&mut self, _: Level, _: &[u8]) -> Result<(), TooMany> {
        self.list = None;
        Ok(())
    }

    fn metric(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), TooMany> {
        self.parts.codes.push(code::METRIC);
        self.parts.push_metadata(metadata);
        self.check()
    }

    #[inline]
    fn point_begins(&mut self) -> Result<(), TooMany> {
        self.push(code::POINT_BEGINS)
    }

    #[inline]
    fn point(&mut self, point: &Point<'_>) -> Result<(), TooMany> {
        self.parts.push_point(point);
        self.check()
    }

    /// Ends a metric. All metadata of protobuf is known at its beginning.
    fn metric_ends(&mut self, _: &MetricMetadata<'_>, point_count: u64) -> Result<(), TooMany> {
        self.parts.codes.push(code::METRIC_ENDS_AS_BEGUN);
        self.parts.push_number(point_count);
        self.check()
    }
}
