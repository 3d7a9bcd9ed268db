//! SIGINT (Ctrl-C) and SIGTERM.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::tell;

/// Flag that SIGINT or SIGTERM sets.
#[derive(Clone, Debug)]
pub struct Interruption {
    is_interrupted: Arc<AtomicBool>,
    has_begun: Arc<AtomicBool>,
}

impl Interruption {
    /// Installs the signal handler.
    ///
    /// The first signal sets the flag. A second signal, or a signal before [`Interruption::begin`], ends the process at
    /// once. Published files are complete even then; the next recovery removes temporary files.
    ///
    /// # Errors
    /// The handler cannot be installed.
    pub fn watch() -> Result<Self, Failure> {
        let [is_interrupted, has_begun] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let (flag, begun) = (is_interrupted.clone(), has_begun.clone());
        ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::Relaxed) || !begun.load(Ordering::Relaxed) {
                std::process::exit(Exit::Interrupted.code().into());
            }
        })
        .map_err(|error| Failure::new(Exit::Io, error))?;
        Ok(Self { is_interrupted, has_begun })
    }

    /// Declares that work has begun, which the command ends in order after a signal.
    pub fn begin(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
    }

    /// Ends the process with a message if it has not ended some time after a signal: for work that may wait for others,
    /// and can be stopped at any moment.
    pub fn end_within(&self, limit: Duration, message: &'static str) {
        let this = self.clone();
        let watch = move || {
            while !this.is_set() {
                std::thread::sleep(Duration::from_millis(100));
            }
            std::thread::sleep(limit);
            tell(|out| writeln!(out, "{message}"));
            std::process::exit(Exit::Interrupted.code().into());
        };
        // Without a thread, the work ends by itself.
        let _ = std::thread::Builder::new().spawn(watch);
    }

    /// Returns true once SIGINT or SIGTERM was received.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.is_interrupted.load(Ordering::Relaxed)
    }
}
