//! The file of deleted times: [`parse_tombstones`].

use super::error::TsdbBlockError;
use super::files::MAX_TOMBSTONES_LEN;
use super::input::Fields;
use crate::prometheus::tombstones::Tombstones;

/// Magic number and version.
pub(super) const HEADER: [u8; 5] = [0x01, 0x30, 0xba, 0x30, 1];

/// Length of the checksum in bytes.
const CHECKSUM_LEN: usize = 4;

/// Parses the content of `tombstones`, by [its format][format].
///
/// # Errors
///
/// [`TsdbBlockError::Tombstones`] if the file is damaged or too long.
///
/// [format]: https://github.com/prometheus/prometheus/blob/main/tsdb/docs/format/tombstones.md
pub fn parse_tombstones(content: &[u8]) -> Result<Tombstones, TsdbBlockError> {
    let damaged = |offset, reason| TsdbBlockError::Tombstones { offset, reason };
    if content.len() as u64 > MAX_TOMBSTONES_LEN {
        return Err(damaged(content.len(), "longer than 64 MiB"));
    }
    let body = content.strip_prefix(&HEADER).ok_or_else(|| damaged(0, "the file does not start as version 1"))?;
    let (body, &checksum) =
        body.split_last_chunk::<CHECKSUM_LEN>().ok_or_else(|| damaged(content.len(), "the file ends here"))?;
    if crc32c::crc32c(body) != u32::from_be_bytes(checksum) {
        return Err(damaged(HEADER.len() + body.len(), "checksum mismatch"));
    }
    let mut fields = Fields::new(body, HEADER.len() as u64);
    let mut all = Vec::new();
    while !fields.is_empty() {
        let offset = fields.offset() as usize;
        let mut one = || Ok((fields.uvarint()?, fields.varint()?, fields.varint()?));
        let one: Result<_, TsdbBlockError> = one();
        all.push(one.map_err(|_| damaged(offset, "integer is truncated or has more than 64 bits"))?);
    }
    Ok(all.into_iter().collect())
}
