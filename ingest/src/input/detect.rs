//! What the first bytes of a content say.

use super::depth::Depth;
use super::frames;
use crate::otlp::looks_like_request;
use crate::prometheus::proto::looks_like_metric_families;
use crate::prometheus::remote_write::looks_like_remote_write;
use crate::prometheus::text::looks_like_text;

/// A kind of record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `ExportMetricsServiceRequest`s of OTLP as JSON: one per line, or with their lengths before them.
    OtlpJson,
    /// `ExportMetricsServiceRequest`s of OTLP as protobuf: with their lengths before them, or one alone.
    OtlpProto,
    /// Objects of label to value: one per line, or in an array, or in the array of a response of Prometheus's series
    /// API.
    SeriesJson,
    /// The text that Prometheus scrapes, line by line. Its timestamps count milliseconds, those of OpenMetrics seconds;
    /// which it is shows in each of them.
    PrometheusText,
    /// The same, where it was said that timestamps count seconds.
    OpenMetrics,
    /// `io.prometheus.client.MetricFamily` messages as protobuf, each with its length before it.
    PrometheusProto,
    /// One request of remote write: protobuf within snappy.
    RemoteWrite,
}

impl Format {
    /// The name that `--format` knows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OtlpJson => "otlp-json",
            Self::OtlpProto => "otlp-proto",
            Self::SeriesJson => "series-json",
            Self::PrometheusText => "prometheus-text",
            Self::OpenMetrics => "openmetrics",
            Self::PrometheusProto => "prometheus-proto",
            Self::RemoteWrite => "remote-write",
        }
    }
}

/// How records stand in the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// One per line.
    Lines,
    /// Each with its length before it, in four bytes.
    Frames,
    /// Each with its length before it, as a varint.
    Delimited,
    /// One, which is the whole content.
    Whole,
    /// Values of JSON one after the other, over many lines.
    Values,
    /// In a JSON array.
    Array,
    /// In the array `data` of a JSON object.
    Response,
}

/// What a content looks like that is of no format.
pub(super) type Found = &'static str;

/// The format of a content, by its first bytes. An object whose first field that is no string is called
/// `resourceMetrics` is a request, one where it is an array called `data`, or comes after a `status`, is a response,
/// and one with nothing but strings is a series.
///
/// Nothing but white space is a content without records. `{}` says nothing, so that the next object decides; alone it
/// is a request without resources.
pub(super) fn detect(head: &[u8]) -> Result<(Format, Framing), Found> {
    // Before OTLP: a family of ten bytes begins with two of the bytes with which requests begin.
    if looks_like_metric_families(head) {
        return Ok((Format::PrometheusProto, Framing::Delimited));
    }
    if looks_like_request(head) {
        return Ok((Format::OtlpProto, Framing::Whole));
    }
    if let Some(format) = framed(head) {
        return Ok((format, Framing::Frames));
    }
    if looks_like_remote_write(head) {
        return Ok((Format::RemoteWrite, Framing::Whole));
    }
    let mut scan = Scan { rest: head };
    match scan.token() {
        None => Ok((Format::OtlpJson, Framing::Lines)),
        Some(b'[') => Ok((Format::SeriesJson, Framing::Array)),
        Some(b'{') => scan.object().map(|found| match found {
            (format, Framing::Lines) => (format, objects(head)),
            found => found,
        }),
        Some(_) if looks_like_text(head) => Ok((Format::PrometheusText, Framing::Lines)),
        Some(_) => Err("this is of no known format"),
    }
}

/// How records of a format stand in a content.
pub(super) fn framing(format: Format, head: &[u8]) -> Framing {
    let is_framed = framed(head).is_some();
    match (format, detect(head)) {
        (_, Ok((found, framing))) if found == format => framing,
        // Cut off before the field that decides, an object looks like a series.
        (Format::OtlpJson, Ok((Format::SeriesJson, framing @ (Framing::Lines | Framing::Values)))) => framing,
        (Format::OtlpProto, _) if !is_framed && head.first() == Some(&0x0a) => Framing::Whole,
        (Format::OtlpProto, _) => Framing::Frames,
        // No JSON begins with such a byte, also where the first message is cut off.
        (Format::OtlpJson, _) if head.first().is_some_and(|&first| first <= 3) => Framing::Frames,
        (Format::RemoteWrite, _) => Framing::Whole,
        (Format::PrometheusProto, _) => Framing::Delimited,
        _ => Framing::Lines,
    }
}

