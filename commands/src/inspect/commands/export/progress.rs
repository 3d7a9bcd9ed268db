//! Progress on a terminal.

use std::time::Duration;

use chronoxide_text::human;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::can_start_thread;

const TEMPLATE: &str = "{bar:24} {percent:>3}% {msg}, {eta} left";

/// Progress bar on standard error, hidden if it is not wanted.
pub(super) struct Bar {
    bar: ProgressBar,
    total: u64,
}

impl Bar {
    /// Creates a bar for this number of series.
    pub(super) fn new(is_wanted: bool, total: u64) -> Self {
        let target = if is_wanted { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(total), target).with_style(style);
        if is_wanted && can_start_thread() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar, total }
    }

    pub(super) fn show(&self, series: u64) {
        if !self.bar.is_hidden() {
            self.bar.set_position(series);
            self.bar.set_message(format!("{} of {} series", human::count(series), human::count(self.total)));
        }
    }
}

/// Removes the bar from the terminal.
impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
