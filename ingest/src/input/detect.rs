//! Detection of format and framing by the first bytes of content.

use super::depth::Depth;
use super::frames;
use super::messages::{looks_like_arrow_file, looks_like_stream};
use crate::columns::PARQUET_MAGIC;
use crate::otlp::looks_like_request;
use crate::prometheus::proto::{looks_like_metric_families, looks_like_metric_set};
use crate::prometheus::remote_write::looks_like_remote_write;
use crate::prometheus::text::{is_mostly_text, looks_like_settings, looks_like_text};
use crate::series_csv::looks_like_csv;
use crate::series_json::{WRAPPERS, is_ref_name};

/// Format of the records of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `ExportMetricsServiceRequest`s of OTLP as JSON: one per line, in an array, or length-prefixed.
    OtlpJson,
    /// `ExportMetricsServiceRequest`s of OTLP as protobuf: length-prefixed, or a single one.
    OtlpProto,
    /// Objects of label to value: one per line, or in an array, or in the array of a response of Prometheus's API for
    /// series or queries.
    SeriesJson,
    /// Exposition text, line by line. Timestamps are milliseconds in the Prometheus format and seconds in OpenMetrics;
    /// the notation of each timestamp shows which.
    PrometheusText,
    /// Exposition text whose timestamps are seconds.
    OpenMetrics,
    /// `io.prometheus.client.MetricFamily` messages as protobuf, each after its length.
    PrometheusProto,
    /// A `MetricSet` of OpenMetrics as protobuf. Its families are records.
    OpenMetricsProto,
    /// One remote-write request: protobuf within snappy.
    RemoteWrite,
    /// A Parquet file, whose rows are series. As a sequence of records it is cut anywhere.
    Parquet,
    /// Messages of Arrow IPC, as a file or a stream. The rows of batches are series.
    Arrow,
    /// CSV with a header. Records are series.
    Csv,
}

impl Format {
    /// Returns the name that `--format` uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OtlpJson => "otlp-json",
            Self::OtlpProto => "otlp-proto",
            Self::SeriesJson => "series-json",
            Self::PrometheusText => "prometheus-text",
            Self::OpenMetrics => "openmetrics",
            Self::PrometheusProto => "prometheus-proto",
            Self::OpenMetricsProto => "openmetrics-proto",
            Self::RemoteWrite => "remote-write",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Csv => "csv",
        }
    }
}

/// Framing of the records in the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// One per line.
    Lines,
    /// Each after its length of four bytes.
    Frames,
    /// Each after its length as a varint.
    Delimited,
    /// Each after the key of its field and its length as a varint.
    Fields,
    /// The whole content is one record.
    Whole,
    /// Concatenated JSON values over many lines.
    Values,
    /// Elements of a JSON array.
    Array,
    /// Elements of the array `data` of a JSON object, or of `result` in its object `data`.
    Response,
    /// Messages of Arrow IPC.
    Messages,
    /// Records of CSV.
    Csv,
    /// Parts of any length.
    Chunks,
}

/// Description of content with an unsupported format.
pub(super) type Found = &'static str;

/// JSON whose first field that is not text is unknown.
const OTHER_JSON: Found = "JSON, but neither OTLP metrics nor series";

/// Returns the reason why content that was found in a folder is not a capture: JSON objects of texts are frequent, and
/// are series only if they have a metric name.
pub(super) fn foreign(head: &[u8], format: Format) -> Option<Found> {
    let has = |text: &[u8]| memchr::memmem::find(head, text).is_some();
    if format == Format::SeriesJson && has(b"\"resultType\"") {
        return Some("the result of a query, whose series may be computed (name it, or set --format)");
    }
    if format == Format::PrometheusText && looks_like_settings(head) {
        return Some("settings or a script, not samples");
    }
    // A response that says why it has no series is an input that failed.
    let is_series = format != Format::SeriesJson || has(b"\"__name__\"") || has(b"\"errorType\"");
    (!is_series).then_some("JSON objects without a metric name (__name__)")
}

