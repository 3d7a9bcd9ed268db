//! [`Safe`]: a writer that escapes what a terminal could interpret.

use std::io::{self, Write};

use chronoxide_text::escape::{TerminalSafe, is_unsafe};

/// Longest sequence that sets colours; [`Style`](crate::style::Style) writes shorter ones.
const MAX_SEQUENCE_LEN: usize = 16;

/// Writer of UTF-8 that escapes characters which could control or confuse a terminal, except line feeds. Bytes that are
/// not UTF-8 become U+FFFD.
///
/// All data of a terminal goes through it, so that no command must think of it. Text in which a line feed would be
/// harmful, such as a path, must be escaped before.
#[derive(Debug)]
pub(crate) struct Safe<W> {
    out: W,
    /// True if sequences that set colours pass: then text of others must be escaped before, or it could set colours.
    is_painted: bool,
    /// The beginning of a character or of a sequence whose rest is not written yet.
    pending: Vec<u8>,
}

impl<W: Write> Safe<W> {
    pub(crate) const fn new(out: W, is_painted: bool) -> Self {
        Self { out, is_painted, pending: Vec::new() }
    }

    /// Returns the length of the bytes that can be judged without those that follow.
    fn judged_len(&self) -> usize {
        let whole = match str::from_utf8(&self.pending) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.pending.len(),
        };
        let bytes = self.pending.get(..whole).unwrap_or_default();
        match bytes.iter().rposition(|&byte| byte == ESCAPE) {
            Some(at) if self.is_painted && is_begun(bytes.get(at..).unwrap_or_default()) => at,
            _ => whole,
        }
    }

    fn pass(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(|char| char != '\n' && is_unsafe(char)) {
            let (before, after) = rest.split_at(at);
            let len = match sequence_len(after.as_bytes()) {
                Some(len) if self.is_painted => len,
                _ => 0,
            };
            self.out.write_all(before.as_bytes())?;
            if len > 0 {
                let (sequence, after) = after.split_at(len);
                self.out.write_all(sequence.as_bytes())?;
                rest = after;
            } else {
                let len = after.chars().next().map_or(0, char::len_utf8);
                let (char, after) = after.split_at(len);
                write!(self.out, "{}", TerminalSafe(char))?;
                rest = after;
            }
        }
        self.out.write_all(rest.as_bytes())
    }
}

const ESCAPE: u8 = 0x1b;

/// Returns the length of the sequence that sets colours at the beginning of some bytes: `ESC [ 1 ; 31 m`.
fn sequence_len(bytes: &[u8]) -> Option<usize> {
    let parameters = bytes.strip_prefix(&[ESCAPE, b'['])?;
    let len = parameters.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    (len <= MAX_SEQUENCE_LEN && parameters.get(len) == Some(&b'm')).then_some(len + 3)
}

/// Returns true if bytes may be the beginning of such a sequence.
fn is_begun(bytes: &[u8]) -> bool {
    let parameters = bytes.get(2..).unwrap_or_default();
    bytes.len() < MAX_SEQUENCE_LEN
        && bytes.get(1).is_none_or(|&byte| byte == b'[')
        && parameters.iter().all(|byte| byte.is_ascii_digit() || *byte == b';')
}

impl<W: Write> Write for Safe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        let rest = self.pending.split_off(self.judged_len());
        let judged = std::mem::replace(&mut self.pending, rest);
        self.pass(&String::from_utf8_lossy(&judged))?;
        Ok(bytes.len())
    }

    /// Ends the text: what is incomplete now stays so.
    fn flush(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.pending);
        self.pass(&String::from_utf8_lossy(&rest))?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(pieces: &[&[u8]], is_painted: bool) -> String {
        let mut out = Vec::new();
        let mut safe = Safe::new(&mut out, is_painted);
        for piece in pieces {
            safe.write_all(piece).unwrap();
        }
        safe.flush().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_terminal_gets_line_feeds_and_colours_only_where_they_are_expected() {
        let text = "a\u{9b}2Jb\u{202e}\u{ad}\u{e0041}\r\t\n\u{1b}[1m\u{1b}[31mgröße\u{1b}[0m\u{1b}[2J".as_bytes();
        let plain = "a\\u009b2Jb\\u202e\\u00ad\\udb40\\udc41\\u000d\\u0009\n";
        let painted = format!("{plain}\u{1b}[1m\u{1b}[31mgröße\u{1b}[0m\\u001b[2J");
        assert_eq!(passed(&[text], true), painted);
        assert_eq!(passed(&[text], false), format!("{plain}\\u001b[1m\\u001b[31mgröße\\u001b[0m\\u001b[2J"));
        // However the writes are cut.
        for at in 0..text.len() {
            let (before, after) = text.split_at(at);
            assert_eq!(passed(&[before, after], true), painted, "cut at {at}");
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(passed(&bytes, true), painted);
    }

    #[test]
    fn incomplete_text_ends_with_the_output() {
        assert_eq!(passed(&[b"a\xc3"], false), "a\u{fffd}");
        assert_eq!(passed(&[b"a\x1b[1"], true), "a\\u001b[1");
        assert_eq!(passed(&[b"a\xffb"], false), "a\u{fffd}b");
    }
}