/// The format of messages with their lengths before them, if the content looks like that.
fn framed(head: &[u8]) -> Option<Format> {
    // Text has no such byte, and no message has 64 MiB or more unless that is allowed.
    if head.first().is_none_or(|&first| first > 3) {
        return None;
    }
    let message = frames::first_message(head);
    match message.first() {
        Some(b'{') => Some(Format::OtlpJson),
        Some(0x0a) => Some(Format::OtlpProto),
        _ => None,
    }
}

/// Whether objects stand on lines of their own, or where they like.
fn objects(head: &[u8]) -> Framing {
    let mut depth = Depth::default();
    let mut lines = head.trim_ascii_start().iter().take_while(|&&byte| {
        let continues = byte != b'\n' || depth.in_string;
        depth.pass(byte);
        continues
    });
    let is_whole_line = lines.by_ref().count() < head.trim_ascii_start().len();
    if is_whole_line && !depth.is_outside() { Framing::Values } else { Framing::Lines }
}

struct Scan<'a> {
    rest: &'a [u8],
}

impl Scan<'_> {
    /// The next byte that is no white space.
    fn token(&mut self) -> Option<u8> {
        let rest = self.rest.trim_ascii_start();
        let (&token, rest) = rest.split_first()?;
        self.rest = rest;
        Some(token)
    }

    /// Reads the rest of a string whose opening quote was read. Escapes stay as written: none of the expected names has one.
    fn string(&mut self) -> Option<&[u8]> {
        let mut depth = Depth::IN_STRING;
        let end = self.rest.iter().position(|&byte| {
            depth.pass(byte);
            !depth.in_string
        })?;
        let (text, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest.get(1..)?;
        Some(text)
    }

    /// The rest of an object whose brace was read, up to the first field that decides.
    fn object(&mut self) -> Result<(Format, Framing), Found> {
        let series = Ok((Format::SeriesJson, Framing::Lines));
        let (mut is_first, mut has_status, mut has_failed) = (true, false, false);
        loop {
            match self.token() {
                Some(b'"') => {}
                // An empty object says nothing; what follows it does.
                Some(b'}') if is_first => match self.token() {
                    Some(b'{') => continue,
                    _ => return Ok((Format::OtlpJson, Framing::Lines)),
                },
                // The end of what is looked at, or of an object of strings, or a mistake that will be found.
                _ => return series,
            }
            is_first = false;
            let Some(name) = self.string().map(<[u8]>::to_vec) else {
                return series;
            };
            if self.token() != Some(b':') {
                return series;
            }
            match (name.as_slice(), self.token()) {
                (b"resourceMetrics" | b"resource_metrics", _) => {
                    return Ok((Format::OtlpJson, Framing::Lines));
                }
                // A refusal is an object of strings too, and no series.
                (b"errorType", Some(b'"')) if has_failed => {
                    return Ok((Format::SeriesJson, Framing::Response));
                }
                (_, Some(b'"')) => {
                    let Some(value) = self.string() else {
                        return series;
                    };
                    has_status |= name == b"status";
                    has_failed |= name == b"status" && value == b"error";
                    if self.token() != Some(b',') {
                        return series;
                    }
                }
                (b"data", Some(b'[' | b'n')) => return Ok((Format::SeriesJson, Framing::Response)),
                // Other servers of this API say more before the data, such as whether these are partial.
                _ if has_status => return Ok((Format::SeriesJson, Framing::Response)),
                (b"resourceLogs" | b"resourceSpans" | b"resourceProfiles", _) => {
                    return Err("this looks like OTLP, but not like metrics");
                }
                _ => return Err("this is JSON, but neither a request of OTLP metrics nor series"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_told_apart_by_their_first_bytes() {
        const OTLP: Result<(Format, Framing), Found> = Ok((Format::OtlpJson, Framing::Lines));
        const LINES: Result<(Format, Framing), Found> = Ok((Format::SeriesJson, Framing::Lines));
        const ARRAY: Result<(Format, Framing), Found> = Ok((Format::SeriesJson, Framing::Array));
        const RESPONSE: Result<(Format, Framing), Found> = Ok((Format::SeriesJson, Framing::Response));
        for (head, expected) in [
            ("", OTLP),
            (" \n\r\n", OTLP),
            ("{}", OTLP),
            ("{}\n{}\n", OTLP),
            ("{ \r }\n{\"a\":\"b\"}", LINES),
            ("{}\n{\"resourceMetrics\":[]}", OTLP),
            (r#"{"resourceMetrics":[]}"#, OTLP),
            ("\n { \"resource_metrics\" : [", OTLP),
            (r#"{"a":"b"}"#, LINES),
            (r#"{"data":"[","status":"success"}"#, LINES),
            (r#"{"a\"":"}\\","resourceMetrics":"no"}"#, OTLP),
            (r#"{"a":"cut off"#, LINES),
            ("[]", ARRAY),
            ("\n[\n{", ARRAY),
            (r#"{"status":"success","data":[{"#, RESPONSE),
            ("{\n  \"status\": \"success\",\n  \"data\": [\n", RESPONSE),
            (r#"{"status":"error","data":null}"#, RESPONSE),
            (r#"{"status":"error","errorType":"bad_data","error":"no"}"#, RESPONSE),
            (r#"{"status":"error","job":"api"}"#, LINES),
            (r#"{"status":"success","isPartial":false,"data":[{"#, RESPONSE),
            (r#"{"resourceLogs":[]}"#, Err("this looks like OTLP, but not like metrics")),
            (r#"{"a":1}"#, Err("this is JSON, but neither a request of OTLP metrics nor series")),
            ("# HELP up\n", Ok((Format::PrometheusText, Framing::Lines))),
            ("\0\0\x12\0{", Ok((Format::OtlpJson, Framing::Frames))),
            ("\0\0\0\0\0\0\x12\0{", Ok((Format::OtlpJson, Framing::Frames))),
            ("\0\0\x12\0\n\x02\x0a\0", Ok((Format::OtlpProto, Framing::Frames))),
            ("\n\u{12}\n\u{10}\n\u{e}", Ok((Format::OtlpProto, Framing::Whole))),
            ("\n\n\n\n\n\nup 1\n", Ok((Format::PrometheusText, Framing::Lines))),
            ("\n\n\n\n\n\n\n\n", Ok((Format::OtlpJson, Framing::Lines))),
            ("\x0f\n\x02up\x12\x05is up\x18\x01\x22\0", Ok((Format::PrometheusProto, Framing::Delimited))),
            ("\n\n\x04up_a\x18\x01\x22\0", Ok((Format::PrometheusProto, Framing::Delimited))),
            ("\x7f\n\x02up\x18", Ok((Format::PrometheusProto, Framing::Delimited))),
            ("\x7f\n\x02u p\x18", Err("this is of no known format")),
            ("\x01\0\0\0{\"resourceMetrics\"", Ok((Format::OtlpJson, Framing::Frames))),
            ("\n\n{\n\"resourceMetrics\":[\n", Ok((Format::OtlpJson, Framing::Values))),
            ("{\n  \"__name__\": \"up\"\n}\n", Ok((Format::SeriesJson, Framing::Values))),
            ("up 1\n", Ok((Format::PrometheusText, Framing::Lines))),
            ("up is not it\n", Err("this is of no known format")),
            ("\u{7f}ELF", Err("this is of no known format")),
        ] {
            assert_eq!(detect(head.as_bytes()), expected, "{head:?}");
        }
    }
}
