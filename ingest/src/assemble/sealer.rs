//! Sealing while the next series are assembled: [`Sealer`].

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

use chronoxide_labels::Plans;

use super::blocks::BlockSink;
use super::cut::Cut;
use super::error::AssembleError;

/// Seals one cut at a time, on another thread if there is one.
#[derive(Debug)]
pub(super) struct Sealer<B> {
    /// The output, unless a thread has it.
    output: Option<Output<B>>,
    running: Option<Running<B>>,
    /// Error of the last thread, which ends the run.
    error: Option<AssembleError>,
}

/// Sink of blocks, and what is known of their source.
#[derive(Debug)]
struct Output<B> {
    blocks: B,
    plans: Plans,
}

/// Output after a cut was sealed, and the result of that.
type Done<B> = (Output<B>, Result<(), AssembleError>);

/// Thread that seals a cut, and returns the output.
#[derive(Debug)]
struct Running<B> {
    thread: JoinHandle<Option<Done<B>>>,
    /// Memory of the cut and its sealing in bytes, which falls when its store is dropped.
    memory: Arc<AtomicUsize>,
}

impl<B: BlockSink> Output<B> {
    fn seal(mut self, cut: Cut, memory: &AtomicUsize) -> Done<B> {
        let result = cut.seal(&mut self.blocks, &mut self.plans, memory);
        (self, result)
    }
}

impl<B: BlockSink> Sealer<B> {
    /// Creates a sealer of blocks that are planned with these plans.
    pub(super) fn new(blocks: B, plans: Plans) -> Self {
        Self { output: Some(Output { blocks, plans }), running: None, error: None }
    }

    /// Seals a cut on this thread, after the one before it.
    ///
    /// # Errors
    /// A block of this cut, or of the one before it, cannot be sealed or is refused.
    pub(super) fn seal(&mut self, cut: Cut) -> Result<(), AssembleError> {
        self.wait()?;
        let output = self.output.take().ok_or(AssembleError::SealingStopped)?;
        let (output, result) = output.seal(cut, &AtomicUsize::default());
        self.output = Some(output);
        result
    }

    /// Begins to seal a cut on another thread, after the one before it. It and its sealing take `memory` bytes. If no
    /// thread can be started, the cut is sealed on this one.
    ///
    /// # Errors
    /// A block of the cut before it cannot be sealed or is refused, or one of this cut on this thread.
    pub(super) fn begin(&mut self, cut: Cut, memory: usize) -> Result<(), AssembleError> {
        self.wait()?;
        let (give, take) = channel::<(Output<B>, Cut)>();
        let memory = Arc::new(AtomicUsize::new(memory));
        let falling = Arc::clone(&memory);
        let seal = move || take.recv().ok().map(|(output, cut)| output.seal(cut, &falling));
        let Ok(thread) = thread::Builder::new().name("seal".to_owned()).spawn(seal) else { return self.seal(cut) };
        let output = self.output.take().ok_or(AssembleError::SealingStopped)?;
        give.send((output, cut)).map_err(|_| AssembleError::SealingStopped)?;
        self.running = Some(Running { thread, memory });
        Ok(())
    }

    /// Returns the memory in bytes of what is being sealed.
    pub(super) fn memory(&self) -> usize {
        let running = self.running.as_ref().filter(|running| !running.thread.is_finished());
        running.map_or(0, |running| running.memory.load(Ordering::Relaxed))
    }

    /// Returns the error of a thread that has ended.
    ///
    /// # Errors
    /// A block cannot be sealed or is refused.
    pub(super) fn check(&mut self) -> Result<(), AssembleError> {
        let is_running = self.running.as_ref().is_some_and(|running| !running.thread.is_finished());
        if is_running { Ok(()) } else { self.wait() }
    }

    /// Waits for the thread.
    ///
    /// # Errors
    /// A block cannot be sealed or is refused.
    pub(super) fn wait(&mut self) -> Result<(), AssembleError> {
        self.join();
        self.error.take().map_or(Ok(()), Err)
    }

