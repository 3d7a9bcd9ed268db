//! Threads that decode batches: [`Workers`].

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::batch::Batch;
use crate::decoded::AheadDecoder;

/// Stack of a thread in bytes: as large as that of a main thread, since nested JSON is decoded by recursion.
const STACK_LEN: usize = 8 << 20;

/// Batch to decode, and the place of the result.
type Job = (Batch, SyncSender<Batch>);

/// Threads that decode batches. They end when this is dropped, after their current batch.
pub(super) struct Workers(Sender<Job>);

impl Workers {
    /// Starts a thread per decoder. Returns `None` if there are no decoders, or if no thread can be started.
    pub(super) fn start(decoders: Vec<AheadDecoder>, is_timed: bool) -> Option<Self> {
        let (sender, jobs) = channel();
        let jobs = Arc::new(Mutex::new(jobs));
        let mut count = 0;
        for decoder in decoders {
            let jobs = Arc::clone(&jobs);
            let thread = thread::Builder::new().name("decode".to_owned()).stack_size(STACK_LEN);
            // Detached, like the reader.
            count += usize::from(thread.spawn(move || work(&jobs, decoder, is_timed)).is_ok());
        }
        (count > 0).then_some(Self(sender))
    }

    /// Decodes a batch on the next free thread.
    pub(super) fn decode(&self, batch: Batch) -> Receiver<Batch> {
        let (done, decoded) = sync_channel(1);
        // If all threads ended, the receiver is disconnected, which is an error there.
        let _ = self.0.send((batch, done));
        decoded
    }
}

fn work(jobs: &Mutex<Receiver<Job>>, mut decoder: AheadDecoder, is_timed: bool) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((mut batch, done)) = job else { return };
        batch.decode(&mut decoder, is_timed);
        // The run was stopped if there is no receiver.
        let _ = done.send(batch);
    }
}
