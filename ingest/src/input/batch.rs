//! Records between threads: [`Batch`].

use std::ops::Range;
use std::time::{Duration, Instant};

use super::record::{Record, RecordContent};
use crate::decoded::{AheadDecoder, Decoded, Place};

/// Target size of a batch in bytes. A longer record is a batch.
pub(super) const BATCH_LEN: usize = 1 << 20;

/// Memory of a batch that is kept for the next one, in bytes: that of a batch of usual records.
const MAX_KEPT_LEN: usize = 4 * BATCH_LEN;

/// Batch of records, and what was decoded of them.
#[derive(Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    records: Vec<Entry>,
    decoded: Box<Decoded>,
}

/// Record of a batch.
struct Entry {
    number: u64,
    offset: u64,
    kind: Kind,
    bytes: Range<usize>,
    decoded: Option<Place>,
    decoding: Duration,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Whole,
    Unterminated,
    Torn { len: u64, expected: Option<u64> },
    CutStart { len: u64 },
    TooLong,
    Damaged,
}

/// Record of a batch, with what another thread made of it.
pub(crate) struct BatchRecord<'b> {
    pub(crate) record: Record<'b>,
    pub(crate) decoded: Option<(&'b Decoded, &'b Place)>,
    /// Time that decoding took, if it was measured.
    pub(crate) decoding: Duration,
}

impl Batch {
    pub(super) fn push(&mut self, record: Record<'_>) {
        let (kind, bytes): (Kind, &[u8]) = match record.content {
            RecordContent::Whole(bytes) => (Kind::Whole, bytes),
            RecordContent::Unterminated(bytes) => (Kind::Unterminated, bytes),
            RecordContent::Torn { len, expected } => (Kind::Torn { len, expected }, &[]),
            RecordContent::CutStart { len } => (Kind::CutStart { len }, &[]),
            RecordContent::TooLong => (Kind::TooLong, &[]),
            RecordContent::Damaged(reason) => (Kind::Damaged, reason.as_bytes()),
        };
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let bytes = start..self.bytes.len();
        let Record { number, offset, .. } = record;
        self.records.push(Entry { number, offset, kind, bytes, decoded: None, decoding: Duration::ZERO });
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() >= BATCH_LEN
    }

    /// Returns the memory of the records in bytes, without what was decoded of them. Entries of short records take more
    /// than the records.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() + self.records.len() * size_of::<Entry>()
    }

    /// Removes the records, and frees what a long one took.
    pub(super) fn clear(&mut self) {
        if self.bytes.capacity() + self.decoded.requests.memory() > MAX_KEPT_LEN {
            *self = Self::default();
        }
        self.bytes.clear();
        self.records.clear();
        self.decoded.clear();
    }

    /// Decodes the whole records.
    pub(super) fn decode(&mut self, decoder: &mut AheadDecoder, is_timed: bool) {
        let Self { bytes, records, decoded } = self;
        for entry in records.iter_mut().filter(|entry| entry.kind == Kind::Whole) {
            let started = is_timed.then(Instant::now);
            entry.decoded = decoder.decode(bytes.get(entry.bytes.clone()).unwrap_or_default(), decoded);
            entry.decoding = started.map(|started| started.elapsed()).unwrap_or_default();
        }
    }

    /// Returns the records in order.
    pub(crate) fn records(&self) -> impl Iterator<Item = BatchRecord<'_>> {
        self.records.iter().map(|entry| {
            let bytes = self.bytes.get(entry.bytes.clone()).unwrap_or_default();
            let content = match entry.kind {
                Kind::Whole => RecordContent::Whole(bytes),
                Kind::Unterminated => RecordContent::Unterminated(bytes),
                Kind::Torn { len, expected } => RecordContent::Torn { len, expected },
                Kind::CutStart { len } => RecordContent::CutStart { len },
                Kind::TooLong => RecordContent::TooLong,
                Kind::Damaged => RecordContent::Damaged(str::from_utf8(bytes).unwrap_or_default()),
            };
            let decoded = entry.decoded.as_ref().map(|place| (&*self.decoded, place));
            let record = Record { number: entry.number, offset: entry.offset, content };
            BatchRecord { record, decoded, decoding: entry.decoding }
        })
    }
}
