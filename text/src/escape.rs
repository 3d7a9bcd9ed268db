//! Untrusted text on a terminal.
//!
//! Senders of metrics choose label values. Printed unchanged, a value could move the cursor, change the title, hide
//! text or reverse its direction ("Trojan Source", CVE-2021-42574).

use std::fmt::{self, Display, Write};

/// Text in double quotes, with characters escaped that could control or confuse a terminal.
///
/// Quotes and backslashes get a backslash. Characters that [`is_unsafe`] names become `\u` and four lowercase hex
/// digits, those above U+FFFF two of these (a surrogate pair). Other characters are unchanged. The result is a JSON
/// string.
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
        write_quoted(self.0, is_unsafe, f)
    }
}

/// Text in double quotes as the dump of a block has it, which the spec defines (section 13).
///
/// Like [`Escaped`], with fewer characters: the set is a part of the spec, so that dumps of all readers agree, and does
/// not grow with Unicode. For a terminal, the rest must be escaped too ([`TerminalSafe`]).
#[derive(Debug, Clone, Copy)]
pub struct DumpText<'a>(pub &'a str);

impl Display for DumpText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(self.0, is_escaped_in_dump, f)
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
        write_safe(self.0, is_unsafe, f)
    }
}

fn write_quoted(text: &str, is_escaped: impl Fn(char) -> bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\\']) {
        let (before, after) = rest.split_at(at);
        write_safe(before, &is_escaped, f)?;
        let mut chars = after.chars();
        f.write_char('\\')?;
        f.write_char(chars.next().unwrap_or_default())?;
        rest = chars.as_str();
    }
    write_safe(rest, is_escaped, f)?;
    f.write_char('"')
}

fn write_safe(text: &str, is_escaped: impl Fn(char) -> bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut rest = text;
    while let Some(at) = rest.find(&is_escaped) {
        let (before, after) = rest.split_at(at);
        f.write_str(before)?;
        let mut chars = after.chars();
        for unit in chars.next().unwrap_or_default().encode_utf16(&mut [0; 2]) {
            write!(f, "\\u{unit:04x}")?;
        }
        rest = chars.as_str();
    }
    f.write_str(rest)
}

/// Returns true if the dump of a block escapes the character (spec, section 13).
fn is_escaped_in_dump(char: char) -> bool {
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

/// Returns true if a terminal may interpret the character, or show nothing for it, instead of showing it.
///
/// These are control characters (U+0000 to U+001F, U+007F to U+009F), Unicode's `Default_Ignorable_Code_Point`,
/// which includes all `Bidi_Control`s, the separators of lines and paragraphs (U+2028, U+2029), and the marks of
/// annotations (U+FFF9 to U+FFFB). The list is short and nearly never grows, since Unicode reserves whole ranges: a
/// test compares it with the tables of a library, which programs then need not carry.
#[must_use]
pub fn is_unsafe(char: char) -> bool {
    // Most text is ASCII.
    matches!(char, '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}') || (char > '\u{9f}' && is_invisible(char))
}

fn is_invisible(char: char) -> bool {
    matches!(
        char,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_range_of_the_spec_is_escaped_in_dumps_up_to_its_ends() {
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
            assert_eq!(DumpText(char.encode_utf8(&mut [0; 4])).to_string(), expected);
        }
        assert_eq!(escaped_count, 32 + 33 + 1 + 1 + 5 + 7 + 10 + 1 + 3);
    }

    #[test]
    fn the_unsafe_characters_are_those_of_unicode() {
        let tables = r"[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Zl}\p{Zp}\u{fff9}-\u{fffb}]";
        let tables = regex::Regex::new(tables).unwrap();
        let mut count = 0;
        for char in '\0'..=char::MAX {
            let is_expected = tables.is_match(char.encode_utf8(&mut [0; 4]));
            assert_eq!(is_unsafe(char), is_expected, "U+{:04X}", u32::from(char));
            // The dump escapes nothing that is not unsafe.
            assert!(is_expected || !is_escaped_in_dump(char), "U+{:04X}", u32::from(char));
            count += u32::from(is_expected);
        }
        println!("{count} characters");
        assert!(count > 4_100);
    }

    #[test]
    fn characters_above_ffff_become_surrogate_pairs() {
        assert_eq!(Escaped("a\u{e0041}b").to_string(), r#""a\udb40\udc41b""#);
        assert_eq!(TerminalSafe("\u{1d173}\u{ad}").to_string(), r"\ud834\udd73\u00ad");
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
        fn the_result_is_a_json_string_of_the_text(text in ".*", raw in proptest::collection::vec(0_u32..0xf_0000, 0..20)) {
            let text = text + &raw.into_iter().filter_map(char::from_u32).collect::<String>();
            let read: String = serde_json::from_str(&Escaped(&text).to_string()).expect("it is JSON");
            proptest::prop_assert_eq!(read, text);
        }
    }
}
