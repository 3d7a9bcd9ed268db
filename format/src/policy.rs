//! The label policy: how long names and values may be, and how longer ones are cut
//! (spec section 12, "Label policy").
//!
//! A writer may shorten long names and values before it stores them, and records the limits in the block. A search or
//! a comparison with a block's labelsets applies the block's policy first, so that a label matches whether it was cut
//! or not.
//!
//! # The rule
//!
//! A string of at most *n* bytes, where *n* is its limit, is not changed. A longer one becomes
//!
//! 1. the longest of its beginnings that has at most *n* - 18 bytes and ends between characters,
//! 2. `~s`,
//! 3. SipHash-2-4 of all bytes of the whole string, with 64-bit output and the 16 bytes of the ASCII
//!    text `chronoxide.cut.0` as key, as 16 lowercase hexadecimal digits, most significant first.
//!
//! The result fits the limit, so that cutting it again changes nothing. Two long strings with a common beginning stay
//! distinct unless their hashes are equal. A short string that looks like a cut one is not distinguished from it: a
//! collision requires a hash that was computed on purpose.
//!
//! ```
//! use chronoxide_format::policy::LabelPolicy;
//! use std::borrow::Cow;
//!
//! let policy = LabelPolicy::new(1024, 32)?;
//! assert_eq!(policy.value("GET"), Cow::Borrowed("GET"));
//! let long = "SELECT * FROM orders WHERE customer = 17";
//! assert_eq!(policy.value(long), "SELECT * FROM ~sb0f9ea0edc3a4855");
//! assert_eq!(policy.value(&policy.value(long)), policy.value(long));
//! # Ok::<(), chronoxide_format::policy::PolicyError>(())
//! ```

use std::borrow::Cow;

use siphasher::sip::SipHasher24;

/// The SipHash key of the hash in a cut string.
const CUT_KEY: &[u8; 16] = b"chronoxide.cut.0";

/// Separator between the beginning of a cut string and the hash.
const CUT_MARK: &str = "~s";

/// How long the names and values of a block's labels may be, in bytes. Longer ones are cut: see the
/// [module](self) for the rule.
///
/// A policy is recorded in each block. Both limits are between [`MIN_LIMIT`](Self::MIN_LIMIT) and
/// [`MAX_LIMIT`](Self::MAX_LIMIT), for any stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LabelPolicy {
    max_name_len: u32,
    max_value_len: u32,
}

/// A limit that no policy can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid label limits {max_name_len} and {max_value_len}: each must be 18 to 65535 bytes")]
pub struct PolicyError {
    /// The limit that was asked for names.
    pub max_name_len: u32,
    /// The limit that was asked for values.
    pub max_value_len: u32,
}

impl LabelPolicy {
    /// The smallest limit: a cut string that consists of `~s` and the hash.
    pub const MIN_LIMIT: u32 = 18;

    /// The largest limit, that of the format (spec section 2, `MAX_SYMBOL_LEN`).
    pub const MAX_LIMIT: u32 = 65_535;

    /// The policy of a block whose strings were never cut: both limits are the limits of the format.
    ///
    /// It cuts strings that the format cannot hold, so that a search for such a string needs no special case.
    pub const NONE: Self = Self { max_name_len: Self::MAX_LIMIT, max_value_len: Self::MAX_LIMIT };

    /// The policy that `chronoxide-ingest` applies unless told otherwise: names of up to 1,024 bytes,
    /// values of up to 2,048.
    pub const INGEST: Self = Self { max_name_len: 1_024, max_value_len: 2_048 };

    /// Returns a policy with these limits, in bytes.
    ///
    /// # Errors
    ///
    /// A limit is below [`MIN_LIMIT`](Self::MIN_LIMIT) or above [`MAX_LIMIT`](Self::MAX_LIMIT).
    pub fn new(max_name_len: u32, max_value_len: u32) -> Result<Self, PolicyError> {
        let possible = Self::MIN_LIMIT..=Self::MAX_LIMIT;
        if possible.contains(&max_name_len) && possible.contains(&max_value_len) {
            Ok(Self { max_name_len, max_value_len })
        } else {
            Err(PolicyError { max_name_len, max_value_len })
        }
    }

    /// Returns the longest name, in bytes.
    #[must_use]
    pub const fn max_name_len(&self) -> u32 {
        self.max_name_len
    }

    /// Returns the longest value, in bytes.
    #[must_use]
    pub const fn max_value_len(&self) -> u32 {
        self.max_value_len
    }

    /// Returns the name that a label has in the block. Borrows if nothing changes.
    ///
    /// Costs a comparison of lengths, and a hash of the name if it is cut.
    #[must_use]
    pub fn name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        cut(name, self.max_name_len)
    }

    /// Returns the value that a label has in the block. Borrows if nothing changes.
    ///
    /// Costs a comparison of lengths, and a hash of the value if it is cut.
    #[must_use]
    pub fn value<'a>(&self, value: &'a str) -> Cow<'a, str> {
        cut(value, self.max_value_len)
    }

    /// Like [`LabelPolicy::name`], but takes bytes. Returns `None` for bytes that are not UTF-8 and longer than the
    /// limit: no block has such a name.
    #[must_use]
    pub fn name_bytes<'a>(&self, name: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        cut_bytes(name, self.max_name_len)
    }

    /// Like [`LabelPolicy::value`], but takes bytes. Returns `None` for bytes that are not UTF-8 and longer than the
    /// limit: no block has such a value.
    #[must_use]
    pub fn value_bytes<'a>(&self, value: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        cut_bytes(value, self.max_value_len)
    }
}