/// Detects format and framing by the first bytes of content.
///
/// The first field of a JSON object that is not a string decides: an object is an OTLP request if that field is
/// `resourceMetrics`, and a response if it is an array `data` or comes after `status`. An object of strings is a
/// series.
///
/// Content of white space has no records. After `{}` the next object decides; a single `{}` is a request without
/// resources.
pub(super) fn detect(head: &[u8]) -> Result<(Format, Framing), Found> {
    if head.starts_with(&PARQUET_MAGIC) {
        return Ok((Format::Parquet, Framing::Chunks));
    }
    if looks_like_arrow_file(head) {
        return Ok((Format::Arrow, Framing::Chunks));
    }
    if looks_like_stream(head) {
        return Ok((Format::Arrow, Framing::Messages));
    }
    if looks_like_csv(head) {
        return Ok((Format::Csv, Framing::Csv));
    }
    // Before OTLP: a family of ten bytes begins like a request.
    if looks_like_metric_families(head) {
        return Ok((Format::PrometheusProto, Framing::Delimited));
    }
    if looks_like_metric_set(head) {
        return Ok((Format::OpenMetricsProto, Framing::Fields));
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
        Some(b'[') => scan.array(),
        // Labels of a sample, the name of the metric among them.
        Some(b'{') if scan.begins_with_word() => text(head),
        Some(b'{') => scan.object().map(|found| match found {
            (format, Framing::Lines) => (format, objects(head)),
            found => found,
        }),
        Some(_) => text(head),
    }
}

fn text(head: &[u8]) -> Result<(Format, Framing), Found> {
    let is_text = looks_like_text(head) || is_mostly_text(head);
    if is_text { Ok((Format::PrometheusText, Framing::Lines)) } else { Err("unrecognized format") }
}

/// Returns the framing of records of a known format.
pub(super) fn framing(format: Format, head: &[u8]) -> Framing {
    let is_framed = framed(head).is_some();
    match (format, detect(head)) {
        (_, Ok((found, framing))) if found == format => framing,
        // Cut off before the field that decides, an object looks like a series.
        (Format::OtlpJson, Ok((Format::SeriesJson, framing @ (Framing::Lines | Framing::Values)))) => framing,
        (Format::OtlpProto, _) if !is_framed && head.first() == Some(&0x0a) => Framing::Whole,
        (Format::OtlpProto, _) => Framing::Frames,
        // JSON never begins with such a byte, so the message is framed even if it is cut off.
        (Format::OtlpJson, _) if head.first().is_some_and(|&first| first <= 3) => Framing::Frames,
        (Format::OtlpJson | Format::SeriesJson, _) if head.trim_ascii_start().starts_with(b"[") => Framing::Array,
        (Format::RemoteWrite, _) => Framing::Whole,
        (Format::PrometheusProto, _) => Framing::Delimited,
        (Format::OpenMetricsProto, _) => Framing::Fields,
        (Format::Parquet, _) => Framing::Chunks,
        (Format::Arrow, _) => Framing::Messages,
        (Format::Csv, _) => Framing::Csv,
        _ => Framing::Lines,
    }
}

/// Returns the format of length-prefixed messages, or `None` if the content does not look like them.
fn framed(head: &[u8]) -> Option<Format> {
    // Text has no such byte, and messages of 64 MiB or more are not allowed by default.
    if head.first().is_none_or(|&first| first > 3) {
        return None;
    }
    let message = frames::first_message(head);
    match message.first() {
        Some(b'{') => Some(Format::OtlpJson),
        Some(0x0a) if looks_like_request(&message) => Some(Format::OtlpProto),
        _ => None,
    }
}

