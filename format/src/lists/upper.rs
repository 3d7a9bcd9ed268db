//! Upper bits of a split list: [`Upper`].

use crate::bits::{Window, mask};
use crate::number::{index, low32};

/// Bits that are examined at a time: whole bytes, and fewer than the 57 bits that a word of a window has.
const WORD_BITS: u64 = 56;

/// Upper bits of a split list: a one per member, before which there are as many zeros as its upper part says.
pub(crate) struct Upper<'a> {
    window: Window<'a>,
    /// Number of bits.
    len: u64,
}

impl<'a> Upper<'a> {
    /// Creates the upper bits from a window of this number of bits.
    pub(crate) const fn new(window: Window<'a>, len: u64) -> Self {
        Self { window, len }
    }

    /// Returns the words with the positions of their first bits. Bits after the last are zero.
    pub(crate) fn words(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.len.div_ceil(WORD_BITS)).map(|word| word * WORD_BITS).map(|at| (at, self.word(at)))
    }

    fn word(&self, at: u64) -> u64 {
        // The window covers all bits.
        self.window.word(at).unwrap_or_default() & self.valid(at)
    }

    /// Returns the mask of the bits of the word at `at` that are in the list.
    fn valid(&self, at: u64) -> u64 {
        mask(low32((self.len - at).min(WORD_BITS)))
    }

    /// Returns the number of ones.
    pub(crate) fn ones(&self) -> u64 {
        self.words().map(|(_, word)| u64::from(word.count_ones())).sum()
    }

    /// Joins the upper parts of the members from place `start` on with their low bits, which are `low_width` each.
    /// Returns false if there are fewer members.
    pub(crate) fn join(&self, start: u32, low_width: u32, members: &mut [u32]) -> bool {
        let mut left = members;
        let mut place = 0_u32;
        for (at, mut word) in self.words() {
            let end = place + word.count_ones();
            if end > start {
                for _ in place..start {
                    word &= word - 1;
                }
                let first = place.max(start);
                let (here, after) = left.split_at_mut(index(end - first).min(left.len()));
                // The upper part of a member is the number of zeros before its one: of bits less ones.
                let mut zeros = low32(at).wrapping_sub(first);
                for member in here {
                    *member |= zeros.wrapping_add(word.trailing_zeros()).wrapping_shl(low_width);
                    zeros = zeros.wrapping_sub(1);
                    word &= word.wrapping_sub(1);
                }
                left = after;
                if left.is_empty() {
                    break;
                }
            }
            place = end;
        }
        left.is_empty()
    }

    /// Returns the position of the one with this number, from 0, or `None` if there are fewer.
    pub(crate) fn select_one(&self, number: u32) -> Option<u64> {
        nth(self.words(), number)
    }

    /// Returns the position of the zero with this number, from 0, or `None` if there are fewer.
    pub(crate) fn select_zero(&self, number: u32) -> Option<u64> {
        nth(self.words().map(|(at, word)| (at, !word & self.valid(at))), number)
    }

    /// Returns the number of ones from bit `at` to the next zero or to the end.
    pub(crate) fn ones_from(&self, at: u64) -> u64 {
        let mut end = at;
        while end < self.len {
            let ones = u64::from(self.word(end).trailing_ones());
            end += ones;
            if ones < WORD_BITS {
                break;
            }
        }
        end - at
    }
}

/// Returns the position of set bit number `number`, from 0.
#[inline]
fn nth(words: impl Iterator<Item = (u64, u64)>, number: u32) -> Option<u64> {
    let mut left = number;
    for (at, mut word) in words {
        let count = word.count_ones();
        if left >= count {
            left -= count;
            continue;
        }
        for _ in 0..left {
            word &= word - 1;
        }
        return Some(at + u64::from(word.trailing_zeros()));
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Rule;
    use crate::bits::{BitWriter, Bits};
    use crate::number::length;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn ones_and_zeros_are_found_by_their_numbers(
            before in 0..9_u32,
            bits in prop::collection::vec(any::<bool>(), 0..300),
        ) {
            let mut writer = BitWriter::new();
            // Bits around the window must not matter.
            writer.push(u64::MAX >> (64 - before.max(1)) >> u32::from(before == 0), before);
            bits.iter().for_each(|&bit| writer.push(bit.into(), 1));
            writer.push(0xFF, 8);
            let bytes = writer.finish();
            let stream = Bits::new(&bytes, Rule::MembersExtent);
            let upper = Upper::new(stream.window(before.into(), length(bits.len())).unwrap(), length(bits.len()));
            let places = |wanted: bool| {
                bits.iter().zip(0..).filter(move |&(&bit, _)| bit == wanted).map(|(_, place)| place)
            };
            prop_assert_eq!(upper.ones(), length(places(true).count()));
            for number in 0..=bits.len() {
                prop_assert_eq!(upper.select_one(number as u32), places(true).nth(number));
                prop_assert_eq!(upper.select_zero(number as u32), places(false).nth(number));
                let run = bits.iter().skip(number).take_while(|&&bit| bit).count();
                prop_assert_eq!(upper.ones_from(length(number)), length(run));
            }
        }
    }
}
