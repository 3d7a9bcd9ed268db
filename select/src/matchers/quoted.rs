//! Quoted strings, as Prometheus reads them: escapes may be bytes, so that `\xe2\x82\xac` is one character, and nothing
//! is escaped between backticks.

use std::str::Chars;

/// Error of reading a quoted string.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuoteError {
    #[error("unterminated string")]
    Unterminated,
    #[error("line break in a quoted string: write \\n, or use backticks")]
    LineBreak,
    #[error("unknown escape \\{0}: write a backslash as \\\\, or use backticks")]
    UnknownEscape(char),
    #[error("invalid escape: too few digits, or not a character")]
    Digits,
    #[error("escapes of the string are not valid UTF-8")]
    NotUtf8,
}

/// Reads the string at the beginning of `text`, which begins with `quote`. Returns the string and its length in bytes,
/// quotes included.
pub(crate) fn unquote(text: &str, quote: char) -> Result<(String, usize), QuoteError> {
    let inner = &text[quote.len_utf8()..];
    if quote == '`' {
        let end = inner.find('`').ok_or(QuoteError::Unterminated)?;
        // Go removes carriage returns from raw strings too.
        return Ok((inner[..end].replace('\r', ""), end + 2));
    }
    let mut chars = inner.chars();
    let mut bytes = Vec::new();
    loop {
        match chars.next().ok_or(QuoteError::Unterminated)? {
            '\n' => return Err(QuoteError::LineBreak),
            '\\' => escape(&mut chars, quote, &mut bytes)?,
            char if char == quote => break,
            char => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    let string = String::from_utf8(bytes).map_err(|_| QuoteError::NotUtf8)?;
    Ok((string, text.len() - chars.as_str().len()))
}

/// Reads the escape after a backslash.
fn escape(chars: &mut Chars<'_>, quote: char, bytes: &mut Vec<u8>) -> Result<(), QuoteError> {
    let char = chars.next().ok_or(QuoteError::Unterminated)?;
    let byte = match char {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        '\\' => b'\\',
        'x' => byte(digits(chars, 0, 2, 16)?)?,
        '0'..='7' => byte(digits(chars, u32::from(char) - u32::from('0'), 2, 8)?)?,
        'u' | 'U' => {
            let code = digits(chars, 0, if char == 'u' { 4 } else { 8 }, 16)?;
            let char = char::from_u32(code).ok_or(QuoteError::Digits)?;
            bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            return Ok(());
        }
        char if char == quote => quote as u8,
        char => return Err(QuoteError::UnknownEscape(char)),
    };
    bytes.push(byte);
    Ok(())
}

fn byte(number: u32) -> Result<u8, QuoteError> {
    u8::try_from(number).map_err(|_| QuoteError::Digits)
}

/// Reads a number with exactly `count` more digits.
fn digits(chars: &mut Chars<'_>, first: u32, count: u32, radix: u32) -> Result<u32, QuoteError> {
    (0..count).try_fold(first, |number, _| {
        let digit = chars.next().and_then(|char| char.to_digit(radix)).ok_or(QuoteError::Digits)?;
        number.checked_mul(radix).and_then(|number| number.checked_add(digit)).ok_or(QuoteError::Digits)
    })
}

/// Returns a string in double quotes, with only the escapes that every reader of PromQL reads alike.
pub(crate) fn quote(string: &str) -> String {
    let mut quoted = String::with_capacity(string.len() + 2);
    quoted.push('"');
    for char in string.chars() {
        match char {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, usize), QuoteError> {
        unquote(text, text.chars().next().unwrap())
    }

    /// Expected values are those of Go's `strconv.Unquote`. Prometheus's function is a copy that also accepts single
    /// quotes around several characters.
    #[test]
    fn strings_are_read_as_go_reads_them() {
        for (text, expected) in [
            (r#""""#, ""),
            (r#""a'b`c""#, "a'b`c"),
            (r#"'a"b'"#, "a\"b"),
            (r#"'it\'s'"#, "it's"),
            (r#""\a\b\f\n\r\t\v\\\"""#, "\u{7}\u{8}\u{c}\n\r\t\u{b}\\\""),
            (r#""\x41\101\u00e9\U0001F980""#, "AA\u{e9}\u{1f980}"),
            (r#""\xe2\x82\xac""#, "\u{20ac}"),
            (r#""\342\202\254""#, "\u{20ac}"),
            ("\"\u{20ac}\"", "\u{20ac}"),
            (r"`\d+\.`", r"\d+\."),
            ("`a\r\nb`", "a\nb"),
        ] {
            assert_eq!(read(text), Ok((expected.to_owned(), text.len())), "{text}");
        }
        assert_eq!(read(r#""a",b="c""#), Ok(("a".to_owned(), 3)), "what follows is left");
        assert_eq!(read("`a`b`"), Ok(("a".to_owned(), 3)));
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for (text, error) in [
            (r#"""#, QuoteError::Unterminated),
            (r#""a\"#, QuoteError::Unterminated),
            (r#""a\""#, QuoteError::Unterminated),
            ("`a", QuoteError::Unterminated),
            ("\"a\nb\"", QuoteError::LineBreak),
            (r#""\d""#, QuoteError::UnknownEscape('d')),
            (r#""\'""#, QuoteError::UnknownEscape('\'')),
            (r#"'\"'"#, QuoteError::UnknownEscape('"')),
            (r#""\x4""#, QuoteError::Digits),
            (r#""\400""#, QuoteError::Digits),
            (r#""\18""#, QuoteError::Digits),
            (r#""\ud800""#, QuoteError::Digits),
            (r#""\UFFFFFFFF""#, QuoteError::Digits),
            (r#""\xff""#, QuoteError::NotUtf8),
        ] {
            assert_eq!(read(text), Err(error), "{text}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn what_is_quoted_is_read_again(string in "(?s).*") {
            let quoted = quote(&string);
            proptest::prop_assert_eq!(read(&quoted), Ok((string, quoted.len())));
        }
    }
}
