//! [`HashLabels`]: labels whose values are replaced by keyed hashes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use chronoxide_format::KeyId;
use chronoxide_format::view::BlockView;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::CompactError;
use crate::error::InInput;

/// Bytes of a hash: its text has twice as many characters. 64 bits: among a million values, two are equal with a
/// probability of 3 in 100 million.
const HASH_LEN: usize = 8;

/// Least bytes of a key. A shorter one could be found by trying.
const MIN_KEY_LEN: usize = 16;

/// Labels whose values are replaced by keyed hashes, for privacy: equal values have equal hashes, and without the
/// key nothing else of them can be found.
///
/// The hash is the first 8 bytes of HMAC-SHA-256, as 16 hexadecimal digits: `openssl dgst -sha256 -hmac KEY` prints it,
/// too. External labels, names of metrics and metadata are not changed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HashLabels {
    names: Vec<String>,
    key: Vec<u8>,
}

/// A key that is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key of {len} bytes; at least {MIN_KEY_LEN} are needed")]
pub struct ShortKey {
    /// Length of the key.
    pub len: usize,
}

impl HashLabels {
    /// Chooses labels and a key.
    ///
    /// # Errors
    /// The key is shorter than 16 bytes.
    pub fn new(names: Vec<String>, key: &[u8]) -> Result<Self, ShortKey> {
        if key.len() < MIN_KEY_LEN {
            return Err(ShortKey { len: key.len() });
        }
        let mut seen = BTreeSet::new();
        let names = names.into_iter().filter(|name| seen.insert(name.clone())).collect();
        Ok(Self { names, key: key.to_vec() })
    }

    /// Returns true if no label is hashed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the names of the labels.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the hash of a value.
    #[must_use]
    pub fn hash(&self, value: &str) -> String {
        // HMAC takes keys of any length.
        let mut hmac = Hmac::<Sha256>::new_from_slice(&self.key).expect("a key of any length");
        hmac.update(value.as_bytes());
        let mut text = String::with_capacity(2 * HASH_LEN);
        for byte in hmac.finalize().into_bytes().iter().take(HASH_LEN) {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Returns a text of the labels, and of the hash of a text that tells keys apart.
    pub(crate) fn describe(&self) -> impl Iterator<Item = String> + '_ {
        let key = self.hash("\0chronoxide key");
        self.names.iter().map(move |name| format!("{} with key {key}", described(name)))
    }

    /// Returns true if a text of [`HashLabels::describe`] says that one of the labels is hashed.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.names.iter().any(|name| text.contains(&described(name)))
    }
}

/// Leaves the key out: options are printed in messages.
impl fmt::Debug for HashLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashLabels").field("names", &self.names).finish_non_exhaustive()
    }
}

fn described(name: &str) -> String {
    format!("hash label {name:?}")
}

/// A hashed label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashedLabel {
    /// Name.
    pub name: String,
    /// Number of distinct values of all inputs.
    pub values: u64,
    /// Number of distinct hashes. If it is smaller, series that differed only in this label may have become one.
    pub hashes: u64,
}

/// Hashes of the values of all inputs.
#[derive(Debug, Default)]
pub(crate) struct Hashes {
    /// Sorted hashes, by name of the label.
    by_name: BTreeMap<String, Vec<String>>,
    pub(crate) labels: Vec<HashedLabel>,
}

impl Hashes {
    /// Hashes the values of the labels in all inputs. Takes some 100 bytes of memory per value.
    pub(crate) fn new(inputs: &[BlockView<'_>], options: &HashLabels) -> Result<Self, CompactError> {
        let mut hashes = Self::default();
        for name in &options.names {
            let mut values = Vec::new();
            for (input, view) in inputs.iter().enumerate() {
                let Some(key) = view.key(name).in_input(input)? else { continue };
                add_values(view, key, &mut values).in_input(input)?;
            }
            values.sort_unstable();
            values.dedup();
            let mut of_name: Vec<String> = values.iter().map(|value| options.hash(value)).collect();
            of_name.sort_unstable();
            of_name.dedup();
            let label = HashedLabel { name: name.clone(), values: values.len() as u64, hashes: of_name.len() as u64 };
            hashes.labels.push(label);
            hashes.by_name.insert(name.clone(), of_name);
        }
        Ok(hashes)
    }

    /// Returns the hashes of all labels, with repetitions.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.by_name.values().flatten().map(String::as_str)
    }

    /// Returns the sorted hashes of a label.
    pub(crate) fn get(&self, name: &str) -> &[String] {
        self.by_name.get(name).map(Vec::as_slice).unwrap_or_default()
    }
}

fn add_values<'v>(view: &'v BlockView<'_>, key: KeyId, values: &mut Vec<&'v str>) -> chronoxide_format::Result<()> {
    let text = view.text()?;
    for code in 0..view.cardinality(key)?.unwrap_or_default() {
        values.push(text.symbol(view.dictionary_value(key, code)?)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_hmac_sha_256() {
        // printf %s web-1 | openssl dgst -sha256 -hmac 0123456789abcdef
        let labels = HashLabels::new(vec!["pod".to_owned()], b"0123456789abcdef").unwrap();
        assert_eq!(labels.hash("web-1"), "0ca60d06aae9d8e1");
        assert_eq!(HashLabels::new(Vec::new(), b"short"), Err(ShortKey { len: 5 }));
        assert!(!format!("{labels:?}").contains("0123") && format!("{labels:?}").contains("pod"));
    }
}
