//! What a remap says: where the series of a block are after a compaction.

mod dump;
mod follow;
mod summary;

pub use dump::{RemapEntry, dump, dump_entries};
pub use follow::{Followed, follow};
pub use summary::{OutputSummary, RemapSummary};
