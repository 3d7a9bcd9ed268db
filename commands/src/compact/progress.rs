//! Progress on a terminal.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use chronoxide_compactor::{Observer, Phase};
use chronoxide_text::human;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::Interruption;
use crate::can_start_thread;

/// A progress bar on standard error, if it is a terminal; also watches for SIGINT and SIGTERM.
pub(crate) struct Bar {
    bar: ProgressBar,
    phase: Mutex<Option<(Phase, Instant)>>,
    interruption: Interruption,
}

impl Bar {
    pub(crate) fn new(is_wanted: bool, interruption: Interruption) -> Self {
        let target = if is_wanted { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if is_wanted && can_start_thread() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar, phase: Mutex::new(None), interruption }
    }

    /// Returns true once SIGINT or SIGTERM was received.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interruption.is_set()
    }

    /// Hides the bar while `print` runs.
    pub(crate) fn pause<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    fn show(&self, phase: Phase, done: u64, of: u64) {
        let mut shown = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        let since = match *shown {
            Some((same, since)) if same == phase => since,
            _ => {
                let template = "{prefix:>6} {bar:24} {percent:>3}% {msg} {eta} left";
                let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
                self.bar.set_style(style);
                self.bar.set_message("");
                self.bar.set_prefix(phase.name());
                self.bar.reset_eta();
                shown.insert((phase, Instant::now())).1
            }
        };
        self.bar.set_length(of);
        self.bar.set_position(done);
        let seconds = since.elapsed().as_secs_f64().max(0.001);
        let message = match phase {
            Phase::Rows => format!("{} rows/s,", human::count((done as f64 / seconds) as u64)),
            Phase::Verify => format!("{done} of {},", human::count_of(of, "block")),
            _ => String::new(),
        };
        self.bar.set_message(message);
    }
}

impl Observer for Bar {
    fn progress(&self, phase: Phase, done: u64, of: u64) -> bool {
        if !self.bar.is_hidden() {
            self.show(phase, done, of);
        }
        !self.interruption.is_set()
    }

    fn uploading(&self, byte_len: u64) {
        // The next phase shows itself.
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let style = ProgressStyle::with_template("uploading {msg} {spinner}");
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        self.bar.set_message(human::bytes(byte_len));
    }
}

/// Removes the bar from the terminal.
impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
