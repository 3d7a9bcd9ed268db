//! The command `chronoxide-compact`, on files and folders.

mod claims;
mod command;
mod external_labels;
mod folder;
mod follow;
mod memory;
mod named;
mod random_claims;
mod read_only;
#[path = "../../../compactor/tests/support/mod.rs"]
mod support;
mod used;
