//! Keys of a schedule's objects.

use super::{Schedule, ScheduledJob};

/// Prefix of the objects of all schedules of a location. Readers do not look below it.
pub const SCHEDULES_PREFIX: &str = "chronoxide-schedules/";

impl Schedule {
    /// Returns the prefix of the schedule's objects.
    #[must_use]
    pub fn prefix(&self) -> String {
        format!("{SCHEDULES_PREFIX}{}/", self.id)
    }

    pub(super) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix())
    }

    pub(super) fn document_key(&self) -> String {
        self.key(DOCUMENT)
    }

    pub(super) fn record_key(&self, job: &ScheduledJob) -> String {
        self.key(&format!("jobs/{}/done.json", job.id))
    }
}

/// Returns the bytes of a schedule's object. Equal values give equal bytes.
pub(super) fn document(value: &impl serde::Serialize) -> Vec<u8> {
    // Strings, numbers and lists can always be written.
    chronoxide_locations::to_document(value).unwrap_or_default()
}

/// Names of the objects below a schedule's prefix.
pub(super) const DOCUMENT: &str = "schedule.json";
pub(super) const COMMIT: &str = "commit.json";
pub(super) const COMMITTED: &str = "committed.json";
pub(super) const ABORT: &str = "abort.json";
