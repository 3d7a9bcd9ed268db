//! Sink that keeps the parts of a request as JSON: [`RequestParts`].

use chronoxide_format::metadata::{MetricMetadata, Monotonicity};

use super::bytes::{Parts, TooMany, push_varint};
use crate::otlp::{Level, MetricKind, Needs, OtlpSink, Point};

/// Kinds of parts.
pub(super) const RESOURCE: u8 = 0;
pub(super) const SCOPE: u8 = 1;
/// Neighbouring attributes of a level, whose number is added: their length in 4 bytes, and fields of protobuf.
pub(super) const ATTRIBUTES: u8 = 2;
pub(super) const METRIC: u8 = 5;
pub(super) const METRIC_ENDS: u8 = 6;
pub(super) const POINT_BEGINS: u8 = 7;
/// Point of a kind, whose number is added.
pub(super) const POINT: u8 = 8;
/// Neighbouring attributes of a level, whose number is added: their start and their length in the record.
pub(super) const RUN: u8 = 13;
/// Attribute of a level, whose number is added, whose field does not have the usual key: its start and its length in
/// the record.
pub(super) const ODD_ATTRIBUTE: u8 = 16;
/// Attribute of a level, whose number is added, as texts.
pub(super) const TEXT_ATTRIBUTE: u8 = 19;
/// End of a metric with the metadata of its beginning.
pub(super) const METRIC_ENDS_AS_BEGUN: u8 = 22;

/// Flags of a point.
pub(super) const HAS_TIME: u8 = 1;
pub(super) const HAS_FLAGS: u8 = 2;
pub(super) const HAS_SUM: u8 = 4;
pub(super) const HAS_BUCKETS: u8 = 8;

/// Bit of a monotonic metric, beside its temporality.
pub(super) const IS_MONOTONIC: u8 = 0x80;

/// All levels, by their numbers.
pub(super) const LEVELS: [Level; 3] = [Level::Resource, Level::Scope, Level::Point];

/// Keys of the fields of attributes in a resource, a scope and a point.
const ATTRIBUTE_KEYS: [u8; 3] = [0x0a, 0x1a, 0x3a];

/// Keys of the first and the second field of bytes of a message.
const FIRST: u8 = 0x0a;
const SECOND: u8 = 0x12;

/// Sink that keeps the parts of a request.
pub(super) struct RequestParts<'p> {
    parts: &'p mut Parts,
    needs: Needs,
    max_len: usize,
    /// Level of the list of attributes that is being written, and the place of its length.
    list: Option<(Level, usize)>,
}

impl<'p> RequestParts<'p> {
    /// Creates a sink for a request of `len` bytes. It refuses more parts than the request has bytes.
    pub(super) fn new(parts: &'p mut Parts, needs: Needs, len: usize) -> Self {
        let max_len = parts.max_len(len);
        Self { parts, needs, max_len, list: None }
    }

    /// Ends a list of attributes.
    pub(super) fn end_list(&mut self) {
        let Some((_, place)) = self.list.take() else { return };
        // The length of all parts has 32 bits.
        let len = (self.parts.codes.len() - place - 4) as u32;
        if let Some(bytes) = self.parts.codes.get_mut(place..place + 4) {
            bytes.copy_from_slice(&len.to_le_bytes());
        }
    }

    fn begin(&mut self, kind: u8) -> Result<(), TooMany> {
        self.end_list();
        self.parts.codes.push(kind);
        self.check()
    }

    fn check(&self) -> Result<(), TooMany> {
        if self.parts.len() <= self.max_len { Ok(()) } else { Err(TooMany) }
    }
}

impl Parts {
    pub(super) fn push_metadata(&mut self, metadata: &MetricMetadata<'_>) {
        let monotonic = if metadata.monotonicity == Monotonicity::Monotonic { IS_MONOTONIC } else { 0 };
        // No source has numbers that are not in these bytes.
        let byte = |code: u32| u8::try_from(code).unwrap_or_default();
        self.codes.extend([byte(metadata.metric_type.code()), byte(metadata.temporality.code()) | monotonic]);
        for text in [metadata.name, metadata.unit, metadata.description] {
            self.push_text(text);
        }
    }

