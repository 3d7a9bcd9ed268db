//! What the command shows, as a person reads it.

pub(crate) mod summary;
