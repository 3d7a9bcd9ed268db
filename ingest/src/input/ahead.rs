//! Reading and decompressing on a separate thread, ahead of decoding.

use std::ops::Range;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::record::{Record, RecordContent, Records};
use super::source::Source;
use crate::error::IngestError;

/// Target size of a batch in bytes. A longer record is a batch.
const BATCH_LEN: usize = 1 << 20;

/// Maximum number of batches that wait for decoding. One more is being read, and one is being decoded: at most three
/// records of the maximum length are in memory.
const WAITING: usize = 1;

/// Batch of records.
#[derive(Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    records: Vec<Entry>,
}

/// Record of a batch.
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

    /// Returns the records in order.
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

/// Message of the reader thread.
pub(crate) enum Ahead {
    /// The next records.
    Batch(Batch),
    /// No message within the timeout.
    Nothing,
    /// End of the input, with its source and the number of blank lines.
    End(Box<Source>, u64),
}

/// Reader of records on a separate thread.
pub(crate) struct ReadAhead {
    batches: Receiver<Result<Ahead, IngestError>>,
    empty: SyncSender<Batch>,
}

impl ReadAhead {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn new(records: Records) -> Result<Self, IngestError> {
        let (full, batches) = sync_channel(WAITING);
        let (empty, returned) = sync_channel(WAITING + 1);
        // Detached: a run that is stopped does not wait for a silent terminal or pipe.
        let reader = thread::Builder::new().name("read ahead".to_owned());
        reader.spawn(move || read(records, &full, &returned)).map_err(IngestError::Thread)?;
        Ok(Self { batches, empty })
    }

    /// Waits for the next message, at most for `timeout`.
    pub(crate) fn next(&self, timeout: Duration) -> Result<Ahead, IngestError> {
        match self.batches.recv_timeout(timeout) {
            Ok(ahead) => ahead,
            Err(RecvTimeoutError::Timeout) => Ok(Ahead::Nothing),
            Err(RecvTimeoutError::Disconnected) => Err(IngestError::ReaderStopped),
        }
    }

    /// Returns a batch to the thread, so that its memory is reused.
    pub(crate) fn give_back(&self, mut batch: Batch) {
        batch.bytes.clear();
        batch.records.clear();
        // If the channel is full, the batch is not needed.
        let _ = self.empty.try_send(batch);
    }
}

/// Reads records until the end. Stops silently if the receiver was dropped.
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

/// Fills a batch. Returns true if it is the last one. Records before an error remain in the batch.
fn fill(records: &mut Records, batch: &mut Batch) -> Result<bool, IngestError> {
    while batch.bytes.len() < BATCH_LEN && batch.records.len() < BATCH_LEN / 16 {
        match records.next_record()? {
            Some(record) => batch.push(record),
            None => return Ok(true),
        }
        // Send available records instead of waiting for more.
        if !records.source().has_buffered() {
            return Ok(false);
        }
    }
    Ok(false)
}
