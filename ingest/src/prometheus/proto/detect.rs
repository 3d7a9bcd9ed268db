//! Whether a content looks like metric families.

/// Returns true if a content that starts like this looks like metric families with their lengths before them: a length as a varint,
/// then a message that begins with a name, and goes on with another field of a family.
///
/// Requests of OTLP begin with the same byte as families. They are told apart by the name, which has nothing but letters, digits and
/// `_:.-/` here: a nested message begins with a byte that is none of these. Names with other characters need `--format`.
pub fn looks_like_metric_families(head: &[u8]) -> bool {
    starts_family(head).is_some_and(|found| found)
}

fn starts_family(head: &[u8]) -> Option<bool> {
    let (len, message) = varint(head)?;
    let (name_len, rest) = varint(message.strip_prefix(b"\x0a")?)?;
    let (name, rest) = rest.split_at_checked(usize::try_from(name_len).ok()?)?;
    let is_name = !name.is_empty() && name.iter().all(|&byte| byte.is_ascii_alphanumeric() || b"_:.-/".contains(&byte));
    let used = (message.len() - rest.len()) as u64;
    // Help, type, metric or unit.
    let is_family = matches!(rest.first(), Some(0x12 | 0x18 | 0x22 | 0x2a));
    Some(is_name && is_family && used < len)
}

/// A number of at most four bytes, which are enough for 256 MiB, and what follows it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (place, &byte) in bytes.iter().enumerate().take(4) {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Some((value, bytes.get(place + 1..)?));
        }
    }
    None
}
