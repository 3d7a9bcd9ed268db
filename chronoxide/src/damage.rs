//! [`Damage`]: errors of blocks that queries left out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Error;

/// The errors of damaged blocks that queries [left out](crate::Query::skip_damaged), one per block. Clones share the
/// list.
#[derive(Clone, Debug, Default)]
pub struct Damage(Arc<Mutex<Vec<Error>>>);

impl Damage {
    /// Creates an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the errors so far.
    #[must_use]
    pub fn errors(&self) -> Vec<Error> {
        self.lock().clone()
    }

    /// Returns the errors so far, and removes them: a later query notes them again.
    #[must_use]
    pub fn take(&self) -> Vec<Error> {
        std::mem::take(&mut self.lock())
    }

    /// Returns the number of damaged blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Returns true if no query met damage.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds errors, one per block.
    pub(crate) fn note(&self, errors: impl IntoIterator<Item = Error>) {
        let mut damaged = self.lock();
        for error in errors {
            let is_same = |known: &Error| match (known.path(), error.path()) {
                (None, None) => known.to_string() == error.to_string(),
                (known, path) => known == path,
            };
            if !damaged.iter().any(is_same) {
                damaged.push(error);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Error>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
