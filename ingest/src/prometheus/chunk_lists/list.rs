//! The chunks of a series as the values of four columns: [`ChunkList`].

use std::fmt;

use bitvec::field::BitField;
use bitvec::prelude::Lsb0;
use bitvec::view::BitView;
use chronoxide_format::layout::MAX_VALUE_LEN;

use crate::prometheus::varint::{read_uvarint, signed, uvarint, varint};

/// Place and times of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPlace {
    /// Reference: number of the segment, from 0, in the upper 32 bits, and the offset in it.
    pub reference: u64,
    /// First time, in milliseconds since 1970.
    pub first: i64,
    /// Last time.
    pub last: i64,
}

/// Chunks of a series as the values of four columns, which differ in what they have in common with neighbours: series
/// of a target have equal times, and those of a metric near references.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChunkList {
    /// Reference of the first chunk.
    pub reference: u64,
    /// Differences between the references, packed.
    pub distances: Vec<u8>,
    /// First time of the first chunk, in milliseconds since 1970.
    pub start: i64,
    /// Number of the chunks, and their times after the start.
    pub times: Vec<u8>,
}

/// Reason why a list is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkListError {
    /// The list is longer than a value can be.
    TooLong {
        /// Number of the chunks.
        count: usize,
    },
    /// Two chunks in turn have one place.
    SamePlace,
    /// The times are malformed.
    Times,
    /// The distances are malformed.
    Distances,
}

impl fmt::Display for ChunkListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { count } => {
                write!(f, "the list of {count} chunks of a series has more than {MAX_VALUE_LEN} bytes")
            }
            Self::SamePlace => f.write_str("two chunks of a series have the same reference"),
            Self::Times => f.write_str("the times of a chunk list are malformed"),
            Self::Distances => f.write_str("the distances of a chunk list are malformed"),
        }
    }
}

impl std::error::Error for ChunkListError {}

impl ChunkList {
    /// Encodes the chunks of a series in their order. Without chunks, there is no list.
    ///
    /// # Errors
    ///
    /// [`ChunkListError::TooLong`], and [`ChunkListError::SamePlace`] in a damaged index.
    pub fn encode(&mut self, chunks: &[ChunkPlace]) -> Result<bool, ChunkListError> {
        let Some(first) = chunks.first() else { return Ok(false) };
        (self.reference, self.start) = (first.reference, first.first);
        self.encode_times(chunks);
        let distances = chunks.array_windows().map(|[before, next]| next.reference.wrapping_sub(before.reference));
        if distances.clone().any(|distance| distance == 0) {
            return Err(ChunkListError::SamePlace);
        }
        let widest = distances.clone().fold(0, |all, distance| all | distance);
        let width = (u64::BITS - widest.leading_zeros()) as usize;
        self.distances.clear();
        if chunks.len() > 1 {
            self.distances.push(width as u8);
            self.distances.resize(1 + (width * (chunks.len() - 1)).div_ceil(8), 0);
        }
        if let Some((_, packed)) = self.distances.split_first_mut() {
            let fields = packed.view_bits_mut::<Lsb0>().chunks_exact_mut(width);
            fields.zip(distances).for_each(|(field, distance)| field.store_le(distance));
        }
        match self.distances.len().max(self.times.len()) > MAX_VALUE_LEN as usize {
            true => Err(ChunkListError::TooLong { count: chunks.len() }),
            false => Ok(true),
        }
    }

    /// Encodes number and times. A time is told by how gap and duration differ from those of the chunk before: mostly
    /// not at all, and zeros at the end are left out.
    fn encode_times(&mut self, chunks: &[ChunkPlace]) {
        self.times.clear();
        uvarint(chunks.len() as u64, &mut self.times);
        let (mut gap, mut duration) = (0_i64, 0_i64);
        for (position, chunk) in chunks.iter().enumerate() {
            if let Some(before) = position.checked_sub(1).and_then(|before| chunks.get(before)) {
                let next = chunk.first.wrapping_sub(before.last);
                varint(next.wrapping_sub(gap), &mut self.times);
                gap = next;
            }
            let next = chunk.last.wrapping_sub(chunk.first);
            varint(next.wrapping_sub(duration), &mut self.times);
            duration = next;
        }
        while self.times.last() == Some(&0) {
            self.times.pop();
        }
    }

