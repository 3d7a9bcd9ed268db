//! [`Postings`]: the series of each value of a key, made in memory when enough queries asked for single values.
//!
//! Tables find many values at once, but look at every keyset that can have one of them. If a key has thousands of
//! values, each of them is in few keysets. Postings find these directly. They are made in memory, for the keys that are
//! asked for, so that the file needs no index of values.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use chronoxide_format::KeyId;

/// Bits of a number in each byte of a varint. The top bit says that more bytes follow.
const BITS_PER_BYTE: u32 = 7;

/// The series of each value of a key, as ranges of refs.
///
/// A value's ranges are in order. Each is an entry of one or two varints: twice the gap after the range before it, plus
/// 1 if its length follows. Without one, the length is that of the range before; the first counts as 1. Neighbours in a
/// keyset lie close, and mostly have the same length, so that most entries take one or two bytes.
pub(crate) struct Postings {
    /// End of each value's entries.
    ends: Box<[u32]>,
    entries: Box<[u8]>,
}

impl Postings {
    /// Returns the number of bytes of a value's entries: at least the number of its ranges.
    pub(crate) fn len(&self, code: u32) -> usize {
        self.entries_of(code).len()
    }

    /// Returns the refs of the series that have a value, as ranges in order, with gaps between them.
    pub(crate) fn refs(&self, code: u32) -> PostedRefs<'_> {
        PostedRefs { entries: self.entries_of(code).iter(), end: 0, len: 1 }
    }

    fn entries_of(&self, code: u32) -> &[u8] {
        let end = self.ends.get(code as usize).copied().unwrap_or_default();
        let start = code.checked_sub(1).and_then(|before| self.ends.get(before as usize)).copied().unwrap_or_default();
        self.entries.get(start as usize..end as usize).unwrap_or_default()
    }

    fn allocated(&self) -> usize {
        size_of_val(&*self.ends) + self.entries.len()
    }
}

impl fmt::Debug for Postings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postings").field("values", &self.ends.len()).field("bytes", &self.entries.len()).finish()
    }
}

/// Iterator over the refs of a value's series.
pub(crate) struct PostedRefs<'a> {
    entries: std::slice::Iter<'a, u8>,
    /// End of the last range.
    end: u32,
    /// Length of the last range.
    len: u32,
}

impl PostedRefs<'_> {
    #[inline]
    fn number(&mut self) -> Option<u64> {
        let first = u64::from(*self.entries.next()?);
        if first < 1 << BITS_PER_BYTE {
            return Some(first);
        }
        let (mut number, mut shift) = (first & 0x7f, BITS_PER_BYTE);
        for &byte in self.entries.by_ref() {
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 1 << BITS_PER_BYTE {
                break;
            }
            shift += BITS_PER_BYTE;
        }
        Some(number)
    }
}

impl Iterator for PostedRefs<'_> {
    type Item = Range<u32>;

    #[inline]
    fn next(&mut self) -> Option<Range<u32>> {
        let gap = self.number()?;
        if gap & 1 == 1 {
            self.len = self.number()? as u32;
        }
        let start = self.end + (gap >> 1) as u32;
        self.end = start + self.len;
        Some(start..self.end)
    }
}

/// Makes [`Postings`] from the codes of all series, in order, in two passes: the first measures the entries of each
/// value, and the second writes them. One pass would need a vector for each of thousands of values, or a sort.
pub(crate) struct PostingsWriter {
    values: Vec<WrittenValue>,
    /// Entries of all values; empty in the first pass.
    entries: Vec<u8>,
    /// The series of the last code, which the next may continue.
    last: Range<u32>,
    last_code: u32,
    /// Bytes of all entries so far.
    len: u64,
    /// True if a code was beyond the dictionary, which only damaged blocks have.
    is_damaged: bool,
}

#[derive(Clone, Copy)]
struct WrittenValue {
    /// End of the last range.
    end: u32,
    /// Length of the last range.
    len: u32,
    /// Bytes of its entries so far; in the second pass, the place of the next one.
    place: u32,
}

impl WrittenValue {
    const NONE: Self = Self { end: 0, len: 1, place: 0 };
}

impl PostingsWriter {
    pub(crate) fn new(cardinality: u32) -> Self {
        let values = vec![WrittenValue::NONE; cardinality as usize];
        Self { values, entries: Vec::new(), last: 0..0, last_code: 0, len: 0, is_damaged: false }
    }

    /// Returns the bytes of memory that the postings will take.
    pub(crate) fn allocated(&self) -> u64 {
        self.len + (self.values.len() * size_of::<u32>()) as u64
    }

