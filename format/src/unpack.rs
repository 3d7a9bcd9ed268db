//! Unpacking of runs: many fields of equal width, at equal distances, at once.
//!
//! Eight fields that are `stride` bits apart take `stride` bytes. So field 8 starts at the same bit of a byte as field
//! 0, and the eight places in a group of `stride` bytes are constants of the loop: a field then costs a load, a shift
//! and a mask. The compiler turns the same code into vector shifts where a processor has a shift per lane (AVX2).
//!
//! The bench `unpack` compares it with a loop over single fields. For 256 fields of up to 25 bits, it is 1.8 to 2.2
//! times as fast without AVX2, and 2.8 to 4.6 times with it. Slower were, with AVX2: gathers (half as fast), and a
//! kernel for each width (0.7, contiguous fields only). A shuffle of 16 bytes is 1.3 times as fast as eight loads, but
//! only for fields that are at most some 30 bits apart.

use crate::bits::mask;
use crate::number::{index, low32};

/// Fewest groups for which the places are worked out. Fewer fields are read faster one by one.
const MIN_GROUPS: usize = 4;

/// Fields of equal width, at equal distances.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// First bit of the first field.
    pub start: u64,
    /// Bits from the start of a field to the start of the next.
    pub stride: u32,
    /// Bits of a field.
    pub width: u32,
    /// Summand of each field.
    pub base: u32,
}

impl Run {
    /// Unpacks one field per item of `out`, in 0.3 to 1.5 ns each. Returns `None` if a sum of base and field
    /// may not fit 32 bits, or if the 8 bytes from the first byte of a field on are not all in `bytes`; the items of
    /// `out` are then unspecified.
    #[must_use]
    pub fn unpack(self, bytes: &[u8], out: &mut [u32]) -> Option<()> {
        self.unpack_by(bytes, out, unpack_groups)
    }

    /// Unpacks whole groups with `unpack_groups`, which returns their number, and further fields one by one.
    fn unpack_by(
        self,
        bytes: &[u8],
        out: &mut [u32],
        unpack_groups: impl Fn(&Groups, &[u8], &mut [[u32; 8]]) -> usize,
    ) -> Option<()> {
        // Then no sum below wraps around.
        let mask = u32::try_from(mask(self.width)).ok()?;
        self.base.checked_add(mask)?;
        if self.width == 0 {
            out.fill(self.base);
            return Some(());
        }
        let (mut bit, mut unpacked) = (self.start, 0);
        let (groups, _) = out.as_chunks_mut();
        if groups.len() >= MIN_GROUPS {
            let first = bytes.get(usize::try_from(self.start / 8).ok()?..)?;
            unpacked = unpack_groups(&Groups::new(self, mask), first, groups) * 8;
            // A group has `stride` bytes.
            bit += u64::try_from(unpacked).ok()? * u64::from(self.stride);
        }
        for out in out.get_mut(unpacked..)? {
            let word = bytes.get(usize::try_from(bit / 8).ok()?..)?.first_chunk()?;
            let field = low32(u64::from_le_bytes(*word) >> (bit % 8)) & mask;
            *out = self.base.wrapping_add(field);
            bit = bit.checked_add(self.stride.into())?;
        }
        Some(())
    }
}

/// Places of eight fields in a group of `len` bytes.
struct Groups {
    /// First byte of each field.
    bytes: [usize; 8],
    /// First bit of each field in its first byte.
    shifts: [u32; 8],
    len: usize,
    mask: u32,
    base: u32,
    /// True if each field ends in the 4 bytes from its first byte on.
    is_narrow: bool,
}

impl Groups {
    fn new(run: Run, mask: u32) -> Self {
        let (mut bytes, mut shifts) = ([0; 8], [0; 8]);
        let mut bit = low32(run.start % 8);
        let mut widest = 0;
        for (byte, shift) in bytes.iter_mut().zip(&mut shifts) {
            *byte = index(bit / 8);
            *shift = bit % 8;
            widest = widest.max(*shift + run.width);
            // Strides that saturate are too large for groups: `unpack_within` leaves them to the loop over fields.
            bit = bit.saturating_add(run.stride);
        }
        Self { bytes, shifts, len: index(run.stride), mask, base: run.base, is_narrow: widest <= 32 }
    }
}

