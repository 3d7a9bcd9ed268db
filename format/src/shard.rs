//! Shards: series spread over several blocks by the value of one label (spec, section 11, "Shards").
//!
//! The shard of a series is the hash of the value modulo the number of shards. Prometheus's `hashmod` and the shards
//! of Mimir use the remainder too, it needs no number of more than 64 bits in any language, and doubling the number of
//! shards splits each shard in two.
//!
//! ```
//! use chronoxide_format::shard::Shard;
//!
//! let shard: Shard = "4/4".parse()?;
//! assert_eq!((shard.number(), shard.count().get()), (3, 4));
//! assert!(shard.has(b"up"));
//! # Ok::<(), chronoxide_format::shard::ShardError>(())
//! ```

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use crate::identity::sip;
use crate::number::low32;

/// Key of the annotation that is reserved for which shard a block is (LIFECYCLE.md, section 2). No program writes it
/// yet.
pub const SHARD_KEY: &str = "chronoxide.shard";

/// Returns the shard (from 0) of the series that have this value of the shard label. Series without the label have the
/// empty value.
#[must_use]
pub fn shard_of(value: &[u8], shards: NonZeroU32) -> u32 {
    // The remainder of a division by a 32-bit number has 32 bits.
    low32(sip(b"chronoxide.shd.0", &[value]) % u64::from(shards.get()))
}

/// One of several shards. The text form counts from 1: the shards of `n` are `1/n` to `n/n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard {
    number: u32,
    count: NonZeroU32,
}

/// Reason why a text is not a valid [`Shard`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// The text is not two numbers separated by a slash.
    #[error("invalid shard: expected NUMBER/COUNT, such as 1/4")]
    Form,
    /// A number is larger than the format can count.
    #[error("too many shards: at most {} are allowed", u32::MAX)]
    TooMany,
    /// The number of shards is 0.
    #[error("the number of shards must be at least 1")]
    None,
    /// The number of the shard is 0.
    #[error("shard 0/{count} is out of range: use 1/{count} to {count}/{count}")]
    Zero {
        /// Number of shards.
        count: u32,
    },
    /// The number of the shard exceeds the number of shards.
    #[error("shard {number}/{count} is out of range: use 1/{count} to {count}/{count}")]
    Beyond {
        /// Number of the shard, from 1.
        number: u32,
        /// Number of shards.
        count: u32,
    },
}

impl Shard {
    /// Returns all `count` shards, in order.
    pub fn all(count: NonZeroU32) -> impl Iterator<Item = Self> {
        (0..count.get()).map(move |number| Self { number, count })
    }

    /// Returns the number of the shard, from 0.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.number
    }

    /// Returns the number of shards.
    #[must_use]
    pub const fn count(self) -> NonZeroU32 {
        self.count
    }

    /// Returns true if series with this value of the shard label are in the shard. Series without the label have the
    /// empty value.
    #[must_use]
    pub fn has(self, value: &[u8]) -> bool {
        shard_of(value, self.count) == self.number
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let (number, count) = text.split_once('/').ok_or(ShardError::Form)?;
        let (number, count) = (parse(number)?, parse(count)?);
        let of = NonZeroU32::new(count).ok_or(ShardError::None)?;
        let from_zero = number.checked_sub(1).ok_or(ShardError::Zero { count })?;
        if number > count {
            return Err(ShardError::Beyond { number, count });
        }
        Ok(Self { number: from_zero, count: of })
    }
}

/// Digits only: `u32` would take a plus sign too.
fn parse(digits: &str) -> Result<u32, ShardError> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ShardError::Form);
    }
    digits.parse().map_err(|_| ShardError::TooMany)
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 64 bits: the number of the last shard plus one may not fit 32.
        write!(f, "{}/{}", u64::from(self.number) + 1, self.count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shards_are_written_as_people_count_them() {
        for (text, number, count) in
            [("1/1", 0, 1), ("1/4", 0, 4), ("4/4", 3, 4), ("4294967295/4294967295", u32::MAX - 1, u32::MAX)]
        {
            let shard: Shard = text.parse().unwrap();
            assert_eq!((shard.number(), shard.count().get()), (number, count), "{text}");
            assert_eq!(shard.to_string(), text);
        }
        let all: Vec<String> = Shard::all(NonZeroU32::new(3).unwrap()).map(|shard| shard.to_string()).collect();
        assert_eq!(all, ["1/3", "2/3", "3/3"]);
    }

    #[test]
    fn an_invalid_shard_is_refused_with_its_reason() {
        let form = "invalid shard: expected NUMBER/COUNT, such as 1/4";
        for (text, message) in [
            ("", form),
            ("1", form),
            ("1of4", form),
            ("1/", form),
            ("/4", form),
            ("1/4/4", form),
            ("+1/4", form),
            ("-1/4", form),
            (" 1/4", form),
            ("1/4294967296", "too many shards: at most 4294967295 are allowed"),
            ("1/0", "the number of shards must be at least 1"),
            ("0/4", "shard 0/4 is out of range: use 1/4 to 4/4"),
            ("5/4", "shard 5/4 is out of range: use 1/4 to 4/4"),
        ] {
            assert_eq!(text.parse::<Shard>().unwrap_err().to_string(), message, "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn each_value_is_in_one_shard_which_doubling_splits(value: Vec<u8>, count in 1_u32..200) {
            let of = |count| shard_of(&value, NonZeroU32::new(count).unwrap());
            let having: Vec<u32> =
                Shard::all(NonZeroU32::new(count).unwrap()).filter(|shard| shard.has(&value)).map(Shard::number).collect();
            prop_assert_eq!(having, [of(count)]);
            prop_assert!(of(2 * count) == of(count) || of(2 * count) == of(count) + count);
        }
    }

    #[test]
    fn shards_are_about_equal() {
        let count = NonZeroU32::new(7).unwrap();
        let mut sizes = [0; 7];
        for metric in 0..70_000 {
            sizes[usize::try_from(shard_of(format!("metric_{metric}").as_bytes(), count)).unwrap()] += 1;
        }
        // Ten standard deviations of a fair die: 10,000 +- 926.
        assert!(sizes.iter().all(|size| (9_074..=10_926).contains(size)), "{sizes:?}");
    }
}