    /// Ends a pass. Returns the number of series, or `None` if the block is damaged.
    pub(crate) fn finish_pass(&mut self) -> Option<u32> {
        self.write();
        (!self.is_damaged).then_some(self.last.end)
    }

    /// Begins the second pass, with the same codes.
    pub(crate) fn begin_second_pass(self) -> Self {
        let mut end = 0;
        let mut values = self.values;
        for value in &mut values {
            let start = end;
            end += value.place;
            *value = WrittenValue { place: start, ..WrittenValue::NONE };
        }
        let entries = vec![0; end as usize];
        Self { values, entries, last: 0..0, last_code: 0, len: 0, is_damaged: false }
    }

    /// Returns the postings after the second pass.
    pub(crate) fn into_postings(self) -> Postings {
        let ends = self.values.iter().map(|value| value.place).collect();
        Postings { ends, entries: self.entries.into() }
    }

    /// Passes over series without the label.
    pub(crate) fn skip(&mut self, count: u32) {
        // Nothing is between the series before and after: they may be one range.
        if count == 0 {
            return;
        }
        self.write();
        self.last = self.last.end.saturating_add(count)..self.last.end.saturating_add(count);
    }

    /// Adds series that have a value.
    #[inline]
    pub(crate) fn add(&mut self, code: u32, count: u32) {
        if count == 0 {
            return;
        }
        if code != self.last_code {
            self.write();
            (self.last_code, self.last.start) = (code, self.last.end);
        }
        self.last.end = self.last.end.saturating_add(count);
    }

    /// Writes the entry of the last code's series, if there are any.
    fn write(&mut self) {
        let range = self.last.clone();
        if range.is_empty() {
            return;
        }
        let Some(value) = self.values.get_mut(self.last_code as usize) else {
            self.is_damaged = true;
            return;
        };
        let gap = u64::from(range.start - value.end) << 1;
        let len = range.end - range.start;
        let is_new_len = len != value.len;
        let used = number_len(gap) + if is_new_len { number_len(len.into()) } else { 0 };
        let place = value.place as usize;
        if let Some(entry) = self.entries.get_mut(place..place + used) {
            let mut bytes = entry.iter_mut();
            put(&mut bytes, gap | u64::from(is_new_len));
            if is_new_len {
                put(&mut bytes, len.into());
            }
        }
        *value = WrittenValue { end: range.end, len, place: value.place.saturating_add(used as u32) };
        self.len += used as u64;
        self.last.start = range.end;
    }
}

/// Returns the number of bytes of a number.
#[inline]
fn number_len(number: u64) -> usize {
    number.max(1).ilog2() as usize / BITS_PER_BYTE as usize + 1
}

/// Writes a number.
#[inline]
fn put<'b>(bytes: &mut impl Iterator<Item = &'b mut u8>, mut number: u64) {
    for byte in bytes {
        let rest = number >> BITS_PER_BYTE;
        *byte = (number & 0x7f) as u8 | u8::from(rest > 0) << BITS_PER_BYTE;
        number = rest;
        if number == 0 {
            return;
        }
    }
}

/// The postings of the keys of a block, each made once. Threads share them.
#[derive(Debug)]
pub(crate) struct PostingsOfKeys {
    keys: Box<[Slot]>,
    /// Maximum bytes of all postings.
    max_bytes: usize,
    /// Bytes of all postings.
    bytes: AtomicUsize,
}

#[derive(Debug, Default)]
struct Slot {
    /// Work of the queries that postings would have saved.
    work: AtomicU64,
    made: OnceLock<Postings>,
}

impl PostingsOfKeys {
    pub(crate) fn new(key_count: u32, max_bytes: usize) -> Self {
        let keys = (0..key_count).map(|_| Slot::default()).collect();
        // Ends of entries take 32 bits.
        let max_bytes = max_bytes.min(u32::MAX as usize);
        Self { keys, max_bytes, bytes: AtomicUsize::new(0) }
    }

    pub(crate) fn get(&self, key: KeyId) -> Option<&Postings> {
        self.keys.get(key.0 as usize)?.made.get()
    }

    /// Adds to the work that postings of a key would have saved. Returns true to the one caller whose work reaches
    /// `enough`, so that one thread makes them while others go on without.
    pub(crate) fn add_work(&self, key: KeyId, work: u64, enough: u64) -> bool {
        let Some(slot) = self.keys.get(key.0 as usize) else { return false };
        let before = slot.work.fetch_add(work, Ordering::Relaxed);
        before < enough && before.saturating_add(work) >= enough
    }

