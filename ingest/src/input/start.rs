//! Start of the records in content whose first bytes are cut off or damaged: [`find_start`] and [`find_frames`].
//!
//! Files that are rotated by size begin within a record, files that are truncated while a program writes to them begin
//! with NUL bytes, and a crash tears a line. The lines after these are whole.
//!
//! A first line that is the start of a record is a malformed record like any other. Anything else is the rest of a
//! record in another file.

use super::depth::Depth;
use super::detect::{Format, Framing, detect};
use super::frames;
use super::source::MIN_NUL_BYTES;
use crate::otlp::looks_like_request;
use crate::prometheus::text::{is_line_of_text, is_mostly_text, looks_like_text};

/// Maximum number of lines before exposition text. The headers of an HTTP response are as many.
const MAX_DAMAGED_LINES: usize = 16;

/// First bytes of lines with OTLP requests.
const REQUEST_STARTS: [&[u8]; 2] = [br#"{"resourceMetrics""#, br#"{"resource_metrics""#];

/// Length-prefixed messages in a row that no other content has.
const MIN_FRAMES: usize = 2;

/// Start of records. It is after damaged bytes, or its first record is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) format: Format,
    pub(super) framing: Framing,
    /// Bytes before the first record.
    pub(super) offset: usize,
}

/// Finds the first line that is a record, if the lines before it are not: whole JSON objects on lines, or lines of
/// exposition text. Returns `None` if the content begins with a record, or if no line is one.
pub(super) fn find_start(head: &[u8]) -> Option<Start> {
    let first = first_line(head);
    if first == First::Whole {
        return None;
    }
    let mut offset = 0;
    for (number, line) in head.split_inclusive(|&byte| byte == b'\n').enumerate() {
        // NUL bytes end where the next write began.
        let nul_count = nul_count(line);
        let start = offset + nul_count;
        let content = line.get(nul_count..).unwrap_or_default();
        if start > 0 {
            if let Some(format) = json_line(content) {
                let offset = if first == First::Torn { 0 } else { start };
                return Some(Start { format, framing: Framing::Lines, offset });
            }
            // The rest is parsed for a few lines only: a file may have very many.
            if number <= MAX_DAMAGED_LINES && first == First::Fragment {
                let rest = head.get(start..).unwrap_or_default();
                if is_line_of_text(content) && is_mostly_text(rest) || nul_count > 0 && looks_like_text(rest) {
                    return Some(Start { format: Format::PrometheusText, framing: Framing::Lines, offset: start });
                }
            }
        }
        offset += line.len();
    }
    None
}

/// Finds the first length-prefixed message, if the bytes before it are not one. Returns `None` if the content begins
/// with a message, or if no messages follow each other. The content ends with the head if `is_all`.
pub(super) fn find_frames(head: &[u8], is_all: bool) -> Option<Start> {
    let nul_count = nul_count(head);
    if detect(head).is_ok() && nul_count < MIN_NUL_BYTES {
        return None;
    }
    // The length of a message has up to three zeros at its start.
    let first = nul_count.saturating_sub(frames::LENGTH_LEN - 1).max(1);
    (first..head.len()).find_map(|offset| {
        let format = frames_at(head.get(offset..).unwrap_or_default(), is_all)?;
        Some(Start { format, framing: Framing::Frames, offset })
    })
}

/// Returns the number of NUL bytes at the start.
fn nul_count(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| byte == 0).count()
}

/// Returns the format of messages that follow each other.
fn frames_at(bytes: &[u8], is_all: bool) -> Option<Format> {
    let (mut rest, mut format, mut count) = (bytes, None, 0);
    while count < MIN_FRAMES {
        let (length, after) = rest.split_first_chunk().filter(|_| !rest.is_empty())?;
        let length = u32::from_be_bytes(*length) as usize;
        let (message, after) = after.split_at_checked(length)?;
        let found = message_format(message)?;
        if *format.get_or_insert(found) != found {
            return None;
        }
        count += 1;
        if after.is_empty() && is_all {
            break;
        }
        rest = after;
    }
    format
}

/// Returns the format of a message, which may be compressed.
fn message_format(message: &[u8]) -> Option<Format> {
    match &*frames::content_start(message) {
        content if content.starts_with(REQUEST_STARTS[0]) => Some(Format::OtlpJson),
        content if content.starts_with(b"\x0a") && looks_like_request(content) => Some(Format::OtlpProto),
        _ => None,
    }
}

/// State of the first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    /// A record, or a part of one that is longer than the head.
    Whole,
    /// Start of a JSON object, which the line does not close.
    Torn,
    /// Not the start of a record.
    Fragment,
}

fn first_line(head: &[u8]) -> First {
    if nul_count(head) >= MIN_NUL_BYTES {
        return First::Fragment;
    }
    match detect(head) {
        Ok((Format::OtlpJson | Format::SeriesJson, Framing::Lines | Framing::Values)) => {
            let head = head.trim_ascii_start();
            let line = head.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
            match object(line) {
                _ if !line.ends_with(b"\n") => First::Whole,
                Object::Whole => First::Whole,
                Object::Open => First::Torn,
                Object::Not => First::Fragment,
            }
        }
        Ok((Format::PrometheusText, _)) => {
            let line = head.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
            if is_line_of_text(line) { First::Whole } else { First::Fragment }
        }
        Ok(_) => First::Whole,
        Err(_) => First::Fragment,
    }
}

