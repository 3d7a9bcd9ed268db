//! Numbers in base 128, as Go and protobuf write them.

/// Appends a number, its lowest digit first; all digits but the last have the bit 7.
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
