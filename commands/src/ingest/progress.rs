//! Progress on a terminal.

use std::time::{Duration, Instant};

use chronoxide_ingest::Progress;
use chronoxide_text::escape::TerminalSafe;
use chronoxide_text::human;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::can_start_thread;

/// Progress bar on standard error, hidden if it is not wanted.
pub(crate) struct Bar {
    bar: ProgressBar,
    input: String,
    started: Instant,
}

impl Bar {
    pub(crate) fn new(is_wanted: bool) -> Self {
        let target = if is_wanted { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target).with_style(style("{spinner}"));
        if is_wanted && can_start_thread() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar, input: String::new(), started: Instant::now() }
    }

    pub(crate) fn show(&mut self, progress: &Progress<'_>) {
        if self.bar.is_hidden() {
            return;
        }
        if self.input != progress.input {
            progress.input.clone_into(&mut self.input);
            self.bar.set_prefix(TerminalSafe(&self.input).to_string());
            self.bar.reset_eta();
            match progress.position.file_len() {
                Some(len) => {
                    self.bar.set_length(len);
                    self.bar.set_style(style("{prefix} {bar:24} {percent:>3}% {msg}, {eta} left"));
                }
                None => {
                    self.bar.unset_length();
                    self.bar.set_style(style("{prefix} {spinner} {bytes} {msg}"));
                }
            }
        }
        self.bar.set_position(progress.position.offset());
        let seconds = self.started.elapsed().as_secs_f64().max(0.001);
        let (report, rate) = (progress.report, |count: u64| human::count((count as f64 / seconds) as u64));
        let (counted, what) = if report.points > 0 { (report.points, "points") } else { (report.records, "records") };
        self.bar.set_message(format!(
            "{} {what} ({}/s), {} series",
            human::count(counted),
            rate(counted),
            human::count(report.series),
        ));
    }
}

/// Removes the bar from the terminal.
impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
