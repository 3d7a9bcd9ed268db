//! Whether a body looks like a request.

/// Whether a body that starts like this looks like a request of remote write: a snappy block whose first bytes are the
/// start of a series, of metadata, or of symbols. Empty requests do not look like anything.
pub fn looks_like_remote_write(head: &[u8]) -> bool {
    starts_request(head).is_some()
}

fn starts_request(head: &[u8]) -> Option<()> {
    let (len, block) = varint(head)?;
    // A block can only start with bytes that stand for themselves.
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
    let (part_len, part) = varint(part)?;
    let first = part.first().copied();
    let is_start = match field {
        // Labels of a series, which start with their first label; that starts with its name.
        0x0a => {
            let (label_len, label) = varint(part.strip_prefix(b"\x0a")?)?;
            label_len < part_len && label.first() == Some(&0x0a)
        }
        // Metadata, which starts with its type or its name.
        0x1a => matches!(first, Some(0x08 | 0x12)),
        // The empty symbol, and the next one or a series.
        0x22 => part_len == 0 && matches!(first, Some(0x22 | 0x2a)),
        // A series, which starts with its references.
        0x2a => first == Some(0x0a),
        _ => false,
    };
    (is_start && part_len < len).then_some(())
}

/// A number of at most five bytes, which is as many as a snappy block has, and what follows it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (place, &byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Some((value, bytes.get(place + 1..)?));
        }
    }
    None
}