    /// Forgets the work that was added, so that the postings of a key are tried again after as much of it.
    pub(crate) fn forget_work(&self, key: KeyId) {
        if let Some(slot) = self.keys.get(key.0 as usize) {
            slot.work.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the bytes that more postings may take.
    pub(crate) fn room(&self) -> u64 {
        self.max_bytes.saturating_sub(self.bytes.load(Ordering::Relaxed)) as u64
    }

    /// Keeps the postings of a key, unless all would take too many bytes.
    pub(crate) fn keep(&self, key: KeyId, postings: Postings) {
        let len = postings.allocated();
        let grown = |bytes: usize| bytes.checked_add(len).filter(|sum| *sum <= self.max_bytes);
        if self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
            && let Some(slot) = self.keys.get(key.0 as usize)
            && slot.made.set(postings).is_err()
        {
            self.bytes.fetch_sub(len, Ordering::Relaxed);
        }
    }

    pub(crate) fn allocated(&self) -> usize {
        size_of_val(&*self.keys) + self.bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The reference is a list of the series of each code.
        #[test]
        fn refs_are_the_series_with_a_code(
            runs in prop::collection::vec((prop::option::weighted(0.8, 0_u32..6), 0_u32..300), 0..60),
        ) {
            let mut expected = vec![Vec::new(); 6];
            let mut writer = PostingsWriter::new(6);
            let mut count = 0;
            for pass in 0..2 {
                let mut series = 0;
                for &(code, len) in &runs {
                    match code {
                        Some(code) => writer.add(code, len),
                        None => writer.skip(len),
                    }
                    if let (Some(code), 0) = (code, pass) {
                        expected[code as usize].extend(series..series + len);
                    }
                    series += len;
                }
                prop_assert_eq!(writer.finish_pass(), Some(series));
                count = writer.allocated();
                if pass == 0 {
                    writer = writer.begin_second_pass();
                }
            }
            let postings = writer.into_postings();
            prop_assert_eq!(postings.allocated() as u64, count);
            for (code, expected) in (0..).zip(expected) {
                let ranges: Vec<_> = postings.refs(code).collect();
                prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "{:?}", ranges);
                prop_assert!(ranges.len() <= postings.len(code));
                prop_assert_eq!(ranges.into_iter().flatten().collect::<Vec<u32>>(), expected);
            }
            prop_assert_eq!(postings.refs(6).count(), 0);
        }
    }

    #[test]
    fn codes_beyond_the_dictionary_are_damage() {
        let mut writer = PostingsWriter::new(2);
        writer.add(1, 3);
        writer.add(2, 1);
        assert_eq!(writer.finish_pass(), None);
    }

    #[test]
    fn distant_series_take_the_longest_entry() {
        let mut writer = PostingsWriter::new(1);
        for pass in 0..2 {
            writer.skip(1 << 31);
            writer.add(0, (1 << 31) - 1);
            assert_eq!(writer.finish_pass(), Some(u32::MAX));
            if pass == 0 {
                writer = writer.begin_second_pass();
            }
        }
        let postings = writer.into_postings();
        assert_eq!(postings.refs(0).next(), Some(1 << 31..u32::MAX));
        assert_eq!(postings.refs(0).count(), 1);
        assert_eq!(postings.len(0), 10, "a gap with its flag has 33 bits, a length 31");
    }

    #[test]
    fn postings_are_kept_within_their_bound() {
        let postings = |values| PostingsWriter::new(values).begin_second_pass().into_postings();
        let keys = PostingsOfKeys::new(3, 1000);
        keys.keep(KeyId(0), postings(200));
        keys.keep(KeyId(1), postings(51));
        keys.keep(KeyId(2), postings(50));
        keys.keep(KeyId(0), postings(0));
        let kept = [0, 1, 2, 3].map(|key| keys.get(KeyId(key)).is_some());
        assert_eq!((kept, keys.room()), ([true, false, true, false], 0));
    }

    #[test]
    fn one_caller_is_told_that_work_is_enough() {
        let keys = PostingsOfKeys::new(1, 0);
        assert_eq!([3, 6, 1, 9, 9].map(|work| keys.add_work(KeyId(0), work, 10)), [false, false, true, false, false]);
        keys.forget_work(KeyId(0));
        assert_eq!([9, 1].map(|work| keys.add_work(KeyId(0), work, 10)), [false, true]);
        assert!(!keys.add_work(KeyId(1), 10, 10), "no such key");
    }
}
