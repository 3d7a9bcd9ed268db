//! Decides what a test does when a tool or data that it needs is missing.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, Write};

/// Environment variable: if `1`, a test that would be skipped fails. `.ci/run` sets it.
pub const REQUIRE_ALL: &str = "CHRONOXIDE_REQUIRE_ALL";

/// Environment variable: file to which the message of each skipped test is appended. `testdata/test.sh` prints them at
/// its end.
pub const SKIPPED: &str = "CHRONOXIDE_SKIPPED";

/// Reports that a test is skipped because `what` is missing, on standard error, which libtest does not hide, and in the
/// file that [`SKIPPED`] names.
///
/// # Panics
///
/// Everything is required: `CHRONOXIDE_REQUIRE_ALL` is `1`.
#[track_caller]
pub fn skip_or_fail(what: &str, reason: impl Display) {
    let message = skip_message(std::env::var(REQUIRE_ALL).is_ok_and(|value| value == "1"), what, reason);
    say(&message.unwrap_or_else(|message| panic!("{message}")));
}

/// Reports that a test is skipped because of data that no clone has, even if everything is required.
pub(crate) fn say(message: &str) {
    // `eprintln!` is hidden if the test passes; this is not.
    let _ = writeln!(io::stderr(), "{message}");
    if let Some(file) = std::env::var_os(SKIPPED)
        && let Ok(mut file) = OpenOptions::new().append(true).create(true).open(file)
    {
        let _ = writeln!(file, "{message}");
    }
}

/// Returns the message of a test that is skipped, or as an error that of one that fails.
fn skip_message(is_required: bool, what: &str, reason: impl Display) -> Result<String, String> {
    match is_required {
        true => Err(format!("{what} is required, because {REQUIRE_ALL} is 1: {reason}")),
        false => Ok(format!("skipped: {what}: {reason}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_skipped_unless_everything_is_required() {
        assert_eq!(skip_message(false, "strace", "not found"), Ok("skipped: strace: not found".to_owned()));
        assert_eq!(
            skip_message(true, "strace", "not found"),
            Err("strace is required, because CHRONOXIDE_REQUIRE_ALL is 1: not found".to_owned())
        );
    }
}