    /// Appends the chunks of a list to `chunks`.
    ///
    /// # Errors
    ///
    /// The values are malformed.
    pub fn decode(
        (reference, distances): (u64, &[u8]),
        (start, times): (i64, &[u8]),
        chunks: &mut Vec<ChunkPlace>,
    ) -> Result<(), ChunkListError> {
        let mut times = Varints(times);
        let count = times.next().ok_or(ChunkListError::Times)?;
        let count = usize::try_from(count).map_err(|_| ChunkListError::Times)?;
        let (width, packed) = match (count, distances) {
            (0, _) => return Err(ChunkListError::Times),
            (1, []) => (0, &[][..]),
            (1, _) | (_, []) => return Err(ChunkListError::Distances),
            (_, [width, packed @ ..]) => (usize::from(*width), packed),
        };
        // The packed distances bound the number of chunks, unless each has the width 0, which no writer makes of more
        // than one chunk: two chunks do not have one place.
        let is_whole = width.checked_mul(count - 1).is_some_and(|bits| bits.div_ceil(8) == packed.len());
        if width > 64 || !is_whole || (width == 0) != (count == 1) {
            return Err(ChunkListError::Distances);
        }
        let mut fields = packed.view_bits::<Lsb0>().chunks_exact(width.max(1));
        let mut chunk = ChunkPlace { reference, first: start, last: start };
        let (mut gap, mut duration) = (0_i64, 0_i64);
        for position in 0..count {
            if position > 0 {
                gap = gap.wrapping_add(times.difference()?);
                chunk.first = chunk.last.wrapping_add(gap);
                let distance = fields.next().map_or(0, |field| field.load_le::<u64>());
                chunk.reference = chunk.reference.wrapping_add(distance);
            }
            duration = duration.wrapping_add(times.difference()?);
            chunk.last = chunk.first.wrapping_add(duration);
            chunks.push(chunk);
        }
        if times.0.is_empty() { Ok(()) } else { Err(ChunkListError::Times) }
    }
}

/// Encodes deleted times of a series, both ends inclusive, in their order: how far each starts behind the one before,
/// and how long it is.
///
/// # Errors
///
/// [`ChunkListError::TooLong`].
pub(super) fn encode_deletions(
    deleted: impl Iterator<Item = (i64, i64)>,
    bytes: &mut Vec<u8>,
) -> Result<(), ChunkListError> {
    bytes.clear();
    let (mut end, mut count) = (0_i64, 0);
    for (first, last) in deleted {
        varint(first.wrapping_sub(end), bytes);
        uvarint(last.wrapping_sub(first).cast_unsigned(), bytes);
        (end, count) = (last, count + 1);
    }
    if bytes.len() > MAX_VALUE_LEN as usize { Err(ChunkListError::TooLong { count }) } else { Ok(()) }
}

/// Decodes deleted times of a series, both ends inclusive, in milliseconds since 1970.
///
/// # Errors
///
/// [`ChunkListError::Times`].
pub fn decode_deletions(bytes: &[u8]) -> Result<Vec<(i64, i64)>, ChunkListError> {
    let mut numbers = Varints(bytes);
    let (mut deleted, mut end) = (Vec::new(), 0_i64);
    while !numbers.0.is_empty() {
        let first = end.wrapping_add(numbers.difference()?);
        let length = numbers.next().ok_or(ChunkListError::Times)?;
        end = first.wrapping_add(length.cast_signed());
        deleted.push((first, end));
    }
    Ok(deleted)
}

/// Numbers in base 128.
struct Varints<'a>(&'a [u8]);

impl Varints<'_> {
    /// Returns the next number. `None` if there is none, it is cut off, or it has more than 64 bits.
    fn next(&mut self) -> Option<u64> {
        let (number, rest) = read_uvarint(self.0)?;
        self.0 = rest;
        Some(number)
    }

    /// Returns the next difference: 0 behind the last one.
    fn difference(&mut self) -> Result<i64, ChunkListError> {
        if self.0.is_empty() {
            return Ok(0);
        }
        self.next().map(signed).ok_or(ChunkListError::Times)
    }
}

#[cfg(test)]
mod tests {
    use chronoxide_testkit::random::Random;

    use super::*;

    fn decoded(list: &ChunkList) -> Result<Vec<ChunkPlace>, ChunkListError> {
        let mut chunks = Vec::new();
        let (places, times) = ((list.reference, &list.distances[..]), (list.start, &list.times[..]));
        ChunkList::decode(places, times, &mut chunks).map(|()| chunks)
    }

