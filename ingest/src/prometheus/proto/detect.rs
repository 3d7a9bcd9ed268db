//! Detection of metric families by content.

use super::open_metrics::FAMILY_KEY;
use crate::protobuf::leading_varint;

/// Maximum bytes of a length. Four bytes are enough for 256 MiB.
const MAX_VARINT_LEN: usize = 4;

/// Returns true if content that starts with `head` looks like length-delimited metric families: a length as a varint,
/// then a message that begins with a name and another field of a family.
///
/// OTLP requests begin with the same byte as families. The name distinguishes them: here it must consist of letters,
/// digits and `_:.-/`, and a nested message begins with a byte that is none of these. Families with other names need
/// `--format`.
#[must_use]
pub fn looks_like_metric_families(head: &[u8]) -> bool {
    // Help, type, metric or unit.
    starts_family(head, &[0x12, 0x18, 0x22, 0x2a]).is_some_and(|found| found)
}

/// Returns true if content that starts with `head` looks like a `MetricSet` of OpenMetrics: the key of a family, its
/// length, and then a message as [above](looks_like_metric_families), with the fields of OpenMetrics.
#[must_use]
pub fn looks_like_metric_set(head: &[u8]) -> bool {
    // Type, unit, help or metric.
    let family = head.strip_prefix(&[FAMILY_KEY]);
    family.and_then(|family| starts_family(family, &[0x10, 0x1a, 0x22, 0x2a])).is_some_and(|found| found)
}

fn starts_family(head: &[u8], keys: &[u8]) -> Option<bool> {
    let (len, message) = leading_varint(head, MAX_VARINT_LEN)?;
    let (name_len, rest) = leading_varint(message.strip_prefix(b"\x0a")?, MAX_VARINT_LEN)?;
    let (name, rest) = rest.split_at_checked(usize::try_from(name_len).ok()?)?;
    let is_name = !name.is_empty() && name.iter().all(|&byte| byte.is_ascii_alphanumeric() || b"_:.-/".contains(&byte));
    let used = (message.len() - rest.len()) as u64;
    let is_family = rest.first().is_some_and(|key| keys.contains(key));
    Some(is_name && is_family && used < len)
}
