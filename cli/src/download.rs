//! [`show_downloads`]: progress of downloads on a terminal.

use std::io::IsTerminal;

use chronoxide_store::Cache;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

/// Shows the downloads of a cache on standard error if it is a terminal, until the cache is dropped.
#[must_use]
pub fn show_downloads(cache: Cache) -> Cache {
    if !std::io::stderr().is_terminal() {
        return cache;
    }
    let style = ProgressStyle::with_template("downloaded {bytes} ({bytes_per_sec})");
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
        .with_finish(ProgressFinish::AndClear);
    cache.with_observer(move |bytes| bar.inc(bytes))
}
