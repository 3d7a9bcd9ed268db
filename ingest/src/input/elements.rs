//! Records that are elements of a JSON array: of a bare array, of `data` in a response of Prometheus's series API, or
//! of `data.result` in that of a query.
//!
//! A response can be larger than memory, so its elements are read one by one. The JSON around them, the envelope, is
//! kept and parsed at its end.

use chronoxide_text::human::size;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::depth::Depth;
use super::found::Found;
use super::source::Source;
use crate::error::IngestError;

/// Position of the source in an array or a response.
#[derive(Debug, Default)]
pub(super) struct Elements {
    state: State,
    /// Bytes of the response so far, without its elements.
    envelope: Vec<u8>,
    in_response: bool,
    /// True if `data` of the response is an object, as in responses of queries.
    has_result: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before an array or a response, or at the end.
    #[default]
    Outside,
    /// In a response, before the array.
    BeforeArray,
    /// After the opening bracket.
    FirstElement,
    /// After a comma.
    Element,
    /// After an element.
    AfterElement,
    /// In a response, after the array.
    AfterArray,
}

/// Response without its series.
#[derive(Deserialize)]
struct Envelope {
    status: Option<String>,
    #[serde(rename = "errorType")]
    error_type: Option<String>,
    error: Option<String>,
    /// Declared so that a second `data` is refused.
    data: Option<IgnoredAny>,
    /// Reasons why series are missing, in Prometheus and Thanos.
    #[serde(default)]
    warnings: Option<Vec<String>>,
    /// True if a node of a VictoriaMetrics cluster did not answer.
    #[serde(rename = "isPartial", default)]
    is_partial: Option<bool>,
}

