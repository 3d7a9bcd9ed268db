//! Decides what a test does when a tool or data that it needs is missing.

use std::fmt::Display;

/// Environment variable: if `1`, a test that would be skipped fails. `.ci/run` sets it.
pub const REQUIRE_ALL: &str = "CHRONOXIDE_REQUIRE_ALL";

/// Prints that a test is skipped because `what` is missing.
///
/// # Panics
///
/// Everything is required: `CHRONOXIDE_REQUIRE_ALL` is `1`.
#[track_caller]
pub fn skip_or_fail(what: &str, reason: impl Display) {
    let message = skip_message(std::env::var(REQUIRE_ALL).is_ok_and(|value| value == "1"), what, reason);
    println!("{}", message.unwrap_or_else(|message| panic!("{message}")));
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
