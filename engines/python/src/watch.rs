//! Progress and Ctrl-C during a long call: [`run`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// Time between two looks for signals and progress.
const INTERVAL: Duration = Duration::from_millis(50);

/// Connection of a job to the thread that called Python's function.
#[derive(Debug)]
pub(crate) struct Watch<P> {
    progress: Mutex<Option<P>>,
    is_cancelled: AtomicBool,
}

impl<P> Watch<P> {
    /// Replaces the progress. Returns false if the job must end.
    pub(crate) fn report(&self, progress: P) -> bool {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
        !self.is_cancelled.load(Ordering::Relaxed)
    }

    fn take(&self) -> Option<P> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Runs a job on a thread of its own, without the interpreter's lock. Meanwhile this thread calls `on_progress` and
/// handles signals. An exception of either, such as `KeyboardInterrupt`, cancels the job, and is returned when it has
/// ended.
pub(crate) fn run<P: Send, T: Send>(
    py: Python<'_>,
    mut on_progress: impl FnMut(Python<'_>, P) -> PyResult<()> + Send,
    job: impl FnOnce(&Arc<Watch<P>>) -> T + Send,
) -> PyResult<T> {
    let watch = Arc::new(Watch { progress: Mutex::new(None), is_cancelled: AtomicBool::new(false) });
    let (result, exception) = py.detach(|| {
        thread::scope(|scope| {
            let (done, is_done) = mpsc::channel::<()>();
            let watch = &watch;
            let job = scope.spawn(move || {
                // Dropped when the job ends, or panics.
                let _done = done;
                job(watch)
            });
            let mut look = || {
                Python::attach(|py| {
                    py.check_signals()?;
                    watch.take().map_or(Ok(()), |progress| on_progress(py, progress))
                })
            };
            let mut exception = None;
            while is_done.recv_timeout(INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) {
                if exception.is_none()
                    && let Err(raised) = look()
                {
                    exception = Some(raised);
                    watch.is_cancelled.store(true, Ordering::Relaxed);
                }
            }
            let result = job.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            // The last progress, for bars that would end before their end.
            (result, exception.or_else(|| look().err()))
        })
    });
    exception.map_or(Ok(result), Err)
}
