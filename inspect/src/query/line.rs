//! [`Line`]: a name or value in a line of its own.

use std::fmt;

use chronoxide_text::escape::{Escaped, TerminalSafe};

/// Text in a line of its own, as it is. Text that begins with a double quote or has a character that could end the line
/// or steer a terminal is written as a JSON string, like [`Escaped`].
///
/// ```
/// use chronoxide_inspect::query::Line;
///
/// assert_eq!(Line(r"GET /a\b größe").to_string(), r"GET /a\b größe");
/// assert_eq!(Line("two\nlines").to_string(), r#""two\u000alines""#);
/// assert_eq!(Line(r#""quoted""#).to_string(), r#""\"quoted\"""#);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Line<'a>(pub &'a str);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let is_safe = is_plain || TerminalSafe(text).to_string() == *text;
        if is_safe && !text.starts_with('"') { f.write_str(text) } else { Escaped(text).fmt(f) }
    }
}
