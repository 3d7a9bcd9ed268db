//! Reading and decompressing on a separate thread, and decoding on others, ahead of assembling.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::batch::{BATCH_LEN, Batch};
use super::gate::Gate;
use super::record::Records;
use super::source::Source;
use super::workers::Workers;
use crate::decoded::AheadDecoder;
use crate::error::IngestError;

/// Maximum number of batches that wait for assembling, per decoding thread.
const WAITING: usize = 2;

/// Share of the memory limit that batches may take.
const MEMORY_SHARE: usize = 32;

/// How records are decoded ahead.
#[derive(Default)]
pub(crate) struct Decoding {
    /// A decoder for each thread. If there is none, records are not decoded ahead.
    pub(crate) decoders: Vec<AheadDecoder>,
    /// Memory limit of the run in bytes.
    pub(crate) max_memory: Option<usize>,
    /// If true, measure the time of each record.
    pub(crate) is_timed: bool,
}

impl Decoding {
    /// Returns the maximum number of batches that are being decoded or wait for assembling.
    fn max_batches(&self) -> usize {
        (WAITING * self.decoders.len()).max(1)
    }

    /// Returns the maximum length of these batches in bytes. One batch may be longer.
    fn max_len(&self) -> usize {
        let share = self.max_memory.map_or(usize::MAX, |limit| (limit / MEMORY_SHARE).max(2 * BATCH_LEN));
        // A batch ends with the record that fills it.
        share.min(self.max_batches() * 2 * BATCH_LEN)
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

/// Message of the reader thread, in the order of the input.
enum Message {
    /// Batch that is not decoded.
    Batch(Batch),
    /// Batch that is being decoded.
    Decoding(Receiver<Batch>),
    /// End of the input.
    End(Box<Source>, u64),
}

/// Reader of records on a separate thread.
///
/// Of records of the maximum length, one is being read, and one is in a batch. What was decoded of it takes at most
/// twice its bytes.
pub(crate) struct ReadAhead {
    messages: Receiver<Result<Message, IngestError>>,
    /// Next batch, which is being decoded.
    decoding: Option<Receiver<Batch>>,
    empty: SyncSender<Batch>,
    gate: Arc<Gate>,
}

impl ReadAhead {
    /// Starts the threads.
    ///
    /// # Errors
    /// The reader thread cannot be started.
    pub(crate) fn new(records: Records, decoding: Decoding) -> Result<Self, IngestError> {
        let max_batches = decoding.max_batches();
        let (full, messages) = sync_channel(max_batches);
        let (empty, returned) = sync_channel(max_batches + 1);
        let gate = Arc::new(Gate::new(decoding.max_len()));
        let workers = Workers::start(decoding.decoders, decoding.is_timed);
        let out = Out { full, returned, workers, gate: Arc::clone(&gate) };
        // Detached: a run that is stopped does not wait for a silent terminal or pipe.
        let reader = thread::Builder::new().name("read ahead".to_owned());
        reader.spawn(move || read(records, &out)).map_err(IngestError::Thread)?;
        Ok(Self { messages, decoding: None, empty, gate })
    }

    /// Waits for the next message, at most for `timeout`.
    pub(crate) fn next(&mut self, timeout: Duration) -> Result<Ahead, IngestError> {
        let ended = |error| match error {
            RecvTimeoutError::Timeout => Ok(Ahead::Nothing),
            RecvTimeoutError::Disconnected => Err(IngestError::ReaderStopped),
        };
        if self.decoding.is_none() {
            match self.messages.recv_timeout(timeout) {
                Ok(Ok(Message::Batch(batch))) => return Ok(Ahead::Batch(batch)),
                Ok(Ok(Message::End(source, blank_lines))) => return Ok(Ahead::End(source, blank_lines)),
                Ok(Ok(Message::Decoding(batch))) => self.decoding = Some(batch),
                Ok(Err(error)) => return Err(error),
                Err(error) => return ended(error),
            }
        }
        match self.decoding.as_ref().map(|batch| batch.recv_timeout(timeout)) {
            Some(Ok(batch)) => {
                self.decoding = None;
                Ok(Ahead::Batch(batch))
            }
            Some(Err(error)) => ended(error),
            None => Ok(Ahead::Nothing),
        }
    }

    /// Returns a batch to the thread, so that its memory is reused.
    pub(crate) fn give_back(&self, mut batch: Batch) {
        self.gate.leave(batch.len());
        batch.clear();
        // If the channel is full, the batch is not needed.
        let _ = self.empty.try_send(batch);
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.gate.close();
    }
}

/// Places to which the reader thread gives its batches.
struct Out {
    full: SyncSender<Result<Message, IngestError>>,
    returned: Receiver<Batch>,
    workers: Option<Workers>,
    gate: Arc<Gate>,
}

impl Out {
    /// Gives a batch to the run. Returns false if the run was stopped.
    fn send(&self, batch: Batch) -> bool {
        if !self.gate.enter(batch.len()) {
            return false;
        }
        let message = match &self.workers {
            Some(workers) => Message::Decoding(workers.decode(batch)),
            None => Message::Batch(batch),
        };
        self.full.send(Ok(message)).is_ok()
    }
}

/// Reads records until the end. Stops silently if the receiver was dropped.
fn read(mut records: Records, out: &Out) {
    loop {
        let mut batch = out.returned.try_recv().unwrap_or_default();
        let end = fill(&mut records, &mut batch);
        if !out.send(batch) {
            return;
        }
        match end {
            Ok(false) => {}
            Ok(true) => {
                let blank_lines = records.blank_lines();
                let _ = out.full.send(Ok(Message::End(Box::new(records.into_source()), blank_lines)));
                return;
            }
            Err(error) => {
                let _ = out.full.send(Err(error));
                return;
            }
        }
    }
}

/// Fills a batch. Returns true if it is the last one. Records before an error remain in the batch.
fn fill(records: &mut Records, batch: &mut Batch) -> Result<bool, IngestError> {
    while !batch.is_full() {
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
