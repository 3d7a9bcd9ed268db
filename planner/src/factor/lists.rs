//! Lists of codes in little memory: [`Lists`].

use std::cmp::Ordering;

/// Bits of a code in each byte of its encoding; the highest bit says that another byte follows.
const BITS_A_BYTE: u32 = 7;

/// Numbered lists of codes.
///
/// A list is encoded as its number of codes, its first code, and the differences between its codes, in one to five
/// bytes each: increasing lists take about a third of four bytes per code. Equal lists have equal bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    bytes: Vec<u8>,
    /// End of each list in `bytes`.
    ends: Vec<usize>,
    code_count: u64,
}

/// A list of [`Lists`], which is decoded when it is read.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    len: u32,
    /// First code and differences.
    bytes: &'a [u8],
}

impl Lists {
    /// Returns the number of lists.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no lists.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the number of bytes that the codes of all lists take.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the number of codes of all lists.
    #[must_use]
    pub fn code_count(&self) -> u64 {
        self.code_count
    }

    /// Returns a list by its number.
    ///
    /// # Panics
    /// Panics if there is no list with this number.
    #[must_use]
    pub fn list(&self, number: u32) -> List<'_> {
        let mut bytes = self.encoded(number);
        List { len: next_code(&mut bytes), bytes }
    }

    /// Returns all lists in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = List<'_>> {
        (0..self.ends.len() as u32).map(|number| self.list(number))
    }

    /// Adds a list and returns its number.
    pub fn push(&mut self, codes: impl ExactSizeIterator<Item = u32>) -> u32 {
        self.code_count += codes.len() as u64;
        encode(codes, &mut self.bytes);
        self.ends.push(self.bytes.len());
        (self.ends.len() - 1) as u32
    }

    /// Removes the last list, which has `len` codes.
    pub(super) fn pop(&mut self, len: usize) {
        self.ends.pop();
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
        self.code_count -= len as u64;
    }

    /// Returns the encoding of a list.
    pub(super) fn encoded(&self, number: u32) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.bytes[start..self.ends[number as usize]]
    }

    /// Returns the numbers of some lists in the order of their codes.
    #[must_use]
    pub fn sorted(&self, numbers: impl IntoIterator<Item = u32>) -> Vec<u32> {
        // The first two codes decide most comparisons without decoding.
        let beginning = |number: u32| {
            let mut codes = self.list(number).iter().map(u64::from);
            // A list that ends comes before one that goes on.
            let mut next = || codes.next().map_or(0, |code| code + 1);
            (next(), next())
        };
        let mut order: Vec<((u64, u64), u32)> = numbers.into_iter().map(|number| (beginning(number), number)).collect();
        order.sort_unstable_by(|(left, a), (right, b)| {
            left.cmp(right).then_with(|| self.list(*a).iter().cmp(self.list(*b).iter()))
        });
        order.into_iter().map(|(_, number)| number).collect()
    }
}

impl<L: AsRef<[u32]>> FromIterator<L> for Lists {
    fn from_iter<I: IntoIterator<Item = L>>(lists: I) -> Self {
        let mut all = Self::default();
        for list in lists {
            all.push(list.as_ref().iter().copied());
        }
        all
    }
}

impl<'a> List<'a> {
    /// Returns the number of codes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if the list has no codes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the codes in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        let (mut bytes, mut code) = (self.bytes, 0_u32);
        (0..self.len as usize).map(move |_| {
            code = code.wrapping_add(next_code(&mut bytes));
            code
        })
    }
}

impl PartialEq for List<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.bytes == other.bytes
    }
}

impl Eq for List<'_> {}

impl PartialOrd for List<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for List<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

/// Appends the encoding of a list.
pub(super) fn encode(codes: impl ExactSizeIterator<Item = u32>, bytes: &mut Vec<u8>) {
    push_code(codes.len() as u32, bytes);
    let mut before = 0_u32;
    for code in codes {
        push_code(code.wrapping_sub(before), bytes);
        before = code;
    }
}

fn push_code(mut code: u32, bytes: &mut Vec<u8>) {
    while code >= 1 << BITS_A_BYTE {
        bytes.push(code as u8 | 1 << BITS_A_BYTE);
        code >>= BITS_A_BYTE;
    }
    bytes.push(code as u8);
}

fn next_code(bytes: &mut &[u8]) -> u32 {
    let mut code = 0;
    let mut shift = 0;
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        code |= u32::from(byte & ((1 << BITS_A_BYTE) - 1)) << shift;
        if byte < 1 << BITS_A_BYTE {
            break;
        }
        shift += BITS_A_BYTE;
    }
    code
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn lists_are_read_as_they_were_written_and_sorted_as_slices_are(
            lists in proptest::collection::vec(proptest::collection::vec(code(), 0..6), 0..20)
        ) {
            let encoded: Lists = lists.iter().collect();
            prop_assert_eq!(encoded.len(), lists.len());
            prop_assert_eq!(encoded.code_count(), lists.concat().len() as u64);
            let decoded: Vec<Vec<u32>> = encoded.iter().map(|list| list.iter().collect()).collect();
            prop_assert_eq!(&decoded, &lists);
            let sorted = encoded.sorted(0..lists.len() as u32);
            let sorted: Vec<&Vec<u32>> = sorted.iter().map(|&number| &lists[number as usize]).collect();
            let mut expected: Vec<&Vec<u32>> = lists.iter().collect();
            expected.sort();
            prop_assert_eq!(sorted, expected);
        }
    }

    /// Codes of each length in bytes, and the largest.
    fn code() -> impl Strategy<Value = u32> {
        prop_oneof![0..4_u32, 126..130_u32, any::<u32>(), Just(u32::MAX)]
    }

    #[test]
    fn increasing_lists_take_about_a_byte_per_code() {
        let lists: Lists = [(1000..2000).step_by(3).collect::<Vec<u32>>()].into_iter().collect();
        // The number of codes and the first code take two bytes each.
        assert_eq!(lists.encoded(0).len(), 2 + 2 + 333);
    }
}
