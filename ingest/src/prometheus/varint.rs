//! Numbers in base 128, as Go and protobuf write them.

/// Appends a number, its lowest digit first; all digits but the last have the bit 7.
#[inline]
pub(crate) fn uvarint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number, whose lowest bit is the sign.
pub(crate) fn varint(number: i64, out: &mut Vec<u8>) {
    uvarint(((number << 1) ^ (number >> 63)).cast_unsigned(), out);
}

/// Maximum bytes of a varint.
pub(crate) const MAX_VARINT_LEN: usize = 10;

/// Returns a number and the bytes after it. `None` if it is cut off or has more than 64 bits.
pub(crate) fn read_uvarint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (place, &byte) in bytes.iter().enumerate().take(MAX_VARINT_LEN) {
        let bits = u64::from(byte & 0x7f);
        let shifted = bits << (7 * place);
        if shifted >> (7 * place) != bits {
            return None;
        }
        value |= shifted;
        if byte < 0x80 {
            return Some((value, bytes.get(place + 1..)?));
        }
    }
    None
}

/// Returns the signed number whose lowest bit was the sign.
pub(crate) fn signed(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}
