//! Downloads into the cache, with progress on a terminal.

use std::io::IsTerminal;
use std::path::PathBuf;

use chronoxide_locations::{Cache, DEFAULT_CACHE_LEN, LocationError};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

/// Returns the file of the block of a URL, downloaded into the cache of the environment.
///
/// # Errors
/// As [`Cache::from_environment`] and [`Cache::fetch_url`].
pub fn fetch_url(url: &str) -> Result<PathBuf, LocationError> {
    show_downloads(Cache::from_environment(DEFAULT_CACHE_LEN)).fetch_url(url)
}

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
