//! Keys of a plan's objects.

use super::{Plan, PlannedJob};

/// Prefix of the objects of all plans of a location. Readers do not look below it.
pub const PLANS_PREFIX: &str = "chronoxide-plans/";

impl Plan {
    /// Returns the prefix of the plan's objects.
    #[must_use]
    pub fn prefix(&self) -> String {
        format!("{PLANS_PREFIX}{}/", self.id)
    }

    pub(super) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix())
    }

    pub(super) fn document_key(&self) -> String {
        self.key(DOCUMENT)
    }

    pub(super) fn record_key(&self, job: &PlannedJob) -> String {
        self.key(&format!("jobs/{}/done.json", job.id))
    }
}

/// Returns the bytes of a plan's object. Equal values give equal bytes.
pub(super) fn document(value: &impl serde::Serialize) -> Vec<u8> {
    // Strings, numbers and lists can always be written.
    chronoxide_locations::to_document(value).unwrap_or_default()
}

/// Names of the objects below a plan's prefix.
pub(super) const DOCUMENT: &str = "plan.json";
pub(super) const COMMIT: &str = "commit.json";
pub(super) const COMMITTED: &str = "committed.json";
pub(super) const ABORT: &str = "abort.json";