    /// Waits for the thread. An error is returned by the next call that can fail.
    pub(super) fn join(&mut self) {
        let Some(running) = self.running.take() else { return };
        match running.thread.join() {
            Ok(Some((output, result))) => {
                self.output = Some(output);
                self.error = result.err();
            }
            Ok(None) => self.error = Some(AssembleError::SealingStopped),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Waits for the thread, and returns the sink.
    ///
    /// # Errors
    /// A block cannot be sealed or is refused.
    pub(super) fn finish(mut self) -> Result<B, AssembleError> {
        self.wait()?;
        self.output.take().map(|output| output.blocks).ok_or(AssembleError::SealingStopped)
    }
}

/// A run that ends with an error leaves no thread behind that writes blocks.
impl<B> Drop for Sealer<B> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            // Its error comes too late.
            drop(running.thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::sync::mpsc::{Receiver, sync_channel};

    use bitvec::vec::BitVec;
    use chronoxide_labels::{KeysetStore, LabelSetStore, LabelSets};

    use super::super::blocks::SealedBlock;
    use super::super::cut::CutContent;
    use super::super::metrics::Metrics;
    use super::super::options::AssembleOptions;
    use super::super::series_values::InputColumns;
    use super::super::windows::Windows;
    use super::*;

    /// Sink that waits for an answer before it takes or refuses a block.
    struct Asking {
        answers: Receiver<bool>,
        series: Vec<usize>,
    }

    impl BlockSink for Asking {
        fn take(&mut self, sealed: SealedBlock) -> Result<(), Box<dyn Error + Send + Sync>> {
            if self.answers.recv()? {
                self.series.push(sealed.store_series);
                Ok(())
            } else {
                Err(format!("{} series are refused", sealed.store_series).into())
            }
        }
    }

    /// Returns a cut with one block of this many series.
    fn cut(series: usize) -> Cut {
        let (mut store, mut windows) = (KeysetStore::new(), Windows::new(None, 1, None));
        for number in 0..series {
            let (series, _) = store.insert(&[("number", &number.to_string())]).unwrap();
            windows.add(series, None).unwrap();
        }
        let content = CutContent {
            windows: windows.take().0,
            everywhere: BitVec::new(),
            metrics: Metrics::default(),
            columns: InputColumns::default(),
            external_labels: Vec::new(),
            input_window: None,
        };
        Cut { store, options: AssembleOptions::default(), content }
    }

    #[test]
    fn cuts_are_sealed_one_after_the_other_and_count_until_they_are() {
        let (answer, answers) = sync_channel(8);
        let mut sealer = Sealer::new(Asking { answers, series: Vec::new() }, Plans::new(1 << 20));
        assert_eq!(sealer.memory(), 0);
        let one = cut(3);
        let store_memory = one.store.estimated_bytes();
        sealer.begin(one, store_memory + 700).unwrap();
        assert!(sealer.memory() >= 700, "its sink has no answer yet");
        // Its store is dropped before it is given to the sink.
        while sealer.memory() != 700 {
            std::thread::yield_now();
        }
        answer.send(true).unwrap();
        sealer.wait().unwrap();
        assert_eq!(sealer.memory(), 0);
        for _ in 0..3 {
            answer.send(true).unwrap();
        }
        sealer.begin(cut(2), 700).unwrap();
        sealer.begin(cut(5), 700).unwrap();
        sealer.seal(cut(4)).unwrap();
        assert_eq!(sealer.finish().unwrap().series, [3, 2, 5, 4]);
    }

    #[test]
    fn a_sealer_that_is_dropped_waits_for_its_thread() {
        let (answer, answers) = sync_channel(8);
        let mut sealer = Sealer::new(Asking { answers, series: Vec::new() }, Plans::new(1 << 20));
        sealer.begin(cut(3), 700).unwrap();
        answer.send(true).unwrap();
        drop(sealer);
        assert!(answer.send(true).is_err(), "the thread has the sink no more");
    }

    #[test]
    fn an_error_on_the_thread_is_that_of_the_next_call() {
        let refused = |result: Result<(), AssembleError>| result.unwrap_err().to_string();
        for ends in [Sealer::finish, |mut sealer: Sealer<Asking>| sealer.seal(cut(1)).and(Sealer::finish(sealer))] {
            let (answer, answers) = sync_channel(8);
            let mut sealer = Sealer::new(Asking { answers, series: Vec::new() }, Plans::new(1 << 20));
            sealer.begin(cut(3), 700).unwrap();
            answer.send(false).unwrap();
            sealer.join();
            sealer.join();
            assert_eq!(refused(ends(sealer).map(drop)), "3 series are refused");
        }
        // Without another call, as soon as the thread has ended.
        let (answer, answers) = sync_channel(8);
        let mut sealer = Sealer::new(Asking { answers, series: Vec::new() }, Plans::new(1 << 20));
        sealer.begin(cut(3), 700).unwrap();
        sealer.check().unwrap();
        answer.send(false).unwrap();
        let ended = std::iter::repeat_with(|| sealer.check()).find(Result::is_err);
        assert_eq!(refused(ended.unwrap()), "3 series are refused");
        sealer.check().unwrap();
        // On the thread of the caller.
        let (answer, answers) = sync_channel(8);
        let mut sealer = Sealer::new(Asking { answers, series: Vec::new() }, Plans::new(1 << 20));
        answer.send(false).unwrap();
        assert_eq!(refused(sealer.seal(cut(2))), "2 series are refused");
    }
}