impl Elements {
    /// Reads the next element into `buffer`, if it has at most `max_len` bytes. Returns its start too.
    pub(super) fn next(
        &mut self,
        source: &mut Source,
        max_len: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<(u64, Found), IngestError> {
        loop {
            let in_envelope = matches!(self.state, State::BeforeArray | State::AfterArray);
            let byte = if in_envelope { source.fill()?.first().copied() } else { token(source)? };
            let offset = source.offset();
            let Some(byte) = byte else {
                let is_torn = self.state != State::Outside;
                self.state = State::Outside;
                return Ok((offset, if is_torn { Found::Unterminated } else { Found::End }));
            };
            match (self.state, byte) {
                (State::Outside, b'[') => {
                    self.in_response = false;
                    self.state = State::FirstElement;
                    source.consume(1);
                }
                (State::Outside, b'{') => {
                    self.in_response = true;
                    self.envelope.clear();
                    self.has_result = false;
                    self.state = State::BeforeArray;
                }
                (State::BeforeArray | State::AfterArray, _) => self.pass_envelope(source, max_len)?,
                (State::FirstElement | State::AfterElement, b']') => {
                    self.state = if self.in_response { State::AfterArray } else { State::Outside };
                    if !self.in_response {
                        source.consume(1);
                    }
                }
                (State::AfterElement, b',') => {
                    self.state = State::Element;
                    source.consume(1);
                }
                (State::FirstElement | State::Element, byte) if !matches!(byte, b',' | b']') => {
                    let found = element(source, max_len, buffer)?;
                    self.state = if found == Found::Unterminated { State::Outside } else { State::AfterElement };
                    return Ok((offset, found));
                }
                _ => {
                    return Err(mistake(source, format!("unexpected {:?}", char::from(byte))));
                }
            }
        }
    }

    /// Reads a response up to its array, or from the end of the array.
    fn pass_envelope(&mut self, source: &mut Source, max_len: usize) -> Result<(), IngestError> {
        let mut depth = Depth::default();
        self.envelope.iter().for_each(|&byte| depth.pass(byte));
        while let Some(&byte) = source.fill()?.first() {
            if self.envelope.len() >= max_len {
                return Err(mistake(source, format!("more than {} outside of the series list", size(max_len as u64))));
            }
            let is_value_of = |name: &[u8]| !depth.in_string && ends_in_field(&self.envelope, name);
            self.has_result |= byte == b'{' && depth.open == 1 && is_value_of(b"\"data\"");
            let is_array = match depth.open {
                1 => byte == b'[' && is_value_of(b"\"data\""),
                2 => byte == b'[' && self.has_result && is_value_of(b"\"result\""),
                _ => false,
            };
            depth.pass(byte);
            self.envelope.push(byte);
            source.consume(1);
            if is_array && self.state == State::BeforeArray {
                self.state = State::FirstElement;
                return Ok(());
            }
            if depth.is_outside() {
                let had_array = std::mem::take(&mut self.state) == State::AfterArray;
                return self.check_envelope(source, had_array);
            }
        }
        // The next read finds the end of the source.
        Ok(())
    }

    fn check_envelope(&self, source: &mut Source, had_array: bool) -> Result<(), IngestError> {
        let envelope: Envelope =
            serde_json::from_slice(&self.envelope).map_err(|error| mistake(source, error.to_string()))?;
        if envelope.status.as_deref() == Some("success") {
            if !had_array && envelope.data.is_some() {
                let reason = "`data` is neither a list of series nor the result of a query";
                return Err(mistake(source, reason.to_owned()));
            }
            source.states_loss(envelope.warnings.unwrap_or_default());
            if envelope.is_partial == Some(true) {
                source.states_loss(["`isPartial` is true".to_owned()]);
            }
            return Ok(());
        }
        let parts = [envelope.status, envelope.error_type, envelope.error];
        let reasons: Vec<String> = parts.into_iter().flatten().collect();
        Err(mistake(source, format!("`status` is not \"success\": {}", reasons.join(", "))))
    }
}

/// Returns true if the next token is the value of a field with this name, which is in quotes.
fn ends_in_field(envelope: &[u8], name: &[u8]) -> bool {
    let end = envelope.trim_ascii_end().strip_suffix(b":").map(<[u8]>::trim_ascii_end);
    let before = end.and_then(|end| end.strip_suffix(name)).map(<[u8]>::trim_ascii_end);
    before.is_some_and(|before| matches!(before.last(), Some(b'{' | b',')))
}

/// Skips white space and returns the next byte, which is not consumed.
fn token(source: &mut Source) -> Result<Option<u8>, IngestError> {
    loop {
        let bytes = source.fill()?;
        let Some(&byte) = bytes.first() else {
            return Ok(None);
        };
        if !byte.is_ascii_whitespace() {
            return Ok(Some(byte));
        }
        let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        source.consume(blank);
    }
}

/// Reads one element, up to the comma, bracket or white space after it.
fn element(source: &mut Source, max_len: usize, buffer: &mut Vec<u8>) -> Result<Found, IngestError> {
    let mut depth = Depth::default();
    let mut is_too_long = false;
    loop {
        let bytes = source.fill()?;
        if bytes.is_empty() {
            // A complete element is taken. The next call finds that its array is not closed.
            let is_whole = depth.is_outside();
            return Ok(match () {
                () if is_too_long => Found::TooLong,
                () if is_whole => Found::Whole,
                () => Found::Unterminated,
            });
        }
        let end = bytes.iter().position(|&byte| {
            let is_outside = depth.is_outside();
            let ends = is_outside && (matches!(byte, b',' | b']') || byte.is_ascii_whitespace());
            depth.pass(byte);
            ends
        });
        let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        if is_too_long || buffer.len() + part.len() > max_len {
            is_too_long = true;
            buffer.clear();
        } else {
            buffer.extend_from_slice(part);
        }
        let consumed = part.len();
        source.consume(consumed);
        if end.is_some() {
            return Ok(if is_too_long { Found::TooLong } else { Found::Whole });
        }
    }
}

fn mistake(source: &Source, reason: String) -> IngestError {
    IngestError::Response { input: source.name().to_owned(), offset: source.offset(), reason }
}
