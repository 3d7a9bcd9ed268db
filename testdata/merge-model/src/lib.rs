//! Model of a merge: what becomes of each series, and the fuzz target that compares a
//! [`Compaction`](chronoxide_compactor::Compaction) with it.

mod model;
mod target;

pub use model::*;
pub use target::merge;
