//! Drops, renames and hashes labels.

use crate::hashing::HashLabels;

/// Labels to drop, rename or hash before series are merged. Series that become equal are merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// Labels to drop.
    pub drop_labels: Vec<String>,
    /// Labels to rename, as old and new names. A renamed label replaces a label that already has the new name, as in
    /// Prometheus's relabelling. If several are renamed to the same name, the last one wins.
    pub rename_labels: Vec<(String, String)>,
    /// Labels whose values are hashed. These can be neither dropped nor renamed.
    pub hash_labels: HashLabels,
}

impl Rewrite {
    /// Returns true if nothing is rewritten.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.drop_labels.is_empty() && self.rename_labels.is_empty() && self.hash_labels.is_empty()
    }

    /// Returns old and new names.
    pub(crate) fn renamed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rename_labels.iter().map(|(old, new)| (old.as_str(), new.as_str()))
    }
}
