//! Messages of the protocol, as far as series need them. Unknown fields are skipped.

use std::str::Utf8Error;

use super::RequestError;
use crate::prometheus::label_pair::{MAX_PARSED_LABELS, push_label, too_many_labels};
use crate::prometheus::{FamilyType, label_pair};
use crate::protobuf::{Fields, ProtoError};

/// Parts of a `prometheus.WriteRequest` or an `io.prometheus.write.v2.Request`. Their field numbers differ, so that one
/// walk reads both. Parts are not decoded yet: a decoded part takes many times its bytes.
#[derive(Debug, Default)]
pub(super) struct Request<'a> {
    pub(super) series_v1: Vec<Fields<'a>>,
    pub(super) metadata_v1: Vec<Fields<'a>>,
    pub(super) symbols_v2: Vec<&'a [u8]>,
    pub(super) series_v2: Vec<Fields<'a>>,
}

impl<'a> Request<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, ProtoError> {
        let mut fields = Fields::new(bytes, 0);
        let (mut part_count, mut symbol_count) = (0, 0);
        fields.each_number(|number| match number {
            1 | 3 | 5 => part_count += 1,
            4 => symbol_count += 1,
            _ => {}
        })?;
        // A symbol is kept as bytes and as text.
        let part_bytes = part_count * size_of::<Fields<'_>>() + symbol_count * 2 * size_of::<&str>();
        fields.check_parts(part_bytes, part_count + symbol_count)?;
        let mut request = Self { symbols_v2: Vec::with_capacity(symbol_count), ..Self::default() };
        while let Some(field) = fields.next()? {
            match field.number {
                1 => request.series_v1.push(field.message()?),
                3 => request.metadata_v1.push(field.message()?),
                4 => request.symbols_v2.push(field.bytes()?),
                5 => request.series_v2.push(field.message()?),
                _ => {}
            }
        }
        Ok(request)
    }
}

/// `prometheus.MetricMetadata`.
#[derive(Debug, Default)]
pub(super) struct MetadataV1<'a> {
    pub(super) family_type: FamilyType,
    pub(super) family_name: &'a str,
    pub(super) help: &'a str,
    pub(super) unit: &'a str,
}

impl<'a> MetadataV1<'a> {
    pub(super) fn parse(mut fields: Fields<'a>) -> Result<Self, ProtoError> {
        let mut metadata = Self::default();
        while let Some(field) = fields.next()? {
            match field.number {
                1 => metadata.family_type = FamilyType::from_number(field.int32()?),
                2 => metadata.family_name = field.text()?,
                4 => metadata.help = field.text()?,
                5 => metadata.unit = field.text()?,
                _ => {}
            }
        }
        Ok(metadata)
    }
}

/// Timestamps of the samples and native histograms of a series, in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Timestamps {
    pub(super) samples: Vec<i64>,
    pub(super) histograms: Vec<i64>,
}

/// `prometheus.TimeSeries`.
#[derive(Debug, Default)]
pub(super) struct SeriesV1<'a> {
    pub(super) labels: Vec<(&'a str, &'a str)>,
    pub(super) timestamps: Timestamps,
}

impl<'a> SeriesV1<'a> {
    pub(super) fn parse(mut fields: Fields<'a>) -> Result<Self, ProtoError> {
        let mut series = Self::default();
        while let Some(field) = fields.next()? {
            match field.number {
                1 => push_label(&mut series.labels, label_pair(field.message()?)?, &field)?,
                2 => series.timestamps.samples.push(timestamp(field.message()?, SAMPLE_TIMESTAMP)?),
                4 => series.timestamps.histograms.push(timestamp(field.message()?, HISTOGRAM_TIMESTAMP)?),
                _ => {}
            }
        }
        Ok(series)
    }
}

/// `io.prometheus.write.v2.TimeSeries`.
#[derive(Debug, Default)]
pub(super) struct SeriesV2 {
    /// Symbol ids of name, value, name, value, ...
    pub(super) labels_refs: Vec<u32>,
    pub(super) timestamps: Timestamps,
    pub(super) metadata: MetadataV2,
}

/// `io.prometheus.write.v2.Metadata`. The default states nothing.
#[derive(Debug, Default, PartialEq)]
pub(super) struct MetadataV2 {
    pub(super) family_type: i32,
    pub(super) help_ref: u32,
    pub(super) unit_ref: u32,
}

impl SeriesV2 {
    pub(super) fn parse(mut fields: Fields<'_>) -> Result<Self, ProtoError> {
        let mut series = Self::default();
        while let Some(field) = fields.next()? {
            match field.number {
                // A `uint32` is the low 32 bits of its varint.
                1 => {
                    let mut is_full = false;
                    field.each_varint(|symbol| match series.labels_refs.len() < 2 * MAX_PARSED_LABELS {
                        true => series.labels_refs.push(symbol as u32),
                        false => is_full = true,
                    })?;
                    if is_full {
                        return Err(too_many_labels(&field));
                    }
                }
                2 => series.timestamps.samples.push(timestamp(field.message()?, SAMPLE_TIMESTAMP)?),
                3 => series.timestamps.histograms.push(timestamp(field.message()?, HISTOGRAM_TIMESTAMP)?),
                5 => series.metadata.extend(field.message()?)?,
                _ => {}
            }
        }
        Ok(series)
    }
}

impl MetadataV2 {
    /// Reads a piece of the message. A message in several pieces is their concatenation.
    fn extend(&mut self, mut fields: Fields<'_>) -> Result<(), ProtoError> {
        while let Some(field) = fields.next()? {
            match field.number {
                1 => self.family_type = field.int32()?,
                3 => self.help_ref = field.uint32()?,
                4 => self.unit_ref = field.uint32()?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Number of the field `timestamp` in a sample of either version.
const SAMPLE_TIMESTAMP: u32 = 2;

/// Number of the field `timestamp` in a native histogram of either version.
const HISTOGRAM_TIMESTAMP: u32 = 15;

fn timestamp(mut fields: Fields<'_>, number: u32) -> Result<i64, ProtoError> {
    let mut timestamp = 0;
    while let Some(field) = fields.next()? {
        if field.number == number {
            timestamp = field.int64()?;
        }
    }
    Ok(timestamp)
}

/// Symbols of a request of version 2.
pub(super) struct Symbols<'a>(Vec<Result<&'a str, Utf8Error>>);

impl<'a> Symbols<'a> {
    pub(super) fn parse(symbols: &[&'a [u8]]) -> Result<Self, RequestError> {
        if let Some(first) = symbols.first()
            && !first.is_empty()
        {
            return Err(RequestError::FirstSymbol { len: first.len() });
        }
        Ok(Self(symbols.iter().map(|symbol| std::str::from_utf8(symbol)).collect()))
    }

    /// Returns the symbol with this id, to which series number `series` refers.
    pub(super) fn get(&self, series: usize, symbol: u32) -> Result<&'a str, RequestError> {
        let found = usize::try_from(symbol).ok().and_then(|symbol| self.0.get(symbol)).copied();
        let missing = RequestError::SymbolRef { series, symbol, symbol_count: self.0.len() };
        found.ok_or(missing)?.map_err(|error| RequestError::SymbolText { symbol, offset: error.valid_up_to() })
    }
}
