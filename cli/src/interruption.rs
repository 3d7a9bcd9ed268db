//! Ctrl-C and SIGTERM.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Exit;
use crate::failure::Failure;

/// Whether somebody pressed Ctrl-C or ended the process.
#[derive(Clone, Debug)]
pub struct Interruption {
    is_interrupted: Arc<AtomicBool>,
    has_begun: Arc<AtomicBool>,
}

impl Interruption {
    /// Watches from now on. A second time, or before [`Interruption::begin`], the process ends at once: what is published is whole in any case, and a
    /// temporary file that stays is removed by the next run of recovery.
    ///
    /// # Errors
    /// The system does not let it watch.
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

    /// From now on there is something to end in order.
    pub fn begin(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
    }

    /// Whether it happened.
    pub fn is_there(&self) -> bool {
        self.is_interrupted.load(Ordering::Relaxed)
    }
}
