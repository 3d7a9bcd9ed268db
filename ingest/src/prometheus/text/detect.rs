//! Detection of exposition text by content.

use super::line::{Line, Sample};
use super::timestamp::TimestampUnit;

/// Number of valid lines after which detection ends.
const DECISIVE_COUNT: usize = 4;

/// Returns true if content that starts with `head` looks like exposition text or OpenMetrics: its first lines are
/// samples, `HELP`, `TYPE`, `UNIT` or `# EOF`, besides comments and blank lines. 64 KiB are enough. The last line may
/// be truncated, and counts only if there is no other.
///
/// Comments alone are not enough, because many formats have them.
#[must_use]
pub fn looks_like_text(head: &[u8]) -> bool {
    let mut sample = Sample::default();
    let mut decisive_count = 0;
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        let is_cut = !line.ends_with(b"\n");
        match Line::parse(text_of(line), TimestampUnit::ByShape, &mut sample) {
            Ok(Line::Comment) => {}
            Ok(Line::End) => return true,
            Ok(Line::Metadata(..) | Line::Sample) => decisive_count += 1,
            Err(_) if is_cut => break,
            Err(_) => return false,
        }
        if decisive_count == DECISIVE_COUNT {
            break;
        }
    }
    decisive_count > 0
}

/// Returns true if most lines of content are exposition text, and one of them has labels or metadata: settings of
/// programs are names with numbers too. The last line may be truncated.
pub(crate) fn is_mostly_text(head: &[u8]) -> bool {
    let (mut sample, mut good, mut bad, mut is_certain) = (Sample::default(), 0, 0, false);
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        match Line::parse(text_of(line), TimestampUnit::ByShape, &mut sample) {
            Ok(Line::Sample) => {
                good += 1;
                is_certain |= sample.labels().count() > 1;
            }
            Ok(Line::Metadata(..) | Line::End) => {
                good += 1;
                is_certain = true;
            }
            Ok(Line::Comment) => {}
            Err(_) => bad += u32::from(line.ends_with(b"\n")),
        }
    }
    is_certain && good >= 2 && good > bad
}

/// Returns true if a line is a sample, metadata, a comment or blank.
pub(crate) fn is_line_of_text(line: &[u8]) -> bool {
    Line::parse(text_of(line), TimestampUnit::ByShape, &mut Sample::default()).is_ok()
}

/// Returns true if content that looks like samples without labels is a script, or has settings such as `port: 9090`.
pub(crate) fn looks_like_settings(head: &[u8]) -> bool {
    let is_setting = |line: &[u8]| line.split(|&byte| byte == b' ').next().is_some_and(|name| name.ends_with(b":"));
    !is_mostly_text(head) && (head.starts_with(b"#!") || head.split(|&byte| byte == b'\n').any(is_setting))
}

/// Returns a line without its end, and without NUL bytes before it: a file that was truncated has them, see `lines`.
fn text_of(line: &[u8]) -> &[u8] {
    let start = line.iter().position(|&byte| byte != 0).unwrap_or(line.len());
    line.get(start..).unwrap_or_default().trim_ascii_end()
}

#[cfg(test)]
mod tests {
    use super::looks_like_text;

    #[test]
    fn the_first_lines_decide() {
        for (head, expected) in [
            (&b"# HELP up Whether it is up.\n# TYPE up gauge\nup 1\n"[..], true),
            (b"\n\n# a comment\nup{job=\"a\"} 1", true),
            (b"up{job=\"a\"} 1\r\ngo_info{version=\"go1", true),
            (b"up 1", true),
            (b"# EOF\n", true),
            (b"# TYPE up gauge\nup 1\nup 2\nup 3\nbroken\n", true),
            (b"# TYPE up gauge\nup 1\nbroken\n", false),
            (b"up{job=\"a", false),
            (b"# a comment\n", false),
            (b"#!/bin/sh\nls\n", false),
            (b"{\"resourceMetrics\":[]}\n", false),
            (b"{\"__name__\":\"up\"}\n", false),
            (b"[]", false),
            (b"", false),
            (b"\x28\xb5\x2f\xfd", false),
            (b"\xba\xaa\xd7\x00\x02", false),
        ] {
            assert_eq!(looks_like_text(head), expected, "{}", String::from_utf8_lossy(head));
        }
    }
}
