//! Untrusted text on a terminal.
//!
//! Senders of metrics choose label values. Printed unchanged, a value could move the cursor, change the title, hide
//! text or reverse its direction ("Trojan Source", CVE-2021-42574).

use std::fmt::{self, Display, Write};

/// Text in double quotes, with characters escaped that could control or confuse a terminal.
///
/// Quotes and backslashes get a backslash. Control characters (U+0000 to U+001F, U+007F to U+009F) and invisible or
/// directional characters (U+061C, U+180E, U+200B to U+200F, U+2028 to U+202E, U+2060 to U+2069, U+FEFF, U+FFF9 to
/// U+FFFB) become `\u` and four lowercase hex digits. Other characters are unchanged. The result is a JSON string.
///
/// ```
/// use chronoxide_text::escape::Escaped;
///
/// assert_eq!(Escaped("say \"hi\"\n").to_string(), r#""say \"hi\"\u000a""#);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Escaped<'a>(pub &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        let mut plain_from = 0;
        for (at, char) in self.0.char_indices() {
            if !matches!(char, '"' | '\\') && !is_unsafe(char) {
                continue;
            }
            f.write_str(&self.0[plain_from..at])?;
            plain_from = at + char.len_utf8();
            match char {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                _ => write!(f, "\\u{:04x}", u32::from(char))?,
            }
        }
        f.write_str(&self.0[plain_from..])?;
        f.write_char('"')
    }
}

/// Text without quotes, in which the characters that [`Escaped`] writes as `\u` and four hex digits are written so too.
///
/// Use it on a terminal for file names and for text in a notation of its own, such as JSON or PromQL.
///
/// ```
/// use chronoxide_text::escape::TerminalSafe;
///
/// assert_eq!(TerminalSafe("{\"a\":\"\u{9b}2J\"}").to_string(), r#"{"a":"\u009b2J"}"#);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TerminalSafe<'a>(pub &'a str);

impl Display for TerminalSafe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            if is_unsafe(char) { write!(f, "\\u{:04x}", u32::from(char))? } else { f.write_char(char)? }
        }
        Ok(())
    }
}

/// Returns true if a terminal may interpret the character instead of showing it.
#[must_use]
pub fn is_unsafe(char: char) -> bool {
    matches!(
        char,
        '\u{0}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_range_is_escaped_up_to_its_ends() {
        let ranges = [
            (0x00, 0x1f),
            (0x7f, 0x9f),
            (0x61c, 0x61c),
            (0x180e, 0x180e),
            (0x200b, 0x200f),
            (0x2028, 0x202e),
            (0x2060, 0x2069),
            (0xfeff, 0xfeff),
            (0xfff9, 0xfffb),
        ];
        let mut escaped_count = 0;
        for code in 0..=0x10_ffff {
            let Some(char) = char::from_u32(code) else {
                continue;
            };
            let expected = if ranges.iter().any(|&(first, last)| (first..=last).contains(&code)) {
                escaped_count += 1;
                format!("\"\\u{code:04x}\"")
            } else if char == '"' || char == '\\' {
                format!("\"\\{char}\"")
            } else {
                format!("\"{char}\"")
            };
            assert_eq!(Escaped(char.encode_utf8(&mut [0; 4])).to_string(), expected);
        }
        assert_eq!(escaped_count, 32 + 33 + 1 + 1 + 5 + 7 + 10 + 1 + 3);
    }

    #[test]
    fn text_around_escapes_is_kept() {
        assert_eq!(Escaped("").to_string(), r#""""#);
        assert_eq!(Escaped("a\tb\u{e9}\\\u{1f600}").to_string(), "\"a\\u0009b\u{e9}\\\\\u{1f600}\"");
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig {
            failure_persistence: None,
            ..Default::default()
        })]

        #[test]
        fn the_result_is_a_json_string_of_the_text(text in ".*", raw in proptest::collection::vec(0_u32..0x3000, 0..20)) {
            let text = text + &raw.into_iter().filter_map(char::from_u32).collect::<String>();
            let read: String = serde_json::from_str(&Escaped(&text).to_string()).expect("it is JSON");
            proptest::prop_assert_eq!(read, text);
        }
    }
}
