//! The form of the zstd frame of a packed section (RFC 8878, section 3.1.1): read without decoding it.

use crate::error::{Place, corrupt};
use crate::layout::{MAX_PACKED_WINDOW, PackedHeader};
use crate::number::{index, length};
use crate::{Error, Result, Rule};

const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// Descriptor bits: reserved and unused bits, a checksum of the content, the id of a dictionary.
const FORBIDDEN: u8 = 0b0001_1111;
const SINGLE_SEGMENT: u8 = 0b0010_0000;
/// Maximum bytes of the content of a block.
const MAX_BLOCK_LEN: u64 = 1 << 17;

/// Reads a frame from its first byte on.
struct Cursor<'a> {
    frame: &'a [u8],
    position: usize,
}

impl Cursor<'_> {
    /// Returns the error of a value at the current position, or of the value that was read last.
    fn error(&self, found: u64, expected: u64) -> Error {
        let place = length(size_of::<PackedHeader>()) + length(self.position);
        corrupt(Rule::PackedFrame, Place::Byte(place), found, expected)
    }

    /// Reads a little-endian number of `bytes` bytes, at most 8.
    fn number(&mut self, bytes: usize) -> Result<u64> {
        let end = self.position.saturating_add(bytes);
        let Some(read) = self.frame.get(self.position..end) else {
            return Err(self.error(length(self.frame.len()), length(end)));
        };
        self.position = end;
        Ok(read.iter().rev().fold(0, |number, &byte| (number << 8) | u64::from(byte)))
    }

    /// Skips `bytes` bytes, which must be there.
    fn skip(&mut self, bytes: usize) -> Result<()> {
        let end = self.position.saturating_add(bytes);
        if end > self.frame.len() {
            return Err(self.error(length(self.frame.len()), length(end)));
        }
        self.position = end;
        Ok(())
    }
}

/// Checks that the bytes are one frame with a window of at most [`MAX_PACKED_WINDOW`] bytes, without checksum and
/// dictionary, and nothing after it. Returns the number of bytes that it decodes to at most. Compressed blocks are not
/// decoded.
pub(super) fn check(frame: &[u8], expected_len: u64) -> Result<u64> {
    let mut cursor = Cursor { frame, position: 0 };
    let magic = cursor.number(4)?;
    if frame.first_chunk() != Some(&MAGIC) {
        return Err(cursor.error(magic, u64::from(u32::from_le_bytes(MAGIC))));
    }
    let [descriptor, ..] = low_byte(cursor.number(1)?);
    if descriptor & FORBIDDEN != 0 {
        return Err(cursor.error(descriptor.into(), (descriptor & !FORBIDDEN).into()));
    }
    let is_single_segment = descriptor & SINGLE_SEGMENT != 0;
    let window = if is_single_segment { None } else { Some(window_len(cursor.number(1)?)) };
    let content_len = match descriptor >> 6 {
        0 if is_single_segment => Some(cursor.number(1)?),
        0 => None,
        1 => Some(cursor.number(2)? + 256),
        2 => Some(cursor.number(4)?),
        _ => Some(cursor.number(8)?),
    };
    if let Some(content_len) = content_len
        && content_len != expected_len
    {
        return Err(corrupt(Rule::PackedLength, Place::Byte(0), expected_len, content_len));
    }
    let window = window.or(content_len).unwrap_or(0);
    if window > MAX_PACKED_WINDOW {
        return Err(cursor.error(window, MAX_PACKED_WINDOW));
    }
    let most = check_blocks(&mut cursor, window.min(MAX_BLOCK_LEN))?;
    if cursor.position != frame.len() {
        return Err(cursor.error(length(frame.len()), length(cursor.position)));
    }
    Ok(most)
}

/// Returns the window that a window descriptor states, in bytes.
fn window_len(descriptor: u64) -> u64 {
    let base = 1_u64 << (10 + (descriptor >> 3));
    base + base / 8 * (descriptor & 7)
}

