//! Errors and their causes as one line.

use std::error::Error;
use std::fmt::{self, Display};

use chronoxide_format::ErrorKind;
use chronoxide_text::escape::TerminalSafe;

/// Error with its causes, each after a colon, unless the text before already ends with it.
///
/// A file that is not a block may be a capture. Only the commands know which of them reads it: the hint is added here.
///
/// Errors quote paths and contents of files: characters that a terminal could interpret are escaped, and text after a
/// line break is indented, so that it does not look like another message.
pub struct Message<'a>(pub &'a (dyn Error + 'static));

impl Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.to_string();
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let cause_text = error.to_string();
            if !text.ends_with(&cause_text) {
                text.push_str(": ");
                text.push_str(&cause_text);
            }
            cause = error.source();
        }
        if is_no_block(self.0) {
            text.push_str("; if it is a capture, `chronoxide-ingest` makes a block of it");
        }
        for (number, line) in text.trim_end().split('\n').enumerate() {
            write!(f, "{}{}", if number > 0 { "\n    " } else { "" }, TerminalSafe(line))?;
        }
        Ok(())
    }
}

/// Returns true if the cause is a file that is not a block.
fn is_no_block(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref().map(chronoxide_format::Error::kind) == Some(&ErrorKind::NotABlock) {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        source: Option<Box<Layer>>,
    }

    fn said(texts: &[&'static str]) -> String {
        let error = texts
            .iter()
            .rev()
            .fold(None, |source, text| Some(Box::new(Layer { text, source })))
            .expect("at least one text");
        Message(&*error).to_string()
    }

    #[test]
    fn causes_follow_their_effects() {
        assert_eq!(said(&["week.cx: cannot write", "disk is full"]), "week.cx: cannot write: disk is full");
        assert_eq!(said(&["a", "b", "c"]), "a: b: c");
    }

    #[test]
    fn a_cause_is_not_repeated() {
        assert_eq!(said(&["cannot write: full", "full"]), "cannot write: full");
    }

    #[test]
    fn control_characters_in_a_message_are_escaped() {
        assert_eq!(said(&["a\u{1b}[2Jb\u{202e}\r."]), "a\\u001b[2Jb\\u202e\\u000d.");
        assert_eq!(said(&["a\nchronoxide: error: b\n"]), "a\n    chronoxide: error: b");
    }
}
