//! Records between threads: [`Batch`].

use std::ops::Range;
use std::time::{Duration, Instant};

use super::record::{Record, RecordContent};
use crate::decode::DecodedAhead;
use crate::parts::{Parts, PartsDecoder, Span};

/// Target size of a batch in bytes. A longer record is a batch.
pub(super) const BATCH_LEN: usize = 1 << 20;

/// Batch of records, with their parts if they were decoded.
#[derive(Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    records: Vec<Entry>,
    parts: Parts,
    is_decoded: bool,
}

/// Record of a batch.
struct Entry {
    number: u64,
    offset: u64,
    kind: Kind,
    bytes: Range<usize>,
    parts: Option<Span>,
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
    pub(crate) decoded: DecodedAhead<'b>,
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
        self.records.push(Entry { number, offset, kind, bytes, parts: None, decoding: Duration::ZERO });
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() >= BATCH_LEN
    }

    /// Returns the memory of the records in bytes, without their parts. Entries of short records take more than the
    /// records.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() + self.records.len() * size_of::<Entry>()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
        self.parts.clear();
        self.is_decoded = false;
    }

    /// Decodes the whole records to parts.
    pub(super) fn decode(&mut self, decoder: &mut PartsDecoder, is_timed: bool) {
        let Self { bytes, records, parts, .. } = self;
        for entry in records.iter_mut().filter(|entry| entry.kind == Kind::Whole) {
            let started = is_timed.then(Instant::now);
            entry.parts = decoder.decode(bytes.get(entry.bytes.clone()).unwrap_or_default(), parts);
            entry.decoding = started.map(|started| started.elapsed()).unwrap_or_default();
        }
        self.is_decoded = true;
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
            let decoded = match &entry.parts {
                Some(span) => DecodedAhead::Parts(&self.parts, span),
                None if self.is_decoded => DecodedAhead::Refused,
                None => DecodedAhead::Not,
            };
            let record = Record { number: entry.number, offset: entry.offset, content };
            BatchRecord { record, decoded, decoding: entry.decoding }
        })
    }
}
