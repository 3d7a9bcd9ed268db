//! Reading and decompressing on a thread of its own, ahead of decoding.

use super::record::{Record, RecordContent, Records};
use super::source::Source;
use crate::error::IngestError;
use std::ops::Range;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Bytes of records that are handed over at a time, or one record if it is longer.
const BATCH_LEN: usize = 1 << 20;

/// Batches that wait to be decoded: with the one that is read and the one that is decoded, as many records of the
/// greatest length are in memory at a time as there are batches.
const WAITING: usize = 1;

/// Records, one behind the other.
#[derive(Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    records: Vec<Entry>,
}

/// A record of a batch.
struct Entry {
    number: u64,
    offset: u64,
    kind: Kind,
    bytes: Range<usize>,
}

#[derive(Clone, Copy)]
enum Kind {
    Whole,
    Unterminated,
    Torn { len: u64, expected: Option<u64> },
    TooLong,
    Damaged,
}

impl Batch {
    fn push(&mut self, record: Record<'_>) {
        let (kind, bytes): (Kind, &[u8]) = match record.content {
            RecordContent::Whole(bytes) => (Kind::Whole, bytes),
            RecordContent::Unterminated(bytes) => (Kind::Unterminated, bytes),
            RecordContent::Torn { len, expected } => (Kind::Torn { len, expected }, &[]),
            RecordContent::TooLong => (Kind::TooLong, &[]),
            RecordContent::Damaged(reason) => (Kind::Damaged, reason.as_bytes()),
        };
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.records.push(Entry { number: record.number, offset: record.offset, kind, bytes: start..self.bytes.len() });
    }

    /// The records, in their order.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.records.iter().map(|entry| {
            let bytes = self.bytes.get(entry.bytes.clone()).unwrap_or_default();
            let content = match entry.kind {
                Kind::Whole => RecordContent::Whole(bytes),
                Kind::Unterminated => RecordContent::Unterminated(bytes),
                Kind::Torn { len, expected } => RecordContent::Torn { len, expected },
                Kind::TooLong => RecordContent::TooLong,
                Kind::Damaged => RecordContent::Damaged(str::from_utf8(bytes).unwrap_or_default()),
            };
            Record { number: entry.number, offset: entry.offset, content }
        })
    }
}

/// What comes from the thread.
pub(crate) enum Ahead {
    /// Records.
    Batch(Batch),
    /// Nothing yet.
    Nothing,
    /// The end of the input, and the source that was read.
    End(Box<Source>, u64),
}

/// Records that are read ahead.
pub(crate) struct ReadAhead {
    batches: Receiver<Result<Ahead, IngestError>>,
    empty: SyncSender<Batch>,
}

impl ReadAhead {
    /// Starts to read.
    ///
    /// # Errors
    /// The system has no room for a thread.
    pub(crate) fn new(records: Records) -> Result<Self, IngestError> {
        let (full, batches) = sync_channel(WAITING);
        let (empty, returned) = sync_channel(WAITING + 1);
        // Detached: a run that is stopped does not wait for a terminal or a pipe that says nothing.
        let reader = thread::Builder::new().name("read ahead".to_owned());
        reader.spawn(move || read(records, &full, &returned)).map_err(IngestError::Thread)?;
        Ok(Self { batches, empty })
    }

    /// What comes next; nothing if that takes longer than `patience`.
    pub(crate) fn next(&self, patience: Duration) -> Result<Ahead, IngestError> {
        match self.batches.recv_timeout(patience) {
            Ok(ahead) => ahead,
            Err(RecvTimeoutError::Timeout) => Ok(Ahead::Nothing),
            Err(RecvTimeoutError::Disconnected) => Err(IngestError::ReaderStopped),
        }
    }

    /// Gives a batch back, so that its memory is used again.
    pub(crate) fn give_back(&self, mut batch: Batch) {
        batch.bytes.clear();
        batch.records.clear();
        // If there is no room for it, it is not needed.
        let _ = self.empty.try_send(batch);
    }
}

/// Nobody waits for what cannot be sent.
fn read(mut records: Records, full: &SyncSender<Result<Ahead, IngestError>>, returned: &Receiver<Batch>) {
    loop {
        let mut batch = returned.try_recv().unwrap_or_default();
        let end = fill(&mut records, &mut batch);
        if full.send(Ok(Ahead::Batch(batch))).is_err() {
            return;
        }
        match end {
            Ok(false) => {}
            Ok(true) => {
                let blank_lines = records.blank_lines();
                let _ = full.send(Ok(Ahead::End(Box::new(records.into_source()), blank_lines)));
                return;
            }
            Err(error) => {
                let _ = full.send(Err(error));
                return;
            }
        }
    }
}

/// Fills a batch; whether that was the last one. What was read before an error stays in it.
fn fill(records: &mut Records, batch: &mut Batch) -> Result<bool, IngestError> {
    while batch.bytes.len() < BATCH_LEN && batch.records.len() < BATCH_LEN / 16 {
        match records.next_record()? {
            Some(record) => batch.push(record),
            None => return Ok(true),
        }
        // What is there is not kept waiting for what may be long in coming.
        if !records.source().has_buffered() {
            return Ok(false);
        }
    }
    Ok(false)
}
