//! A position in a line: [`Cursor`].

use super::error::LineError;

/// Bytes of a line that an error shows.
const SHOWN_LEN: usize = 24;

/// A position in a line. What is read is behind it.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    line: &'a [u8],
    offset: usize,
}

impl<'a> Cursor<'a> {
    /// The start of a line without its end.
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { line, offset: 0 }
    }

    /// Bytes before the position.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// What is not yet read.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.line.get(self.offset..).unwrap_or_default()
    }

    /// The next byte, which stays.
    pub(super) fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    /// Reads a byte if it is the next one.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.offset += usize::from(is_next);
        is_next
    }

    /// Reads this word if it is next and blanks follow it, with the blanks.
    pub(super) fn take_word(&mut self, word: &[u8]) -> bool {
        let Some(after) = self.rest().strip_prefix(word) else { return false };
        let is_word = after.first().is_some_and(|&byte| is_blank(byte));
        if is_word {
            self.offset += word.len();
            self.skip_blanks();
        }
        is_word
    }

    /// Reads spaces and tabs. Returns whether there were any.
    pub(super) fn skip_blanks(&mut self) -> bool {
        !self.take_while(is_blank).is_empty()
    }

    /// Reads the bytes up to the first for which this is not so.
    pub(super) fn take_while(&mut self, is_part: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.rest();
        let len = rest.iter().position(|&byte| !is_part(byte)).unwrap_or(rest.len());
        self.offset += len;
        rest.get(..len).unwrap_or_default()
    }

    /// Reads bytes up to a blank or the end.
    pub(super) fn take_token(&mut self) -> &'a [u8] {
        self.take_while(|byte| !is_blank(byte))
    }

    /// Reads a string in quotes, with what stands for a quote in it still as written. Returns where it starts and what
    /// stands between the quotes.
    pub(super) fn take_quoted(&mut self, expected: &'static str) -> Result<(usize, &'a [u8]), LineError> {
        if !self.take(b'"') {
            return Err(self.expected(expected));
        }
        let start = self.offset;
        let rest = self.rest();
        let mut len = 0;
        loop {
            let part = rest.get(len..).unwrap_or_default();
            match memchr::memchr2(b'"', b'\\', part).map(|at| (at, part.get(at))) {
                Some((at, Some(b'"'))) => {
                    len += at;
                    break;
                }
                // Whatever follows a backslash is no end; a backslash at the end of the line follows no more.
                Some((at, _)) => len += at + 2,
                None => {
                    self.offset = self.line.len();
                    return Err(self.expected("a closing quote"));
                }
            }
        }
        self.offset += len + 1;
        Ok((start, rest.get(..len).unwrap_or_default()))
    }

    /// That something else is here.
    pub(super) fn expected(&self, expected: &'static str) -> LineError {
        let rest = self.rest();
        let found = if rest.is_empty() { "the end of the line".to_owned() } else { format!("{:?}", shown(rest)) };
        LineError::Expected { offset: self.offset, expected, found }
    }
}

/// Whether a byte separates what stands on a line.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The start of some bytes for an error.
pub(super) fn shown(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(bytes.get(..SHOWN_LEN).unwrap_or(bytes)).into_owned();
    if bytes.len() > SHOWN_LEN {
        text.push('…');
    }
    text
}