/// Unpacks groups with AVX2 if the processor has it and it helps, and returns their number; see [`unpack_portably`].
fn unpack_groups(groups: &Groups, bytes: &[u8], out: &mut [[u32; 8]]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if groups.is_narrow && is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "a crate that hides this call takes 14 s to compile")]
        // SAFETY: all that `unpack_with_avx2` asks for is a processor with AVX2, and this is one.
        return unsafe { unpack_with_avx2(groups, bytes, out) };
    }
    unpack_portably(groups, bytes, out)
}

/// Does as [`unpack_portably`] for narrow fields, compiled for processors with AVX2: eight are shifted and masked at a
/// time. Without AVX2, 4-byte loads are slower than 8-byte loads, since no instruction shifts each lane by its own
/// count. With AVX2, 8-byte loads gain nothing.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn unpack_with_avx2(groups: &Groups, bytes: &[u8], out: &mut [[u32; 8]]) -> usize {
    unpack_within::<true>(groups, bytes, out)
}

/// Unpacks the first groups of `bytes`, one per item of `out`, and returns their number. The last groups are left out
/// if few bytes follow them, and all groups if the stride is 1,170 bits or more.
fn unpack_portably(groups: &Groups, bytes: &[u8], out: &mut [[u32; 8]]) -> usize {
    unpack_within::<false>(groups, bytes, out)
}

/// Calls [`unpack_each`] with the least bound of the places.
#[inline(always)]
fn unpack_within<const IS_NARROW: bool>(groups: &Groups, bytes: &[u8], out: &mut [[u32; 8]]) -> usize {
    match groups.bytes {
        [.., 0..0x40] => unpack_each::<IS_NARROW, 0x3F, 0x47>(groups, bytes, out),
        [.., 0..0x80] => unpack_each::<IS_NARROW, 0x7F, 0x87>(groups, bytes, out),
        [.., 0..0x400] => unpack_each::<IS_NARROW, 0x3FF, 0x407>(groups, bytes, out),
        _ => 0,
    }
}

/// Unpacks groups whose places are at most `LAST`, a number of ones in binary; `LEN` is 8 more. With both constant, the
/// compiler proves that each load is inside, so that bytes are checked once per group.
#[inline(always)]
fn unpack_each<const IS_NARROW: bool, const LAST: usize, const LEN: usize>(
    groups: &Groups,
    bytes: &[u8],
    out: &mut [[u32; 8]],
) -> usize {
    let mut left = bytes;
    let mut unpacked = 0;
    for out in out {
        let Some(group) = left.first_chunk::<LEN>() else { break };
        // The mask tells the compiler the bound of the place, but only here: not where the places are worked out.
        let places = groups.bytes.iter().map(|byte| byte & LAST);
        if IS_NARROW {
            // All loads come first, so that the compiler sees one vector.
            let mut fields = [0; 8];
            for (field, place) in fields.iter_mut().zip(places) {
                *field = u32::from_le_bytes(load(group, place));
            }
            for (field, shift) in fields.iter_mut().zip(groups.shifts) {
                *field = ((*field >> (shift % 8)) & groups.mask).wrapping_add(groups.base);
            }
            *out = fields;
        } else {
            for ((out, place), shift) in out.iter_mut().zip(places).zip(groups.shifts) {
                let word = u64::from_le_bytes(load(group, place));
                *out = (low32(word >> (shift % 8)) & groups.mask).wrapping_add(groups.base);
            }
        }
        left = left.get(groups.len..).unwrap_or_default();
        unpacked += 1;
    }
    unpacked
}

