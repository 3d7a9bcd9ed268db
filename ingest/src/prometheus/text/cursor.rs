//! Position in a line: [`Cursor`].

use super::error::LineError;

/// Maximum bytes of a line in an error.
const SHOWN_LEN: usize = 24;

/// Position in a line.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    line: &'a [u8],
    /// Line as text, if all of it is valid: then its parts need no check.
    text: Option<&'a str>,
    offset: usize,
}

/// Quoted string.
pub(super) struct Quoted<'a> {
    /// Position in the line.
    pub(super) start: usize,
    /// Bytes between the quotes, with escapes as written.
    pub(super) bytes: &'a [u8],
    /// True if there is a backslash.
    pub(super) has_escapes: bool,
}

impl<'a> Cursor<'a> {
    /// Creates a position at the start of a line without its line break.
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { line, text: std::str::from_utf8(line).ok(), offset: 0 }
    }

    /// Returns some bytes of the line, which begin at `start`, as text.
    pub(super) fn utf8(&self, start: usize, bytes: &'a [u8]) -> Result<&'a str, LineError> {
        if let Some(text) = self.text.and_then(|text| text.get(start..start + bytes.len())) {
            return Ok(text);
        }
        std::str::from_utf8(bytes).map_err(|error| LineError::Utf8 { offset: start + error.valid_up_to() })
    }

    /// Returns the number of bytes before the position.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the bytes after the position.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.line.get(self.offset..).unwrap_or_default()
    }

    /// Returns the next byte without consuming it.
    pub(super) fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    /// Consumes `byte` if it is next. Returns true if it was.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.offset += usize::from(is_next);
        is_next
    }

    /// Consumes `word` and the blanks after it, if both are next. Returns true if they were.
    pub(super) fn take_word(&mut self, word: &[u8]) -> bool {
        let Some(after) = self.rest().strip_prefix(word) else { return false };
        let is_word = after.first().is_some_and(|&byte| is_blank(byte));
        if is_word {
            self.offset += word.len();
            self.skip_blanks();
        }
        is_word
    }

    /// Consumes spaces and tabs. Returns true if there were any.
    pub(super) fn skip_blanks(&mut self) -> bool {
        !self.take_while(is_blank).is_empty()
    }

    /// Consumes bytes while `is_part` is true.
    pub(super) fn take_while(&mut self, is_part: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.rest();
        let len = rest.iter().position(|&byte| !is_part(byte)).unwrap_or(rest.len());
        self.offset += len;
        rest.get(..len).unwrap_or_default()
    }

    /// Consumes bytes up to a blank or the end.
    pub(super) fn take_token(&mut self) -> &'a [u8] {
        self.take_while(|byte| !is_blank(byte))
    }

    /// Consumes a quoted string.
    pub(super) fn take_quoted(&mut self, expected: &'static str) -> Result<Quoted<'a>, LineError> {
        if !self.take(b'"') {
            return Err(self.expected(expected));
        }
        let start = self.offset;
        let rest = self.rest();
        let (mut len, mut has_escapes) = (0, false);
        loop {
            let part = rest.get(len..).unwrap_or_default();
            match memchr::memchr2(b'"', b'\\', part).map(|at| (at, part.get(at))) {
                Some((at, Some(b'"'))) => {
                    len += at;
                    break;
                }
                // The byte after a backslash does not end the string.
                Some((at, _)) => {
                    len += at + 2;
                    has_escapes = true;
                }
                None => {
                    self.offset = self.line.len();
                    return Err(self.expected("a closing quote"));
                }
            }
        }
        self.offset += len + 1;
        Ok(Quoted { start, bytes: rest.get(..len).unwrap_or_default(), has_escapes })
    }

    /// Creates the error of another token at the position.
    pub(super) fn expected(&self, expected: &'static str) -> LineError {
        let rest = self.rest();
        let found = if rest.is_empty() { "the end of the line".to_owned() } else { format!("{:?}", shown(rest)) };
        LineError::Expected { offset: self.offset, expected, found }
    }
}

/// Returns true if a byte separates tokens.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Returns the start of some bytes for an error.
pub(super) fn shown(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(bytes.get(..SHOWN_LEN).unwrap_or(bytes)).into_owned();
    if bytes.len() > SHOWN_LEN {
        text.push('…');
    }
    text
}
