//! Decoder of records to parts: [`PartsDecoder`].

use super::bytes::{Parts, Span};
use super::request::RequestParts;
use super::series::SeriesParts;
use crate::input::Format;
use crate::otlp::{Needs, decode_otlp_json};
use crate::prometheus::text::{SampleParser, TimestampUnit};
use crate::series::SeriesSink;
use crate::series_json::decode_series_json;

/// Decoder of the records of one input to parts. Each thread has its own.
pub(crate) enum PartsDecoder {
    OtlpJson(Needs),
    SeriesJson,
    /// Samples. Other lines are few, and depend on those before them.
    Text(SampleParser),
}

impl PartsDecoder {
    /// Creates a decoder for a sink with these needs. Returns `None` if records of this format are decoded directly.
    ///
    /// The bytes of protobuf are taken by the sink as they are: keeping them again would only cost time.
    pub(crate) fn new(format: Format, unit: TimestampUnit, needs: Needs) -> Option<Self> {
        match format {
            Format::OtlpJson => Some(Self::OtlpJson(needs)),
            Format::SeriesJson => Some(Self::SeriesJson),
            Format::PrometheusText | Format::OpenMetrics => Some(Self::Text(SampleParser::new(unit))),
            Format::OtlpProto | Format::PrometheusProto | Format::RemoteWrite | Format::Parquet | Format::Arrow => None,
        }
    }

    /// Appends the parts of a record. Returns `None` if it is decoded directly, because it is malformed or has too many
    /// parts.
    pub(crate) fn decode(&mut self, record: &[u8], parts: &mut Parts) -> Option<Span> {
        let start = parts.end();
        match self.append(record, parts) {
            Some(()) => Some(parts.since(start)),
            None => {
                parts.truncate(start);
                None
            }
        }
    }

    fn append(&mut self, record: &[u8], parts: &mut Parts) -> Option<()> {
        match self {
            Self::OtlpJson(needs) => {
                let mut request = RequestParts::new(parts, *needs, record.len());
                decode_otlp_json(record, &mut request).ok()?;
                request.end_list();
            }
            Self::SeriesJson => decode_series_json(record, &mut SeriesParts::new(parts, record.len())).ok()?,
            Self::Text(parser) => {
                let (labels, time) = parser.parse(record)?;
                parts.push_time(time);
                let mut series = SeriesParts::new(parts, record.len());
                for (name, value) in labels {
                    series.label(name, value).ok()?;
                }
            }
        }
        Some(())
    }
}