/// Returns the bytes from `place` on, which are there.
#[inline(always)]
fn load<const N: usize>(group: &[u8], place: usize) -> [u8; N] {
    group.get(place..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use bitvec::prelude::*;

    use super::*;

    const COUNT: usize = 70;

    /// Returns bytes that look random, from a multiplicative generator.
    fn random_bytes(len: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            state.to_be_bytes()[0]
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    /// Returns the fields of a run as `bitvec` reads them, plus the base.
    fn model(run: Run, bytes: &[u8], count: usize) -> Vec<u32> {
        let bits = bytes.view_bits::<Lsb0>();
        let field = |number: usize| {
            let start = run.start as usize + number * run.stride as usize;
            let field: u32 = if run.width == 0 { 0 } else { bits[start..start + run.width as usize].load_le() };
            run.base.checked_add(field).unwrap()
        };
        (0..count).map(field).collect()
    }

    /// Compares both kernels with the model, for 0 to 70 fields, the last at the very end of the bytes.
    fn expect_model(run: Run, bytes: &[u8]) {
        let expected = model(run, bytes, COUNT);
        for count in 0..=COUNT {
            let last = (run.start as usize + count.saturating_sub(1) * run.stride as usize) / 8;
            let bytes = &bytes[..last + 8];
            let mut fields = [1; COUNT];
            let fields = &mut fields[..count];
            assert_eq!(run.unpack(bytes, fields), Some(()), "{run:?}, {count} fields");
            assert_eq!(fields, &expected[..count], "{run:?}, {count} fields");
            fields.fill(1);
            assert_eq!(run.unpack_by(bytes, fields, unpack_portably), Some(()), "{run:?}, {count} fields");
            assert_eq!(fields, &expected[..count], "{run:?}, {count} fields, portably");
            if run.width > 0 && count > 0 {
                let short = &bytes[..bytes.len() - 1];
                assert_eq!(run.unpack(short, fields), None, "{run:?}, {count} fields");
                assert_eq!(run.unpack_by(short, fields, unpack_portably), None, "{run:?}, {count} fields, portably");
            }
        }
    }

    #[test]
    fn fields_are_those_that_bitvec_reads() {
        let bytes = random_bytes(COUNT * 5_000 / 8 + 16);
        for width in 0..=32 {
            // The largest base that fits.
            let base = !low32(mask(width));
            for start in 0..8 {
                for stride in (width..=100).chain([128, 145, 146, 147, 160, 300]) {
                    expect_model(Run { start, stride, width, base }, &bytes);
                }
            }
            for (start, stride) in [(3, 1_169), (0, 1_170), (7, 1_171), (5, 4_999)] {
                expect_model(Run { start, stride, width, base }, &bytes);
            }
        }
    }

    /// The model would not notice if no group were ever unpacked.
    #[test]
    fn groups_are_unpacked() {
        let bytes = random_bytes(1 << 16);
        for (stride, width) in [(1, 1), (12, 12), (32, 32), (90, 12), (300, 20), (1_169, 9)] {
            let run = Run { start: 5, stride, width, base: 0 };
            let groups = Groups::new(run, low32(mask(width)));
            let mut out = [[0; 8]; 8];
            assert_eq!(unpack_groups(&groups, &bytes, &mut out), 8, "{run:?}");
            assert_eq!(unpack_portably(&groups, &bytes, &mut out), 8, "{run:?}");
            assert_eq!(out.as_flattened(), model(run, &bytes, 64));
        }
        let run = Run { start: 0, stride: 1_171, width: 9, base: 0 };
        assert_eq!(unpack_portably(&Groups::new(run, 511), &bytes, &mut [[0; 8]; 8]), 0);
    }

    #[test]
    fn a_code_that_may_not_fit_is_refused() {
        let bytes = [0; 64];
        for (width, base) in [(0, u32::MAX), (1, u32::MAX - 1), (12, u32::MAX - 4_095), (32, 0)] {
            let run = Run { start: 0, stride: width, width, base };
            assert_eq!(run.unpack(&bytes, &mut [0; 3]), Some(()), "{run:?}");
            if width > 0 {
                let run = Run { base: base + 1, ..run };
                assert_eq!(run.unpack(&bytes, &mut [0; 3]), None, "{run:?}");
            }
        }
        assert_eq!(Run { start: 0, stride: 33, width: 33, base: 0 }.unpack(&bytes, &mut [0; 3]), None);
    }

    #[test]
    fn places_that_no_slice_has_are_refused() {
        for start in [8 * 57, u64::MAX - 7, u64::MAX] {
            for stride in [1, u32::MAX] {
                let run = Run { start, stride, width: 1, base: 0 };
                assert_eq!(run.unpack(&[0; 64], &mut [0; COUNT]), None, "{run:?}");
            }
        }
        let run = Run { start: 0, stride: u32::MAX, width: 1, base: 0 };
        assert_eq!(run.unpack(&[0; 64], &mut [0; COUNT]), None);
    }
}
