//! Sizes of small allocations in a scratch file: [`Class`].

use std::alloc::Layout;

use crate::LARGE;

/// Number of classes: four for each doubling from 64 bytes on, and four below.
pub(crate) const CLASSES: usize = 4 * (LARGE.ilog2() as usize - 6) + 4;

/// A class of small allocations, which all take the same bytes: at most a quarter more than they need, or 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    /// Bytes of each: 16 to 64 in steps of 16, then four steps to each double.
    len: usize,
}

impl Class {
    /// Returns the class of an allocation, or `None` if it is a large one.
    pub(crate) fn of(layout: Layout) -> Option<Self> {
        let size = layout.size().max(1).checked_next_multiple_of(layout.align())?;
        let len = size.checked_next_multiple_of(step(size))?;
        (len <= LARGE && layout.size() < LARGE).then_some(Self { len })
    }

    /// Returns the bytes that an allocation takes: a multiple of its alignment, if that is a power of two.
    pub(crate) fn len(self) -> usize {
        self.len
    }

    pub(crate) fn number(self) -> usize {
        let step = step(self.len);
        // Four steps make the power of two below the length, but for the first ones.
        match self.len / step {
            steps if self.len <= 64 => steps - 1,
            steps => 4 * (step.ilog2() as usize - 4) + steps - 1,
        }
    }
}

/// Returns a quarter of the power of two that is not above the size.
fn step(size: usize) -> usize {
    (1 << size.ilog2() >> 2).max(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_numbered_by_their_length_and_hold_what_they_should() {
        let mut lens = [0; CLASSES];
        for size in (1..2 * LARGE).step_by(7).chain([LARGE - 1, LARGE]) {
            for align in [1, 8, 16, 64, 4096] {
                let Some(class) = Class::of(Layout::from_size_align(size, align).unwrap()) else {
                    assert!(size + align > LARGE, "{size} bytes aligned to {align} have no class");
                    continue;
                };
                assert!(size < LARGE && class.len() >= size && class.len() % align.max(16) == 0);
                assert!(class.len() <= size.next_multiple_of(align) + (size / 4).max(16), "{size} aligned to {align}");
                let len = &mut lens[class.number()];
                assert!(*len == 0 || *len == class.len(), "two lengths of one number: {len} and {}", class.len());
                *len = class.len();
            }
        }
        assert!(lens.is_sorted() && lens[0] == 16 && lens[CLASSES - 1] == LARGE);
    }
}