/// The default is [`LabelPolicy::INGEST`].
impl Default for LabelPolicy {
    fn default() -> Self {
        Self::INGEST
    }
}

/// Applies the rule of the module to one string.
fn cut(text: &str, limit: u32) -> Cow<'_, str> {
    // A limit that does not fit is longer than any string there is.
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let room = limit.saturating_sub(CUT_MARK.len() + 16);
    let (beginning, _) = text.split_at(text.floor_char_boundary(room));
    let hash = SipHasher24::new_with_key(CUT_KEY).hash(text.as_bytes());
    Cow::Owned(format!("{beginning}{CUT_MARK}{hash:016x}"))
}

/// Cuts bytes like [`cut`]. Short bytes are returned unchanged, without a check of UTF-8.
fn cut_bytes(bytes: &[u8], limit: u32) -> Option<Cow<'_, [u8]>> {
    if usize::try_from(limit).is_ok_and(|limit| bytes.len() > limit) {
        let text = std::str::from_utf8(bytes).ok()?;
        return Some(Cow::Owned(cut(text, limit).into_owned().into_bytes()));
    }
    Some(Cow::Borrowed(bytes))
}

/// Returns true for label names that no writer makes: they are reserved (spec, section 12).
#[must_use]
pub fn is_reserved_name(name: &str) -> bool {
    name.starts_with('\0')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn policy(limit: u32) -> LabelPolicy {
        LabelPolicy::new(limit, limit).unwrap()
    }

    /// The hashes come from a SipHash-2-4 of another author, written in Python from the paper and
    /// checked with the paper's own vector.
    #[test]
    fn cut_strings_are_those_of_an_independent_implementation() {
        let long = "a".repeat(70_000);
        let wide = "é".repeat(20);
        let vectors: [(u32, &str, String); 7] = [
            (18, "0123456789abcdefg~", "0123456789abcdefg~".into()),
            (18, "0123456789abcdefghi", "~sc6a3e6f44d79f862".into()),
            (19, "0123456789abcdefghij", "0~sa13a43694bf847b1".into()),
            (32, "SELECT * FROM orders WHERE customer = 17", "SELECT * FROM ~sb0f9ea0edc3a4855".into()),
            (21, &wide, "é~sa0e8dd443b8bc3df".into()),
            (22, &wide, "éé~sa0e8dd443b8bc3df".into()),
            (65_535, &long, format!("{}~s105f76e62281d30a", "a".repeat(65_517))),
        ];
        for (limit, original, expected) in vectors {
            assert_eq!(policy(limit).name(original), expected, "name, limit {limit}");
            assert_eq!(policy(limit).value(original), expected, "value, limit {limit}");
        }
    }

    #[test]
    fn names_and_values_have_their_own_limits() {
        let text = "x".repeat(30);
        let policy = LabelPolicy::new(20, 40).unwrap();
        assert_eq!(policy.name(&text).len(), 20);
        assert_eq!(policy.value(&text), Cow::Borrowed(text.as_str()));
        assert!(matches!(policy.value(&text), Cow::Borrowed(_)), "nothing to cut, nothing to copy");
        assert_eq!((policy.max_name_len(), policy.max_value_len()), (20, 40));
    }

    #[test]
    fn a_string_as_long_as_the_limit_is_not_cut() {
        let ingest = LabelPolicy::default();
        for (text, name_len, value_len) in
            [("n".repeat(1_024), 1_024, 1_024), ("n".repeat(1_025), 1_024, 1_025), ("n".repeat(2_049), 1_024, 2_048)]
        {
            assert_eq!((ingest.name(&text).len(), ingest.value(&text).len()), (name_len, value_len));
        }
        let none = "n".repeat(65_535);
        assert_eq!(LabelPolicy::NONE.value(&none), none);
    }

    #[test]
    fn limits_outside_the_format_are_refused() {
        for (name, value) in [(17, 2_048), (1_024, 17), (0, 18), (65_536, 18), (18, u32::MAX)] {
            assert_eq!(LabelPolicy::new(name, value), Err(PolicyError { max_name_len: name, max_value_len: value }));
        }
        assert_eq!(LabelPolicy::new(65_535, 65_535), Ok(LabelPolicy::NONE));
        assert_eq!(LabelPolicy::new(18, 18).map(|p| p.max_name_len()), Ok(LabelPolicy::MIN_LIMIT));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn cutting_fits_keeps_a_longest_beginning_and_is_idempotent(text in "\\PC{0,60}", limit in 18u32..80) {
            let policy = policy(limit);
            let cut = policy.value(&text);
            prop_assert!(cut.len() <= limit as usize);
            prop_assert_eq!(policy.value(&cut), cut.clone());
            if text.len() <= limit as usize {
                prop_assert!(matches!(cut, Cow::Borrowed(_)));
                prop_assert_eq!(cut.as_ref(), text.as_str());
            } else {
                let kept = cut.len() - 18;
                prop_assert_eq!(&cut[..kept], &text[..kept]);
                prop_assert_eq!(&cut[kept..kept + 2], "~s");
                let next = text[kept..].chars().next().map_or(0, char::len_utf8);
                prop_assert!(kept + next + 18 > limit as usize, "one more character would fit");
            }
        }

        #[test]
        fn strings_that_differ_after_the_cut_stay_apart(start in "[a-z]{40}", a in "[a-z]{1,8}", b in "[a-z]{1,8}") {
            let (first, second) = (format!("{start}{a}"), format!("{start}{b}"));
            let policy = policy(24);
            prop_assert_eq!(policy.value(&first) == policy.value(&second), a == b);
        }
    }
}
