//! Content of a remap: the targets of the series of a block after a compaction.

mod dump;
mod follow;
mod summary;

pub use dump::{RemapEntry, dump, dump_entries};
pub use follow::{Followed, follow};
pub use summary::{OutputSummary, RemapSummary};