/// Returns the format of a line that is a whole JSON object, or the start of a long one.
fn json_line(line: &[u8]) -> Option<Format> {
    let is_request = REQUEST_STARTS.iter().any(|start| line.starts_with(start));
    if is_request && (!line.ends_with(b"\n") || object(line) == Object::Whole) {
        return Some(Format::OtlpJson);
    }
    // Logs are lines of JSON too: without a metric name, a line shows nothing.
    let has_name = memchr::memmem::find(line, br#""__name__""#).is_some();
    let is_series = || detect(line) == Ok((Format::SeriesJson, Framing::Lines)) && object(line) == Object::Whole;
    (has_name && is_series()).then_some(Format::SeriesJson)
}

/// JSON object on a line, by its braces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Object {
    Whole,
    /// The line ends within the object.
    Open,
    /// The line is not an object, or more than one.
    Not,
}

fn object(line: &[u8]) -> Object {
    let line = line.trim_ascii();
    let mut depth = Depth::default();
    let closes_early = line.iter().enumerate().any(|(place, &byte)| {
        depth.pass(byte);
        depth.is_outside() && place + 1 < line.len()
    });
    match () {
        () if !line.starts_with(b"{") || closes_early => Object::Not,
        () if depth.is_outside() => Object::Whole,
        () => Object::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_after_damage_are_found() {
        const OTLP: &str = "{\"resourceMetrics\":[{}]}\n";
        const SERIES: &str = "{\"__name__\":\"up\"}\n";
        let find = |head: String| find_start(head.as_bytes()).map(|start| (start.format, start.offset));
        for (damage, is_skipped) in [
            (":\"m3\"}]}]}\n", true),
            ("\"}},{\"key\":\"a\",\"value\":{}}]}]}\n", true),
            ("{\"stringValue\":\"x\"}},{}]}\n", true),
            // The start of a record is a malformed record.
            ("{\"resourceMetrics\":[{\"resource\n", false),
            ("{\"resourceMetrics\":[{\"resource\":\"\n\n", false),
            ("\0\0\0\0\0", true),
            ("\0\0\0:\"m3\"}]}\n\0", true),
            ("\u{fffd}\n12\nx\n", true),
        ] {
            let expected = if is_skipped { damage.len() } else { 0 };
            let start = |format| Some((format, expected));
            assert_eq!(find(format!("{damage}{OTLP}{OTLP}")), start(Format::OtlpJson), "{damage:?}");
            // A long request is cut off at the end of the head.
            assert_eq!(find(format!("{damage}{}", &OTLP[..20])), start(Format::OtlpJson), "{damage:?}");
            assert_eq!(find(format!("{damage}{SERIES}{SERIES}")), start(Format::SeriesJson), "{damage:?}");
        }
        let text = |at| Some((Format::PrometheusText, at));
        assert_eq!(find("up{a=\"\u{fffd}\nup{a=\"b\"} 1\nup{a=\"c\"} 1\n".to_owned()), text(7 + 3));
        let nul = "\0".repeat(MIN_NUL_BYTES);
        assert_eq!(find(format!("{nul}up{{a=\"b\"}} 1\nup 2\n")), text(MIN_NUL_BYTES));
        let headers = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: now\r\n\r\n";
        assert_eq!(find(format!("{headers}# TYPE up gauge\nup 1\nup{{a=\"b\"}} 1\n")), text(headers.len() - 2));
        for unknown in [
            "A title\n\nSome words about `up`.\nup 1\nup 2\nand more words.\n",
            "x\n{\"level\":\"info\",\"message\":\"m\"}\n{\"level\":\"info\",\"message\":\"n\"}\n",
            "[mysqld]\nport 3306\nuser mysql\n",
            "[limits]\nport 3306\nmax 5\n",
            "{\n  \"resourceMetrics\": [\n  {}\n]}\n",
            "{\"a\":\n{\"resource\":[]}\n}\n",
            "up 1\nup 2\nbroken\n",
            "\0\0\0\0",
            "\u{7f}ELF\n\0\0\n",
        ] {
            assert_eq!(find(unknown.to_owned()), None, "{unknown:?}");
        }
    }

    #[test]
    fn messages_after_damage_are_found() {
        let frame = |message: &[u8]| [&(message.len() as u32).to_be_bytes()[..], message].concat();
        let proto = frame(b"\x0a\x0c\x12\x0a\x12\x08\x0a\x01m\x2a\x03\x0a\x01\x18");
        let json = frame(br#"{"resourceMetrics":[{}]}"#);
        for (frame, format) in [(&proto, Format::OtlpProto), (&json, Format::OtlpJson)] {
            for damage in [&frame[7..], b"x", b"\xff\xff\xff\xff\xff", &[0; 64], &[0; 65], &[0; 1_001]] {
                let expected = Some(Start { format, framing: Framing::Frames, offset: damage.len() });
                let content = [damage, frame, frame, frame].concat();
                assert_eq!(find_frames(&content, false), expected, "{damage:?}");
                assert_eq!(find_frames(&content[..content.len() - 3], false), expected, "{damage:?}, cut off");
                // One message is enough if the content ends with it.
                let content = [damage, frame].concat();
                assert_eq!(find_frames(&content, true), expected, "{damage:?}");
                assert_eq!(find_frames(&content, false), None, "{damage:?}");
            }
            assert_eq!(find_frames(&frame.repeat(3), true), None, "the content is whole");
        }
        for unknown in [&b"\x7fELF\0\0\0\x02\x0a\x0a\0\0\0\x01\x0a"[..], b"text\n\n\n", b"\0\0\0\0\0\0\0\0"] {
            assert_eq!(find_frames(unknown, true), None, "{unknown:?}");
        }
    }
}
