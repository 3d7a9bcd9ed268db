//! [`Location`]: offset and length of a string in an arena, in 6 or 8 bytes.

use std::fmt;

/// Place of a string in an arena. Offsets have 32 bits, so that an arena has at most 4 GiB.
pub trait Location: Copy + fmt::Debug {
    /// Longest string in bytes.
    const MAX_LEN: usize;

    /// Returns the location with this offset and length, or `None` if one of them does not fit.
    fn new(offset: usize, len: usize) -> Option<Self>;

    /// Returns offset and length.
    fn parts(self) -> (usize, usize);
}

/// Location in 6 bytes: a string has at most 65,535 bytes, like a symbol of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, packed(2))]
pub struct PackedLocation {
    offset: u32,
    len: u16,
}

/// Location in 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnpackedLocation {
    offset: u32,
    len: u32,
}

const _: () = assert!(size_of::<PackedLocation>() == 6 && size_of::<UnpackedLocation>() == 8);

impl Location for PackedLocation {
    const MAX_LEN: usize = u16::MAX as usize;

    fn new(offset: usize, len: usize) -> Option<Self> {
        Some(Self { offset: offset.try_into().ok()?, len: len.try_into().ok()? })
    }

    fn parts(self) -> (usize, usize) {
        (self.offset as usize, usize::from(self.len))
    }
}

impl Location for UnpackedLocation {
    const MAX_LEN: usize = u32::MAX as usize;

    fn new(offset: usize, len: usize) -> Option<Self> {
        Some(Self { offset: offset.try_into().ok()?, len: len.try_into().ok()? })
    }

    fn parts(self) -> (usize, usize) {
        (self.offset as usize, self.len as usize)
    }
}
