//! Decoder of records apart from those before them: [`AheadDecoder`].

use std::convert::Infallible;

use super::{Decoded, Place, Series};
use crate::error::DecodeError;
use crate::input::Format;
use crate::otlp::{Needs, decode_json_within, decode_proto_within};
use crate::prometheus::text::{SampleParser, Stamp, TimestampUnit};
use crate::series::SeriesSink;
use crate::series_json::decode_series_json;

/// Bytes of arrays per byte of a record, and those that any record may have besides.
const MAX_RATIO: usize = 2;
const SLACK: usize = 1 << 10;

/// Decoder of the records of one input, apart from those before them. Each thread has its own.
pub(crate) enum AheadDecoder {
    OtlpJson(Needs),
    OtlpProto(Needs),
    SeriesJson,
    /// Samples. Other lines are few, and depend on those before them.
    Text(SampleParser),
}

impl AheadDecoder {
    /// Creates a decoder for a reader with these needs. Returns `None` if records of this format depend on those before
    /// them.
    pub(crate) fn new(format: Format, unit: TimestampUnit, needs: Needs) -> Option<Self> {
        match format {
            Format::OtlpJson => Some(Self::OtlpJson(needs)),
            Format::OtlpProto => Some(Self::OtlpProto(needs)),
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

    /// Decodes a record. Returns `None` if it is malformed or takes too much memory as arrays.
    pub(crate) fn decode(&mut self, record: &[u8], decoded: &mut Decoded) -> Option<Place> {
        let limit = Some(record.len().saturating_mul(MAX_RATIO).saturating_add(SLACK));
        let Decoded { requests, series } = decoded;
        match self {
            Self::OtlpJson(needs) => {
                let place: Result<_, DecodeError<Infallible>> = decode_json_within(record, *needs, limit, requests);
                place.ok().map(Place::Request)
            }
            Self::OtlpProto(needs) => decode_proto_within(record, *needs, limit, requests).ok().map(Place::Request),
            Self::SeriesJson => {
                let give = |series: &mut _| decode_series_json(record, series).ok().map(|()| Stamp::default());
                series.add(give).map(Place::Series)
            }
            Self::Text(parser) => {
                let (labels, stamp) = parser.parse(record)?;
                let give = |series: &mut Series| {
                    labels.into_iter().try_for_each(|(name, value)| series.label(name, value)).ok().map(|()| stamp)
                };
                series.add(give).map(Place::Series)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use chronoxide_testkit::random::Random;

    use super::*;
    use crate::otlp::{AttributeList, Request};
    use crate::protobuf::ProtoError;

    /// A request as text, with the number of its texts that are not UTF-8.
    fn read(request: Request<'_>, skips: bool) -> Result<(Vec<String>, u32), ProtoError> {
        let (mut parts, mut invalid) = (Vec::new(), 0);
        for resource in request.resources() {
            invalid += resource.invalid_texts();
            parts.push(format!("resource {}", resource.is_invalid()));
            for list in resource.attributes() {
                attributes(list, skips, &mut parts, &mut invalid)?;
            }
            for scope in resource.scopes() {
                parts.push(format!("scope {}", scope.is_invalid()));
                for list in scope.attributes() {
                    attributes(list, skips, &mut parts, &mut invalid)?;
                }
                for metric in scope.metrics() {
                    parts.push(format!("{:?} {} of {}", metric.metadata(), metric.is_invalid(), metric.points().len()));
                    for point in metric.points() {
                        for list in point.attributes() {
                            attributes(list, skips, &mut parts, &mut invalid)?;
                        }
                        let facts = (point.kind(), point.time_unix_nano(), point.flags(), point.has_sum());
                        parts.push(format!("{facts:?} {:?} {}", point.bounds(), point.is_invalid()));
                    }
                }
            }
        }
        Ok((parts, invalid))
    }

    fn attributes(
        list: AttributeList<'_>,
        skips: bool,
        parts: &mut Vec<String>,
        invalid: &mut u32,
    ) -> Result<(), ProtoError> {
        for attribute in list.iter() {
            match attribute {
                Err(ProtoError::Utf8 { .. }) if skips => *invalid += 1,
                attribute => parts.push(format!("{:?}", attribute?)),
            }
        }
        Ok(())
    }

    /// The parts of a request with these needs, decoded alone; or its error.
    fn alone(record: &[u8], needs: Needs) -> Result<(Vec<String>, u32), ProtoError> {
        let mut requests = crate::otlp::Requests::default();
        let place = decode_proto_within(record, needs, None, &mut requests)?;
        read(requests.get(&place, record), needs.without_invalid_texts)
    }

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
    }

    fn attribute(number: u8, key: &str, value: &[u8]) -> Vec<u8> {
        field(number, &[field(1, key.as_bytes()), field(2, &field(1, value))].concat())
    }

    /// A request with attributes apart from each other, of two forms of their key, and a description after what it
    /// describes. It has less than 256 bytes.
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
        let scope = [field(1, b"l"), field(2, b"1"), attribute(3, "e", b"5")].concat();
        let scope = [field(2, &metric), field(2, &field(1, b"n")), field(1, &scope), field(3, b"u")].concat();
        let resource = [attribute(1, "f", b"6"), long_key(&attribute(1, "g", b"7"))].concat();
        let request = [field(2, &scope), field(1, &resource)].concat();
        assert!(request.len() < 0x80, "{}", request.len());
        field(1, &request)
    }

    const STRICT: Needs =
        Needs { buckets: true, scope_schema_url: true, without_invalid_texts: false, checked_attributes: false };

    #[test]
    fn a_request_has_its_parts_in_the_order_of_its_levels() {
        let (parts, invalid) = alone(&request(), STRICT).unwrap();
        assert_eq!(invalid, 0);
        let texts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| part.starts_with('(')).collect();
        assert_eq!(
            texts,
            [
                r#"("f", "6")"#,
                r#"("g", "7")"#,
                r#"("e", "5")"#,
                r#"("otel_scope_name", "l")"#,
                r#"("otel_scope_version", "1")"#,
                r#"("otel_scope_schema_url", "u")"#,
                r#"("a", "1")"#,
                r#"("b", "2")"#,
                r#"("c", "3")"#,
                r#"("d", "4")"#,
                "(Gauge, 7, 1, false) [] false",
                "(Gauge, 0, 0, false) [] false",
            ]
        );
    }

    /// Reading strictly, leaving out invalid texts, and decoding ahead agree on damaged requests.
    #[test]
    fn damaged_requests_are_the_same_in_all_ways_of_reading() {
        let lenient = Needs { without_invalid_texts: true, checked_attributes: true, ..STRICT };
        let (mut random, whole) = (Random::new(5), request());
        let (mut sound, mut left_out, mut refused) = (0, 0, 0);
        for _ in 0..20_000 {
            let mut record = whole.clone();
            for _ in 0..1 + random.below(2) {
                let place = random.below(record.len());
                record[place] = random.below(256) as u8;
            }
            if random.percent(10) {
                record.truncate(random.below(record.len()));
            }
            let (strict, skipping) = (alone(&record, STRICT), alone(&record, lenient));
            match (&strict, &skipping) {
                (Ok(parts), Ok(other)) => {
                    assert_eq!((parts, parts.1), (other, 0), "{record:?}");
                    sound += 1;
                }
                (Err(ProtoError::Utf8 { .. }), Ok((_, invalid))) => {
                    assert!(*invalid > 0, "{record:?}");
                    left_out += 1;
                }
                // If there are two damages, another one may be found first.
                (Err(_), Err(_)) => refused += 1,
                (Err(error), Ok(_)) => panic!("{error}: {record:?}"),
                (Ok(_), Err(error)) => panic!("{error}: {record:?}"),
            }
            // Behind another request, whose parts stay.
            let mut decoded = Decoded::default();
            let mut decoder = AheadDecoder::OtlpProto(lenient);
            let Some(Place::Request(first)) = decoder.decode(&whole, &mut decoded) else { panic!("a whole request") };
            let ahead = decoder.decode(&record, &mut decoded).map(|place| match place {
                Place::Request(place) => read(decoded.requests.get(&place, &record), true),
                Place::Series(_) => panic!("a request"),
            });
            assert_eq!(ahead, skipping.ok().map(Ok), "{record:?}");
            // Before one more, too.
            let Some(Place::Request(last)) = decoder.decode(&whole, &mut decoded) else { panic!("a whole request") };
            for place in [first, last] {
                assert_eq!(read(decoded.requests.get(&place, &whole), true), alone(&whole, lenient));
            }
        }
        assert!(sound > 1_000 && left_out > 100 && refused > 1_000, "{sound} {left_out} {refused}");
    }

    #[test]
    fn json_may_describe_a_metric_or_scope_anywhere_and_the_last_kind_counts() {
        let record = br#"{"resourceMetrics":[{"scopeMetrics":[{"schemaUrl":"u","scope":{"name":"a"},"metrics":[
            {"name":"m","sum":{"isMonotonic":true,"aggregationTemporality":2,"dataPoints":[{"timeUnixNano":"1"}]},
            "gauge":{"dataPoints":[{"timeUnixNano":"2"}]},"name":"n"}],"scope":{"version":"1"}}]}]}"#;
        let mut requests = crate::otlp::Requests::default();
        let place: Result<_, DecodeError<Infallible>> = decode_json_within(record, STRICT, None, &mut requests);
        let (parts, _) = read(requests.get(&place.unwrap(), record), false).unwrap();
        let gauge = chronoxide_format::metadata::MetricMetadata {
            name: "n",
            metric_type: chronoxide_format::metadata::MetricType::Gauge,
            ..Default::default()
        };
        assert_eq!(
            parts,
            [
                "resource false",
                "scope false",
                r#"("otel_scope_name", "a")"#,
                r#"("otel_scope_version", "1")"#,
                r#"("otel_scope_schema_url", "u")"#,
                &format!("{gauge:?} false of 2"),
                "(Sum, 1, 0, false) [] false",
                "(Gauge, 2, 0, false) [] false",
            ]
        );
    }

    #[test]
    fn requests_of_many_small_parts_are_not_decoded_ahead() {
        let mut points = Vec::new();
        for _ in 0..40 {
            points.extend(field(1, &[]));
        }
        let metric = [field(1, b"m"), field(5, &points)].concat();
        let mut record = Vec::new();
        for _ in 0..100 {
            record.extend(field(1, &field(2, &field(2, &metric))));
        }
        let mut decoded = Decoded::default();
        assert_eq!(AheadDecoder::OtlpProto(STRICT).decode(&record, &mut decoded), None);
        assert_eq!(alone(&record, STRICT).unwrap().0.len(), 100 * (3 + 40));
    }
}
