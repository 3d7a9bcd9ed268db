//! Ids and fingerprints as text in JSON.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// Writes a value as text.
///
/// # Errors
/// Errors of the serializer.
pub fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Reads a value from text.
///
/// # Errors
/// Text that is not such a value.
pub fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(json: D) -> Result<T, D::Error> {
    String::deserialize(json)?.parse().map_err(D::Error::custom)
}

/// Lists of ids.
pub mod list {
    use super::{Deserialize, Deserializer, Display, Error, FromStr, Serializer};

    /// Writes the value.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<T: Display, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(ToString::to_string))
    }

    /// Reads the value.
    ///
    /// # Errors
    /// Text that is not such a value.
    pub fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(json: D) -> Result<Vec<T>, D::Error> {
        let texts = Vec::<String>::deserialize(json)?;
        texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
    }
}

/// Fingerprints: 32 hexadecimal digits.
pub mod fingerprint {
    use chronoxide_format::identity::Fingerprint;

    use super::{Deserialize, Deserializer, Error, Serializer};

    /// Writes the value.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<S: Serializer>(value: &Fingerprint, serializer: S) -> Result<S::Ok, S::Error> {
        let [first, second] = value.to_parts();
        serializer.collect_str(&format_args!("{first:016x}{second:016x}"))
    }

    /// Reads the value.
    ///
    /// # Errors
    /// Text that is not such a value.
    pub fn deserialize<'de, D: Deserializer<'de>>(json: D) -> Result<Fingerprint, D::Error> {
        let text = String::deserialize(json)?;
        let number = super::number(&text).ok_or_else(|| D::Error::custom("not 32 hexadecimal digits"))?;
        let parts = [(number >> 64) as u64, number as u64];
        Fingerprint::from_parts(parts).ok_or_else(|| D::Error::custom("not a fingerprint"))
    }
}

/// Ids of jobs: 32 hexadecimal digits.
pub mod job {
    use super::{Deserialize, Deserializer, Error, Serializer};

    /// Writes the value.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<S: Serializer>(value: &[u8; 16], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", u128::from_be_bytes(*value)))
    }

    /// Reads the value.
    ///
    /// # Errors
    /// Text that is not such a value.
    pub fn deserialize<'de, D: Deserializer<'de>>(json: D) -> Result<[u8; 16], D::Error> {
        let text = String::deserialize(json)?;
        super::number(&text).map(u128::to_be_bytes).ok_or_else(|| D::Error::custom("not 32 hexadecimal digits"))
    }
}

/// Reads 32 hexadecimal digits.
fn number(text: &str) -> Option<u128> {
    let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex { u128::from_str_radix(text, 16).ok() } else { None }
}

/// Reasons why a block is read-only: its unknown bits of `ro_compat`, and the kind of an unknown section.
pub mod read_only {
    use chronoxide_format::view::ReadOnly;

    use super::{Deserialize, Deserializer, Serializer};

    /// Writes the value.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<S: Serializer>(value: &Option<ReadOnly>, serializer: S) -> Result<S::Ok, S::Error> {
        let numbers = match *value {
            None => [0, 0],
            Some(ReadOnly::Features { bits }) => [bits, 0],
            Some(ReadOnly::Section { kind }) => [0, kind],
        };
        serializer.collect_seq(numbers)
    }

    /// Reads the value.
    ///
    /// # Errors
    /// Other JSON than two numbers.
    pub fn deserialize<'de, D: Deserializer<'de>>(json: D) -> Result<Option<ReadOnly>, D::Error> {
        Ok(match <[u32; 2]>::deserialize(json)? {
            [0, 0] => None,
            [0, kind] => Some(ReadOnly::Section { kind }),
            [bits, _] => Some(ReadOnly::Features { bits }),
        })
    }
}