    /// Appends a point with its kind.
    #[inline]
    pub(super) fn push_point(&mut self, point: &Point<'_>) {
        let flags = [
            (point.time_unix_nano != 0, HAS_TIME),
            (point.flags != 0, HAS_FLAGS),
            (point.has_sum, HAS_SUM),
            (!point.bucket_bounds.is_empty() || !point.quantiles.is_empty(), HAS_BUCKETS),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag);
        self.codes.extend([POINT + point.kind as u8, flags]);
        if flags & HAS_TIME != 0 {
            self.codes.extend(point.time_unix_nano.to_le_bytes());
        }
        if flags & HAS_FLAGS != 0 {
            self.push_number(point.flags);
        }
        if flags & HAS_BUCKETS != 0 {
            self.push_doubles(point.bucket_bounds);
            self.push_doubles(point.quantiles);
        }
    }

    fn push_doubles(&mut self, doubles: &[f64]) {
        self.push_number(doubles.len() as u64);
        self.codes.extend(doubles.iter().flat_map(|double| double.to_le_bytes()));
    }
}

impl OtlpSink for RequestParts<'_> {
    type Error = TooMany;

    fn needs(&self) -> Needs {
        self.needs
    }

    fn resource(&mut self) -> Result<(), TooMany> {
        self.begin(RESOURCE)
    }

    fn scope(&mut self) -> Result<(), TooMany> {
        self.begin(SCOPE)
    }

    fn attribute(&mut self, level: Level, key: &str, value: &str) -> Result<(), TooMany> {
        if self.list.is_none_or(|(current, _)| current != level) {
            self.begin(ATTRIBUTES + level as u8)?;
            self.list = Some((level, self.parts.codes.len()));
            self.parts.codes.extend([0; 4]);
        }
        let field_len = |len: usize| 1 + varint_len(len) + len;
        let value_len = field_len(value.len());
        let out = &mut self.parts.codes;
        let mut push = |field: u8, len: usize| {
            out.push(field);
            push_varint(out, len as u64);
        };
        push(
            ATTRIBUTE_KEYS.get(level as usize).copied().unwrap_or_default(),
            field_len(key.len()) + field_len(value_len),
        );
        push(FIRST, key.len());
        self.parts.codes.extend_from_slice(key.as_bytes());
        let out = &mut self.parts.codes;
        for (field, len) in [(SECOND, value_len), (FIRST, value.len())] {
            out.push(field);
            push_varint(out, len as u64);
        }
        out.extend_from_slice(value.as_bytes());
        self.check()
    }

    fn metric(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), TooMany> {
        self.begin(METRIC)?;
        self.parts.push_metadata(metadata);
        self.check()
    }

    fn point_begins(&mut self) -> Result<(), TooMany> {
        self.begin(POINT_BEGINS)
    }

    fn point(&mut self, point: &Point<'_>) -> Result<(), TooMany> {
        self.end_list();
        self.parts.push_point(point);
        self.check()
    }

    fn metric_ends(&mut self, metadata: &MetricMetadata<'_>, point_count: u64) -> Result<(), TooMany> {
        self.begin(METRIC_ENDS)?;
        self.parts.push_metadata(metadata);
        self.parts.push_number(point_count);
        self.check()
    }
}

/// Returns the kind with this number.
pub(super) fn kind(number: u8) -> Option<MetricKind> {
    MetricKind::ALL.get(usize::from(number)).copied()
}

/// Returns the length of a number as a varint.
#[inline]
fn varint_len(number: usize) -> usize {
    (usize::BITS - (number | 1).leading_zeros()).div_ceil(7) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_varints_are_those_that_are_written() {
        for number in [0, 1, 127, 128, 16_383, 16_384, 1 << 21, u32::MAX as usize, usize::MAX] {
            let mut out = Vec::new();
            push_varint(&mut out, number as u64);
            assert_eq!(varint_len(number), out.len(), "{number}");
        }
    }
}
