//! Counts of delta encodings: [`count_and_end`].

/// Reads over numbers that are delta-encoded and bit-packed. Returns their claimed count and the position after them,
/// or `None` if they are malformed.
///
/// The decoder allocates 4 bytes for each length of a text before it reads the first.
pub(super) fn count_and_end(bytes: &[u8], start: usize) -> Option<(u64, usize)> {
    let mut at = start;
    let (block_len, parts) = (varint(bytes, &mut at)?, varint(bytes, &mut at)?);
    let (count, _first) = (varint(bytes, &mut at)?, varint(bytes, &mut at)?);
    let part_len = block_len.checked_div(parts)?;
    if part_len == 0 || !part_len.is_multiple_of(8) {
        return None;
    }
    let mut left = count.saturating_sub(1);
    while left > 0 {
        let _least = varint(bytes, &mut at)?;
        let widths_end = at.checked_add(usize::try_from(parts).ok()?)?;
        let widths = bytes.get(at..widths_end)?;
        at = widths_end;
        for &width in widths {
            if left == 0 {
                break;
            }
            let packed = u64::from(width).checked_mul(part_len / 8)?;
            at = at.checked_add(usize::try_from(packed).ok()?).filter(|&at| at <= bytes.len())?;
            left = left.saturating_sub(part_len);
        }
    }
    Some((count, at))
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let &byte = bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_ends_are_read() {
        // Block of 128 in 4 parts, 3 numbers, first 7; one block: least 0, widths 2, 0, 0, 0, 32 values of 2 bits.
        let mut bytes = vec![0x80, 0x01, 4, 3, 14, 0, 2, 0, 0, 0];
        bytes.extend([0; 8]);
        let end = bytes.len();
        bytes.extend([1, 2, 3]);
        assert_eq!(count_and_end(&bytes, 0), Some((3, end)));
        assert_eq!(count_and_end(&bytes[..end - 1], 0), None, "cut off");
        assert_eq!(count_and_end(&[0x80, 0x01, 4, 1, 14], 0), Some((1, 5)), "the first number needs no block");
        assert_eq!(count_and_end(&[0x80, 0x01, 0, 1, 14], 0), None, "no parts");
        assert_eq!(count_and_end(&[1, 4, 1, 14], 0), None, "parts without numbers");
    }
}
