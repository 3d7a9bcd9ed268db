//! Bytes read as choices and numbers. Where they end, zeros follow.

use crate::hostile::boundary_values;

/// The rest of a program.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a>(pub &'a [u8]);

impl<'a> Program<'a> {
    /// Returns true if nothing is left.
    #[must_use]
    pub const fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    /// The next bytes, fewer at the end.
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        bytes
    }

    /// A number of as many bytes.
    pub fn number(&mut self, bytes: usize) -> u64 {
        let mut number = [0; 8];
        let bytes = self.bytes(bytes);
        number[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(number)
    }

    /// A number below `bound`, 0 if there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        let number = self.number(if bound <= 256 { 1 } else { 2 }) as usize;
        if bound == 0 { 0 } else { number % bound }
    }

    /// Another value for a field: one from the ends of widths, one nearby, or any.
    pub fn value(&mut self, was: u64) -> u64 {
        match self.byte() {
            boundary @ 0..32 => boundary_values(was)[usize::from(boundary)],
            near @ 32..64 => was.wrapping_add(near.into()).wrapping_sub(48),
            64..128 => self.number(1),
            128..192 => self.number(2),
            192..224 => self.number(4),
            _ => self.number(8),
        }
    }
}
