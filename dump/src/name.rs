//! Label names as a person reads them.

use std::fmt;

use chronoxide_format::view::{Table, Text};
use chronoxide_format::{KeyId, Result};
use chronoxide_text::escape::Escaped;
use serde::Serialize;

/// A label name. `Display` quotes and escapes names that contain other characters than letters, digits and `_.:-/`;
/// `Serialize` does not change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Name<'v>(pub &'v str);

impl<'v> Name<'v> {
    /// Returns the names of the labels of a table's rows, in order.
    pub(crate) fn from_leaves(text: &Text<'v, 'v>, table: &Table<'v, 'v>) -> Result<Vec<Self>> {
        table.keys()?.map(|key| Ok(Self(key_name(text, key?)?))).collect()
    }
}

/// Returns the name of a key.
pub fn key_name<'data>(text: &Text<'data, '_>, key: KeyId) -> Result<&'data str> {
    text.symbol(text.view().key_symbol(key)?)
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0;
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.:-/".contains(c));
        if plain { f.write_str(name) } else { Escaped(name).fmt(f) }
    }
}
