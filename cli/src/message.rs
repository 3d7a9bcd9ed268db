//! An error and its causes as one line.

use std::error::Error;
use std::fmt::{self, Display, Write};

use crate::escape::is_unsafe;

/// The error, then each cause after a colon, unless the text before says it already.
///
/// Errors quote paths and contents of files: what could steer a terminal is escaped, and what comes after a line
/// break is indented, so that it does not look like a message of its own.
pub struct Message<'a>(pub &'a (dyn Error + 'static));

impl Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = self.0.to_string();
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !said.ends_with(&text) {
                said.push_str(": ");
                said.push_str(&text);
            }
            cause = error.source();
        }
        for char in said.trim_end().chars() {
            match char {
                '\n' => f.write_str("\n    ")?,
                _ if is_unsafe(char) => write!(f, "\\u{:04x}", u32::from(char))?,
                _ => f.write_char(char)?,
            }
        }
        Ok(())
    }
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
            .expect("there is a text");
        Message(&*error).to_string()
    }

    #[test]
    fn causes_follow_their_effects() {
        assert_eq!(said(&["week.cx: cannot write", "disk is full"]), "week.cx: cannot write: disk is full");
        assert_eq!(said(&["a", "b", "c"]), "a: b: c");
    }

    #[test]
    fn a_cause_is_not_said_twice() {
        assert_eq!(said(&["cannot write: full", "full"]), "cannot write: full");
    }

    #[test]
    fn nothing_in_a_message_steers_the_terminal() {
        assert_eq!(said(&["a\u{1b}[2Jb\u{202e}\r."]), "a\\u001b[2Jb\\u202e\\u000d.");
        assert_eq!(said(&["a\nchronoxide: error: b\n"]), "a\n    chronoxide: error: b");
    }
}
