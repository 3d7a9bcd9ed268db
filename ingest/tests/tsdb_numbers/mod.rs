//! Numbers and checksums as Prometheus's TSDB writes them. Shares no code with the reader.

/// CRC-32C, bit by bit.
pub fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0x82f6_3b78 } else { sum >> 1 })
    })
}

/// Appends an unsigned varint.
pub fn uvarint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed varint in zigzag form.
pub fn varint(value: i64, out: &mut Vec<u8>) {
    uvarint(((value << 1) ^ (value >> 63)) as u64, out);
}
