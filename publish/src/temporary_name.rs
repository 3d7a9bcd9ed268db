//! Names of temporary files.

/// Prefix of the name of every temporary file. Twelve letters and digits follow.
pub const TEMPORARY_PREFIX: &str = ".chronoxide-";

/// Random characters of a name. Two writers hardly choose the same of 62^12 names, and `create_new` would notice.
pub(crate) const RANDOM_LEN: usize = 12;

/// Returns true if a file with this name is a temporary file of this crate.
///
/// ```
/// assert!(chronoxide_publish::is_temporary_name(".chronoxide-3kTz0aPq9LmX"));
/// assert!(!chronoxide_publish::is_temporary_name("week.cx"));
/// ```
#[must_use]
pub fn is_temporary_name(name: &str) -> bool {
    name.strip_prefix(TEMPORARY_PREFIX)
        .is_some_and(|random| random.len() == RANDOM_LEN && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::is_temporary_name;

    #[test]
    fn only_names_of_our_pattern_are_temporary() {
        assert!(is_temporary_name(".chronoxide-0123456789ab"));
        for other in [
            "",
            ".chronoxide-",
            ".chronoxide-0123456789a",
            ".chronoxide-0123456789abc",
            ".chronoxide-0123456789a.",
            ".chronoxide-0123456789\u{e9}",
            "chronoxide-0123456789ab",
            ".chronoxide_0123456789ab",
            "x.chronoxide-0123456789ab",
            ".chronoxide-lock",
        ] {
            assert!(!is_temporary_name(other), "{other:?}");
        }
    }
}