/// Returns the framing of JSON objects: one per line, or over many lines.
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
    /// Skips white space and returns the next byte.
    fn token(&mut self) -> Option<u8> {
        let rest = self.rest.trim_ascii_start();
        let (&token, rest) = rest.split_first()?;
        self.rest = rest;
        Some(token)
    }

    /// Returns true if the next token is a word that is not in quotes.
    fn begins_with_word(&self) -> bool {
        self.rest.trim_ascii_start().first().is_some_and(|&byte| byte == b'_' || byte.is_ascii_alphabetic())
    }

    /// Reads the rest of a string whose opening quote was read. Escapes stay as written: none of the expected names has
    /// one.
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

    /// Reads an array after its opening bracket, up to the field of its first object that decides.
    fn array(&mut self) -> Result<(Format, Framing), Found> {
        match self.token() {
            None | Some(b']') => Ok((Format::SeriesJson, Framing::Array)),
            Some(b'{') => match self.object()? {
                (format, Framing::Lines) => Ok((format, Framing::Array)),
                _ => Err("a JSON array of responses; give each of them as a file, or one after the other"),
            },
            Some(b'"' | b'[' | b'0'..=b'9' | b'-') => Err(OTHER_JSON),
            // A section of a configuration file, for example.
            Some(_) => Err("unrecognized format"),
        }
    }

    /// Reads an object after its opening brace, up to the first field that decides.
    fn object(&mut self) -> Result<(Format, Framing), Found> {
        let series = Ok((Format::SeriesJson, Framing::Lines));
        let (mut is_first, mut has_status, mut has_failed, mut has_ref) = (true, false, false, false);
        loop {
            match self.token() {
                Some(b'"') => {}
                // After an empty object the next one decides.
                Some(b'}') if is_first => match self.token() {
                    Some(b'{') => continue,
                    _ => return Ok((Format::OtlpJson, Framing::Lines)),
                },
                // The end of the examined bytes or of an object of strings, or a syntax error that decoding will
                // report.
                _ => return series,
            }
            let is_only_name = std::mem::take(&mut is_first);
            let Some(name) = self.string().map(<[u8]>::to_vec) else {
                return series;
            };
            match self.token() {
                Some(b':') => {}
                // A quoted metric name, or a quoted label name and its value.
                Some(b',' | b'}' | b'=') if is_only_name => return Ok((Format::PrometheusText, Framing::Lines)),
                _ => return series,
            }
            match (name.as_slice(), self.token()) {
                // A label of an export may have any name.
                (b"resourceMetrics" | b"resource_metrics", value) if !has_ref || value != Some(b'"') => {
                    return Ok((Format::OtlpJson, Framing::Lines));
                }
                // An error response is an object of strings too.
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
                (name, Some(b'{')) if WRAPPERS.iter().any(|wrapper| wrapper.as_bytes() == name) => return series,
                // An export of a block.
                (name, Some(b'0'..=b'9')) if str::from_utf8(name).is_ok_and(is_ref_name) => {
                    has_ref = true;
                    let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                    self.rest = self.rest.get(digits..).unwrap_or_default();
                    if self.token() != Some(b',') {
                        return series;
                    }
                }
                (_, None) => return series,
                (b"data", Some(b'[' | b'n')) => return Ok((Format::SeriesJson, Framing::Response)),
                // Some servers of this API add fields before the data, for example whether it is partial.
                _ if has_status => return Ok((Format::SeriesJson, Framing::Response)),
                // A label without a value.
                (_, Some(b'n')) if self.rest.starts_with(b"ull") => {
                    self.rest = self.rest.get(3..).unwrap_or_default();
                    if self.token() != Some(b',') {
                        return series;
                    }
                }
                (b"resourceLogs" | b"resourceSpans" | b"resourceProfiles", _) => {
                    return Err("OTLP data, but not metrics");
                }
                _ => return Err(OTHER_JSON),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_detected_by_the_first_bytes() {
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
            (r#"{"series_ref":17,"a":"b"}"#, LINES),
            (r#"{"series_ref":17,"resourceMetrics":"a","status":"error"}"#, LINES),
            (r#"{"_series_ref":17,"a":"b"}"#, LINES),
            (r#"{"series_ref":17,"labels":{"a":"b"}}"#, LINES),
            (r#"{"metric":{"__name__":"up"},"values":[1],"timestamps":[1]}"#, LINES),
            (r#"{"series_ref":17,"a":1}"#, Err("JSON, but neither OTLP metrics nor series")),
            (r#"{"data":"[","status":"success"}"#, LINES),
            (r#"{"a\"":"}\\","resourceMetrics":"no"}"#, OTLP),
            (r#"{"a":"cut off"#, LINES),
            (r#"{"a":null,"b":"c"}"#, LINES),
            (r#"{"a":null}"#, LINES),
            (r#"{"a":null,"b":1}"#, Err("JSON, but neither OTLP metrics nor series")),
            ("[]", ARRAY),
            ("\n[\n{", ARRAY),
            ("[{\"a\":\"b\"},", ARRAY),
            ("[ {\"resourceMetrics\":[]},", Ok((Format::OtlpJson, Framing::Array))),
            (
                "[{\"status\":\"success\",\"data\":[",
                Err("a JSON array of responses; give each of them as a file, or one after the other"),
            ),
            ("[{\"a\":1}]", Err("JSON, but neither OTLP metrics nor series")),
            ("[\"a\",\"b\"]", Err("JSON, but neither OTLP metrics nor series")),
            ("[[1,\"2\"]]", Err("JSON, but neither OTLP metrics nor series")),
            ("[mysqld]\nport=3306\n", Err("unrecognized format")),
            (r#"{"status":"success","data":[{"#, RESPONSE),
            ("{\n  \"status\": \"success\",\n  \"data\": [\n", RESPONSE),
            (r#"{"status":"error","data":null}"#, RESPONSE),
            (r#"{"status":"error","errorType":"bad_data","error":"no"}"#, RESPONSE),
            (r#"{"status":"error","job":"api"}"#, LINES),
            (r#"{"status":"success","isPartial":false,"data":[{"#, RESPONSE),
            (r#"{"resourceLogs":[]}"#, Err("OTLP data, but not metrics")),
            (r#"{"a":1}"#, Err("JSON, but neither OTLP metrics nor series")),
            ("# HELP up\n", Ok((Format::PrometheusText, Framing::Lines))),
            ("\0\0\x12\0{", Ok((Format::OtlpJson, Framing::Frames))),
            ("\0\0\0\0\0\0\x12\0{", Ok((Format::OtlpJson, Framing::Frames))),
            ("\0\0\x12\0\n\x02\x0a\0", Ok((Format::OtlpProto, Framing::Frames))),
            ("\n\u{12}\n\u{10}\n\u{e}", Ok((Format::OtlpProto, Framing::Whole))),
            ("\n\n\n\n\n\nup 1\n", Ok((Format::PrometheusText, Framing::Lines))),
            ("\n\n\n\n\n\n\n\n", Ok((Format::OtlpJson, Framing::Lines))),
            ("\x0f\n\x02up\x12\x05is up\x18\x01\x22\0", Ok((Format::PrometheusProto, Framing::Delimited))),
            ("\n\x0a\n\x02up\x10\x01\x2a\x02\x12\0", Ok((Format::OpenMetricsProto, Framing::Fields))),
            ("\n\n\x04up_a\x18\x01\x22\0", Ok((Format::PrometheusProto, Framing::Delimited))),
            ("\x7f\n\x02up\x18", Ok((Format::PrometheusProto, Framing::Delimited))),
            ("\x7f\n\x02u p\x18", Err("unrecognized format")),
            ("\x01\0\0\0{\"resourceMetrics\"", Ok((Format::OtlpJson, Framing::Frames))),
            ("\n\n{\n\"resourceMetrics\":[\n", Ok((Format::OtlpJson, Framing::Values))),
            ("{\n  \"__name__\": \"up\"\n}\n", Ok((Format::SeriesJson, Framing::Values))),
            ("up 1\n", Ok((Format::PrometheusText, Framing::Lines))),
            ("{\"a.b\",le=\"1\"} 2\n", Ok((Format::PrometheusText, Framing::Lines))),
            ("{\"a.b\"} 2\n", Ok((Format::PrometheusText, Framing::Lines))),
            ("{\"le.a\"=\"1\"} 2\n", Ok((Format::PrometheusText, Framing::Lines))),
            ("{__name__=\"up\", job=\"a\"} 1 1700000000000\n", Ok((Format::PrometheusText, Framing::Lines))),
            ("{job=\"a\"}\n", Err("unrecognized format")),
            ("a{b=\"c\"} 1\nbroken line\na{b=\"d\"} 1\n", Ok((Format::PrometheusText, Framing::Lines))),
            ("a 1\nbroken line\na 1\n", Err("unrecognized format")),
            ("{\"a\":\"b\",\"c\"}", LINES),
            ("__name__,job\nup,a\n", Ok((Format::Csv, Framing::Csv))),
            ("job,pod\na,b\n", Err("unrecognized format")),
            ("PAR1\u{15}\0", Ok((Format::Parquet, Framing::Chunks))),
            ("ARROW1\0\0", Ok((Format::Arrow, Framing::Chunks))),
            ("\u{7f}ARROW1\0\0", Err("unrecognized format")),
            ("ARROW1 is text\n", Err("unrecognized format")),
            ("up is not it\n", Err("unrecognized format")),
            ("\u{7f}ELF", Err("unrecognized format")),
        ] {
            assert_eq!(detect(head.as_bytes()), expected, "{head:?}");
        }
    }
}
