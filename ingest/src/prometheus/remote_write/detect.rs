//! Detection of requests by content.

use crate::protobuf::leading_varint;

/// Maximum bytes of a length. A snappy block states its length in at most five.
const MAX_VARINT_LEN: usize = 5;

/// Returns true if a body that starts with `head` looks like a remote-write request: a snappy block whose first bytes
/// are the start of a series, of metadata, or of symbols. Empty requests are not detected.
#[must_use]
pub fn looks_like_remote_write(head: &[u8]) -> bool {
    starts_request(head).is_some()
}

fn starts_request(head: &[u8]) -> Option<()> {
    let (len, block) = leading_varint(head, MAX_VARINT_LEN)?;
    // A block starts with a literal.
    let (&tag, rest) = block.split_first()?;
    let (literal_len, literal) = match tag >> 2 {
        short @ 0..=59 => (u64::from(short) + 1, rest),
        long => {
            let (bytes, literal) = rest.split_at_checked(usize::from(long - 59))?;
            (bytes.iter().rev().fold(0, |len, &byte| len << 8 | u64::from(byte)) + 1, literal)
        }
    };
    if tag & 3 != 0 || literal_len > len {
        return None;
    }
    let literal = literal.get(..usize::try_from(literal_len).ok()?).unwrap_or(literal);
    let (&field, part) = literal.split_first()?;
    let (part_len, part) = leading_varint(part, MAX_VARINT_LEN)?;
    let first = part.first().copied();
    let is_start = match field {
        // A series of version 1: its first label, which starts with its name.
        0x0a => {
            let (label_len, label) = leading_varint(part.strip_prefix(b"\x0a")?, MAX_VARINT_LEN)?;
            label_len < part_len && label.first() == Some(&0x0a)
        }
        // Metadata: its type or its name.
        0x1a => matches!(first, Some(0x08 | 0x12)),
        // The empty symbol, then the next symbol or a series.
        0x22 => part_len == 0 && matches!(first, Some(0x22 | 0x2a)),
        // A series of version 2: its symbol references.
        0x2a => first == Some(0x0a),
        _ => false,
    };
    (is_start && part_len < len).then_some(())
}
