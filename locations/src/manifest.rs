//! [`Manifest`]: the facts of many blocks in one object.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::document::{read_document, to_document};
use crate::facts::Facts;
use crate::listing::{Listed, Listing};
use crate::storage::Object;
use crate::{Location, LocationError};

/// Key of the manifest of a location.
pub const MANIFEST_KEY: &str = "chronoxide-manifest.json";

/// Version of the manifest that this crate reads and writes.
const VERSION: u32 = 2;

/// Facts of the blocks of a location, so that they are listed without reading each of them.
///
/// An entry counts if the listing has the object with the same length and version; its block is not read then. A
/// manifest may be old, lack blocks, or be missing. Code that deletes or replaces blocks reads the blocks themselves
/// ([`Listing::read_blocks`]).
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    key: String,
    bytes: u64,
    version: String,
    #[serde(flatten)]
    facts: Facts,
}

#[derive(Serialize, Deserialize)]
struct File {
    chronoxide_manifest: u32,
    blocks: Vec<Entry>,
}

impl Manifest {
    /// Reads the manifest of a location. A location without one, or with one of another version, has an empty one.
    ///
    /// # Errors
    /// The manifest exists and cannot be read. Damage is not an error: the blocks are read then.
    pub fn read(location: &Location) -> Result<Self, LocationError> {
        match read_document(location, MANIFEST_KEY) {
            Ok(File { chronoxide_manifest: VERSION, blocks }) => {
                Ok(Self { entries: blocks.into_iter().map(|entry| (entry.key.clone(), entry)).collect() })
            }
            Ok(_) | Err(LocationError::Json { .. } | LocationError::Missing { .. }) => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Makes a manifest of all readable blocks of a listing.
    #[must_use]
    pub fn from_listing(listing: &Listing) -> Self {
        let entry = |Listed { object, facts }: &Listed| Entry {
            key: object.key.clone(),
            bytes: object.byte_len,
            version: object.version.clone(),
            facts: facts.clone(),
        };
        let entries = listing.all().into_iter().map(entry).map(|entry| (entry.key.clone(), entry)).collect();
        Self { entries }
    }

    /// Writes the manifest, and replaces an older one.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn write(&self, location: &Location) -> Result<u64, LocationError> {
        let file = File { chronoxide_manifest: VERSION, blocks: self.entries.values().cloned().collect() };
        let invalid = |error: serde_json::Error| LocationError::Json {
            object: location.name(MANIFEST_KEY),
            reason: error.to_string(),
        };
        let bytes = to_document(&file).map_err(invalid)?;
        location.replace(MANIFEST_KEY, &bytes)?;
        Ok(bytes.len() as u64)
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the manifest has no block.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the facts of an object, if the manifest describes this version of it.
    #[must_use]
    pub fn facts(&self, object: &Object) -> Option<&Facts> {
        let entry = self.entries.get(&object.key)?;
        (entry.bytes == object.byte_len && entry.version == object.version).then_some(&entry.facts)
    }
}
