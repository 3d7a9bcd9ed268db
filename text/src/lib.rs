//! Numbers and untrusted text for people: in messages, errors and dumps.
//!
//! | module | contents |
//! |---|---|
//! | [`escape`] | untrusted text on a terminal |
//! | [`human`] | counts, sizes and ratios as text |

pub mod escape;
pub mod human;
