//! Escapes of JSON that are half of a character: [`replace_lone`].
//!
//! JSON writes characters beyond the first 65,536 as two escapes, called surrogates. Programs that cut a text between
//! them write one of them alone. The Collector reads it as U+FFFD, and so do most decoders.

use std::borrow::Cow;

/// Replaces escapes of lone surrogates by that of U+FFFD, which has the same length.
pub(crate) fn replace_lone(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut lone = Vec::new();
    let mut place = 0;
    while let Some(found) = bytes.get(place..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let start = place + found;
        place = match (surrogate(bytes, start), surrogate(bytes, start + 6)) {
            (Some(Half::First), Some(Half::Second)) => start + 12,
            (Some(_), _) => {
                lone.push(start);
                start + 6
            }
            // A backslash and the character that it escapes.
            (None, _) => start + 2,
        };
    }
    if lone.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut replaced, mut copied) = (String::with_capacity(text.len()), 0);
    for start in lone {
        replaced.push_str(text.get(copied..start).unwrap_or_default());
        replaced.push_str("\\ufffd");
        copied = start + 6;
    }
    replaced.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(replaced)
}

/// Surrogate of a pair.
enum Half {
    First,
    Second,
}

/// Returns the surrogate whose escape begins at `start`.
fn surrogate(bytes: &[u8], start: usize) -> Option<Half> {
    let &[b'\\', b'u', b'd' | b'D', digit, a, b] = bytes.get(start..start + 6)? else { return None };
    let is_hexadecimal = a.is_ascii_hexdigit() && b.is_ascii_hexdigit();
    match digit {
        b'8' | b'9' | b'a' | b'b' | b'A' | b'B' if is_hexadecimal => Some(Half::First),
        b'c'..=b'f' | b'C'..=b'F' if is_hexadecimal => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::replace_lone;

    #[test]
    fn only_lone_surrogates_are_replaced() {
        for (text, expected) in [
            (r"plain", r"plain"),
            (r"\ud83d\ude00", r"\ud83d\ude00"),
            (r"\ud83d", r"\ufffd"),
            (r"\uD83D x", r"\ufffd x"),
            (r"\ude00\ud83d", r"\ufffd\ufffd"),
            (r"\ud83d\ud83d\ude00", r"\ufffd\ud83d\ude00"),
            (r"\\ud83d", r"\\ud83d"),
            (r"\\\ud83d", r"\\\ufffd"),
            (r"\ud83d\n\u00e9", r"\ufffd\n\u00e9"),
            (r"\ud83", r"\ud83"),
            (r"\ud8zz", r"\ud8zz"),
            (r"é\ud83dé", r"é\ufffdé"),
            ("\\", "\\"),
        ] {
            assert_eq!(replace_lone(text), expected, "{text}");
        }
    }
}