fn low_byte(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// Skips the blocks of a frame. Returns the number of bytes that they decode to at most.
fn check_blocks(cursor: &mut Cursor<'_>, max_block_len: u64) -> Result<u64> {
    let mut most = 0_u64;
    loop {
        let header = cursor.number(3)?;
        let (is_last, kind, block_len) = (header & 1 != 0, (header >> 1) & 3, header >> 3);
        if block_len > max_block_len {
            return Err(cursor.error(block_len, max_block_len));
        }
        let (stored, decoded) = match kind {
            0 => (block_len, block_len),
            1 => (1, block_len),
            2 => (block_len, max_block_len),
            _ => return Err(cursor.error(kind, 2)),
        };
        // Does not wrap: a block header stands for each term.
        most += decoded;
        cursor.skip(index(crate::number::low32(stored)))?;
        if is_last {
            return Ok(most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of one raw block, with this descriptor and these bytes after it.
    fn frame(descriptor: u8, fields: &[u8], blocks: &[u8]) -> Vec<u8> {
        [&MAGIC, &[descriptor][..], fields, blocks].concat()
    }

    /// The header of a block.
    fn block(is_last: bool, kind: u32, len: u32) -> Vec<u8> {
        (u32::from(is_last) | kind << 1 | len << 3).to_le_bytes()[..3].to_vec()
    }

    fn rule(frame: &[u8], content_len: u64) -> Option<Rule> {
        check(frame, content_len).err().map(|error| error.rule())
    }

    #[test]
    fn the_bound_is_that_of_the_blocks() {
        let raw = [block(true, 0, 2), b"up".to_vec()].concat();
        assert_eq!(check(&frame(0x20, &[2], &raw), 2), Ok(2));
        // A window of 1 KiB, no content size: an RLE block of 1,000 bytes, then a compressed one of unknown size.
        let blocks = [block(false, 1, 1000), b"x".to_vec(), block(true, 2, 3), b"abc".to_vec()].concat();
        assert_eq!(check(&frame(0, &[0], &blocks), 77), Ok(1000 + 1024));
    }

    #[test]
    fn forbidden_features_are_refused() {
        let raw = [block(true, 0, 2), b"up".to_vec()].concat();
        for bit in 0..5 {
            assert_eq!(rule(&frame(0x20 | 1 << bit, &[2], &raw), 2), Some(Rule::PackedFrame), "bit {bit}");
        }
        // Windows of 8 MiB and of 9 MiB.
        assert_eq!(rule(&frame(0, &[13 << 3], &raw), 2), None);
        assert_eq!(rule(&frame(0, &[13 << 3 | 1], &raw), 2), Some(Rule::PackedFrame));
        assert_eq!(rule(&frame(0, &[17 << 3], &raw), 2), Some(Rule::PackedFrame));
        assert_eq!(rule(&frame(0, &[u8::MAX], &raw), 2), Some(Rule::PackedFrame));
    }

    #[test]
    fn other_lengths_are_refused() {
        let raw = [block(true, 0, 2), b"up".to_vec()].concat();
        let sound = frame(0x20, &[2], &raw);
        assert_eq!(rule(&sound, 3), Some(Rule::PackedLength));
        for len in 0..sound.len() {
            assert_eq!(rule(&sound[..len], 2), Some(Rule::PackedFrame), "{len} bytes");
        }
        assert_eq!(rule(&[&sound[..], b"x"].concat(), 2), Some(Rule::PackedFrame), "a byte after the frame");
        assert_eq!(rule(&[&sound[..], &sound].concat(), 2), Some(Rule::PackedFrame), "two frames");
        let skippable = [&[0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0][..], &sound].concat();
        assert_eq!(rule(&skippable, 2), Some(Rule::PackedFrame));
        // A block longer than the window, and the reserved type.
        assert_eq!(rule(&frame(0x20, &[2], &[block(true, 1, 3), b"u".to_vec()].concat()), 2), Some(Rule::PackedFrame));
        assert_eq!(rule(&frame(0x20, &[2], &[block(true, 3, 2), b"up".to_vec()].concat()), 2), Some(Rule::PackedFrame));
    }
}