    fn place(reference: u64, first: i64, last: i64) -> ChunkPlace {
        ChunkPlace { reference, first, last }
    }

    #[test]
    fn regular_chunks_take_few_bytes() {
        let chunks = [place(8, 7, 107), place(8 + 200, 117, 217), place(8 + 300, 227, 327)];
        let mut list = ChunkList::default();
        assert_eq!(list.encode(&chunks), Ok(true));
        // 3 chunks, 100 ms long, 10 ms apart; distances of 200 and 100 in 8 bits.
        let expected = ChunkList { reference: 8, distances: vec![8, 200, 100], start: 7, times: vec![3, 0xc8, 1, 20] };
        assert_eq!(list, expected);
        assert_eq!(decoded(&list).unwrap(), chunks);
        assert_eq!(list.encode(&chunks[..1]), Ok(true));
        assert_eq!(list, ChunkList { reference: 8, distances: vec![], start: 7, times: vec![1, 0xc8, 1] });
        assert_eq!(list.encode(&[]), Ok(false));
        assert_eq!(list.encode(&[place(8, 0, 1), place(8, 2, 3)]), Err(ChunkListError::SamePlace));
    }

    #[test]
    fn all_lists_come_back() {
        let mut random = Random::new(1);
        let mut list = ChunkList::default();
        for _ in 0..20_000 {
            let bits = random.below(65) as u32;
            let count = 1 + random.below(9);
            let mut any = || random.next_u64().checked_shr(64 - bits).unwrap_or(0);
            let mut reference = any();
            let chunks: Vec<ChunkPlace> = (0..count)
                .map(|_| {
                    // No two chunks in turn have one place.
                    reference = reference.wrapping_add(any().max(1));
                    place(reference, any().cast_signed(), any().cast_signed())
                })
                .collect();
            assert_eq!(list.encode(&chunks), Ok(true));
            assert_eq!(decoded(&list).unwrap(), chunks);
            let mut longer = list.clone();
            longer.times.push(0);
            longer.times.push(1);
            assert_ne!(decoded(&longer), Ok(chunks.clone()));
            longer = list.clone();
            longer.distances.push(0);
            assert_eq!(decoded(&longer), Err(ChunkListError::Distances));
        }
    }

    #[test]
    fn deletions_come_back() {
        let mut bytes = Vec::new();
        for deleted in [vec![], vec![(5, 5)], vec![(-7, 3), (10, i64::MAX)], vec![(i64::MIN, i64::MAX)]] {
            encode_deletions(deleted.iter().copied(), &mut bytes).unwrap();
            assert_eq!(decode_deletions(&bytes), Ok(deleted));
        }
        assert_eq!(decode_deletions(&[4, 0x80]), Err(ChunkListError::Times));
        assert_eq!(decode_deletions(&[4]), Err(ChunkListError::Times));
    }

    #[test]
    fn malformed_lists_are_refused() {
        let list = |distances: &[u8], times: &[u8]| ChunkList {
            reference: 8,
            distances: distances.to_vec(),
            start: 7,
            times: times.to_vec(),
        };
        for (distances, times, error) in [
            (&[][..], &[][..], ChunkListError::Times),
            (&[], &[0], ChunkListError::Times),
            (&[], &[0x81], ChunkListError::Times),
            (&[], &[1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2], ChunkListError::Times),
            (&[], &[1, 2, 3], ChunkListError::Times),
            (&[0], &[1, 2], ChunkListError::Distances),
            (&[], &[2, 2], ChunkListError::Distances),
            (&[0], &[2, 2], ChunkListError::Distances),
            (&[8], &[2, 2], ChunkListError::Distances),
            (&[8, 1, 1], &[2, 2], ChunkListError::Distances),
            (&[65, 1, 1, 1, 1, 1, 1, 1, 1, 1], &[2, 2], ChunkListError::Distances),
            // A number of chunks that no memory holds.
            (&[0], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], ChunkListError::Distances),
            (&[8], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], ChunkListError::Distances),
        ] {
            assert_eq!(decoded(&list(distances, times)), Err(error), "{distances:?} {times:?}");
        }
    }

    #[test]
    fn lists_longer_than_a_value_are_refused() {
        let mut random = Random::new(7);
        let chunks: Vec<ChunkPlace> =
            (0..9_000).map(|number| place(number << 63, random.next_u64().cast_signed(), 0)).collect();
        assert_eq!(ChunkList::default().encode(&chunks), Err(ChunkListError::TooLong { count: 9_000 }));
    }
}
