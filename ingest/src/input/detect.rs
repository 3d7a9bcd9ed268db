//! What the first bytes of a content say.

/// A kind of record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// One `ExportMetricsServiceRequest` of OTLP as JSON per line.
    OtlpJson,
    /// Objects of label to value: one per line, or in an array, or in the array of a response of Prometheus's series
    /// API.
    SeriesJson,
}

impl Format {
    /// The name that `--format` knows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OtlpJson => "otlp-json",
            Self::SeriesJson => "series-json",
        }
    }
}

/// How records stand in the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// One per line.
    Lines,
    /// In a JSON array.
    Array,
    /// In the array `data` of a JSON object.
    Response,
}

/// What a content looks like that is of neither format.
pub(super) type Found = &'static str;

/// The format of a content, by its first bytes: an object whose first field that is no string is called
/// `resourceMetrics` is a request, one where it is an array called `data`, or comes after a `status`, is a response,
/// and one with nothing but strings is a series.
///
/// Nothing but white space is a content without records. `{}` says nothing, so that the next object decides; alone it is a request without
/// resources.
pub(super) fn detect(head: &[u8]) -> Result<(Format, Framing), Found> {
    let mut scan = Scan { rest: head };
    match scan.token() {
        None => Ok((Format::OtlpJson, Framing::Lines)),
        Some(b'[') => Ok((Format::SeriesJson, Framing::Array)),
        Some(b'{') => scan.object(),
        Some(_) if head.first() == Some(&0x0a) => Err("this looks like a protobuf request"),
        Some(0) => Err("this looks like messages with their lengths before them"),
        Some(b'#') => Err("this looks like the text format of Prometheus"),
        Some(_) => Err("this is no JSON"),
    }
}

/// The framing of series-json, when the format was said.
pub(super) fn series_framing(head: &[u8]) -> Framing {
    match detect(head) {
        Ok((Format::SeriesJson, framing)) => framing,
        _ => Framing::Lines,
    }
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

    /// The rest of a string whose first quote was read. Escapes stay as they are: no name that is looked for needs one.
    fn string(&mut self) -> Option<&[u8]> {
        let mut escaped = false;
        let end = self.rest.iter().position(|&byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
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
            ("# HELP up\n", Err("this looks like the text format of Prometheus")),
            ("\0\0\x12\0{", Err("this looks like messages with their lengths before them")),
            ("\n\u{12}\n\u{10}", Err("this looks like a protobuf request")),
            ("up 1\n", Err("this is no JSON")),
        ] {
            assert_eq!(detect(head.as_bytes()), expected, "{head:?}");
        }
    }
}
