//! Decoder of records to parts: [`PartsDecoder`].

use super::bytes::{Parts, Span};
use super::encoded::EncodedParts;
use super::request::RequestParts;
use super::series::SeriesParts;
use crate::input::Format;
use crate::otlp::{Needs, decode_otlp_json, decode_otlp_proto};
use crate::prometheus::text::{SampleParser, TimestampUnit};
use crate::series::SeriesSink;
use crate::series_json::decode_series_json;

/// Decoder of the records of one input to parts. Each thread has its own.
pub(crate) enum PartsDecoder {
    OtlpJson(Needs),
    OtlpProto {
        needs: Needs,
        /// If true, attributes are checked. Otherwise malformed ones are found when the parts are given to the sink.
        is_checked: bool,
    },
    SeriesJson,
    /// Samples. Other lines are few, and depend on those before them.
    Text(SampleParser),
}

impl PartsDecoder {
    /// Creates a decoder for a sink with these needs. Returns `None` if records of this format are decoded directly.
    /// If `skips_broken_records`, records have parts only if nothing in them is malformed.
    pub(crate) fn new(format: Format, unit: TimestampUnit, needs: Needs, skips_broken_records: bool) -> Option<Self> {
        match format {
            Format::OtlpJson => Some(Self::OtlpJson(needs)),
            Format::OtlpProto => Some(Self::OtlpProto { needs, is_checked: skips_broken_records }),
            Format::SeriesJson => Some(Self::SeriesJson),
            Format::PrometheusText | Format::OpenMetrics => Some(Self::Text(SampleParser::new(unit))),
            Format::PrometheusProto
            | Format::OpenMetricsProto
            | Format::RemoteWrite
            | Format::Parquet
            | Format::Arrow
            | Format::Csv => None,
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
            &mut Self::OtlpProto { needs, is_checked } => {
                decode_otlp_proto(record, &mut EncodedParts::new(parts, record, needs, is_checked)).ok()?;
            }
            Self::SeriesJson => decode_series_json(record, &mut SeriesParts::new(parts, record.len())).ok()?,
            Self::Text(parser) => {
                let (labels, stamp) = parser.parse(record)?;
                parts.push_stamp(stamp);
                let mut series = SeriesParts::new(parts, record.len());
                for (name, value) in labels {
                    series.label(name, value).ok()?;
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use chronoxide_format::metadata::MetricMetadata;
    use chronoxide_testkit::random::Random;
    use chronoxide_workload::{Options, Workload};

    use super::*;
    use crate::error::DecodeError;
    use crate::otlp::{Level, OtlpSink, Point};

    /// Sink that notes all calls, and takes some attributes as bytes: those whose last byte is below `taken`.
    struct Calls {
        needs: Needs,
        taken: u8,
        calls: Vec<String>,
    }

    impl Calls {
        fn note(&mut self, call: String) -> Result<(), Infallible> {
            self.calls.push(call);
            Ok(())
        }

        fn takes(&mut self, call: String, bytes: &[u8]) -> Result<bool, Infallible> {
            self.calls.push(call);
            Ok(bytes.last().is_some_and(|&last| last < self.taken))
        }
    }

    impl OtlpSink for Calls {
        type Error = Infallible;

        fn needs(&self) -> Needs {
            self.needs
        }
        fn resource(&mut self) -> Result<(), Infallible> {
            self.note("resource".to_owned())
        }
        fn scope(&mut self) -> Result<(), Infallible> {
            self.note("scope".to_owned())
        }
        fn attribute(&mut self, level: Level, key: &str, value: &str) -> Result<(), Infallible> {
            self.note(format!("{level:?} {key:?} {value:?}"))
        }
        fn encoded_attribute(&mut self, level: Level, bytes: &[u8]) -> Result<bool, Infallible> {
            self.takes(format!("{level:?} {bytes:?}"), bytes)
        }
        fn encoded_attributes(&mut self, level: Level, bytes: &[u8]) -> Result<bool, Infallible> {
            self.takes(format!("run of {level:?} {bytes:?}"), bytes)
        }
        fn encoded_attributes_end(&mut self, level: Level, bytes: &[u8]) -> Result<(), Infallible> {
            self.note(format!("end of {level:?} {bytes:?}"))
        }
        fn metric(&mut self, metadata: &MetricMetadata<'_>) -> Result<(), Infallible> {
            self.note(format!("{metadata:?}"))
        }
        fn point_begins(&mut self) -> Result<(), Infallible> {
            self.note("point".to_owned())
        }
        fn point(&mut self, point: &Point<'_>) -> Result<(), Infallible> {
            self.note(format!("{point:?}"))
        }
        fn metric_ends(&mut self, metadata: &MetricMetadata<'_>, count: u64) -> Result<(), Infallible> {
            self.note(format!("{count} points of {metadata:?}"))
        }
    }

    /// Gives a request to a sink, directly and as parts, and compares the calls and the errors. Returns the error, and
    /// true if the request has parts.
    fn compare(record: &[u8], needs: Needs, is_checked: bool, taken: u8) -> (Option<String>, bool) {
        let calls = || Calls { needs, taken, calls: Vec::new() };
        let text = |result: Result<(), DecodeError<Infallible>>| result.err().map(|error| error.to_string());
        let mut direct = calls();
        let error = text(decode_otlp_proto(record, &mut direct));
        let mut parts = Parts::default();
        // Parts of another record before it.
        parts.push_text("before");
        let Some(span) = (PartsDecoder::OtlpProto { needs, is_checked }).decode(record, &mut parts) else {
            return (error, false);
        };
        let mut replayed = calls();
        assert_eq!(text(parts.replay(record, &span, &mut replayed)), error, "{record:?}");
        assert_eq!(replayed.calls, direct.calls, "{record:?}");
        (error, true)
    }

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut field = vec![number << 3 | 2];
        super::super::bytes::push_varint(&mut field, bytes.len() as u64);
        [field, bytes.to_vec()].concat()
    }

    fn attribute(number: u8, key: &str, value: &[u8]) -> Vec<u8> {
        field(number, &[field(1, key.as_bytes()), field(2, &field(1, value))].concat())
    }

    /// Returns a request with attributes apart from each other, of two forms of their key, and a description after what
    /// it describes.
    fn request() -> Vec<u8> {
        // The key of the field as a varint of two bytes.
        let long_key = |field: &[u8]| [&[field[0] | 0x80, 0], &field[1..]].concat();
        let time = [&[0x19][..], &7u64.to_le_bytes()].concat();
        let point = [
            attribute(7, "a", b"1"),
            attribute(7, "b", b"2"),
            time,
            attribute(7, "c", b"3"),
            long_key(&attribute(7, "d", b"4")),
            vec![0x40, 1],
        ]
        .concat();
        let metric = [field(5, &[field(1, &point), field(1, &[])].concat()), field(1, b"m"), field(3, b"By")].concat();
        let scope = [field(1, b"library"), field(2, b"1.0"), attribute(3, "e", b"5")].concat();
        let scope = [field(2, &metric), field(2, &field(1, b"n")), field(1, &scope), field(3, b"url")].concat();
        let resource = [attribute(1, "f", b"6"), long_key(&attribute(1, "g", b"7"))].concat();
        field(1, &[field(2, &scope), field(1, &resource), field(2, &scope)].concat())
    }

    const ALL: Needs = Needs { metadata_first: true, buckets: true, scope_schema_url: true };

    #[test]
    fn parts_of_protobuf_give_the_calls_of_the_request() {
        let workload = Workload::new(Options { series: 400, ..Options::default() }).unwrap();
        let mut frames = Vec::new();
        chronoxide_workload::write(&workload, chronoxide_workload::Format::OtlpProto, &mut frames).unwrap();
        let (len, frames) = frames.split_first_chunk().unwrap();
        let generated = frames[..u32::from_be_bytes(*len) as usize].to_vec();
        for record in [request(), generated] {
            for (needs, is_checked, taken) in [(ALL, true, 0), (ALL, false, b'5'), (Needs::default(), true, 0xff)] {
                assert_eq!(compare(&record, needs, is_checked, taken), (None, true), "{needs:?}");
            }
        }
    }

    #[test]
    fn malformed_requests_give_the_same_calls_and_errors_or_have_no_parts() {
        let (mut random, whole) = (Random::new(5), request());
        let (mut late, mut refused) = (0, 0);
        for _ in 0..20_000 {
            let mut record = whole.clone();
            for _ in 0..1 + random.below(2) {
                let place = random.below(record.len());
                record[place] = random.below(256) as u8;
            }
            if random.percent(10) {
                record.truncate(random.below(record.len()));
            }
            let (error, has_parts) = compare(&record, ALL, false, 0x30 + random.below(16) as u8);
            // Errors in attributes are found when the parts are given to the sink.
            late += u32::from(has_parts && error.is_some());
            refused += u32::from(!has_parts);
            let (error, has_parts) = compare(&record, ALL, true, 0);
            assert_eq!(has_parts, error.is_none(), "{error:?}: {record:?}");
        }
        assert!(late > 100 && refused > 100, "{late} late errors, {refused} without parts");
    }

    #[test]
    fn requests_of_many_small_parts_have_none() {
        let points = field(5, &field(1, &[]).repeat(1_000));
        let record = field(1, &field(2, &field(2, &[field(1, b"m"), points].concat())));
        assert_eq!(compare(&record, ALL, false, 0), (None, false));
    }
}
