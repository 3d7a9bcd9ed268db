//! Sealing: a store as a block.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `order` | which symbols, keys and values are used, and the ranks they get |
//! | `rows` | the rows of one keyset, remapped to ranks and sorted |
//! | `selection` | which series are sealed |
//! | `write` | the walk over both into whatever takes a block's parts |
//! | `memory` | [`KeysetStore::peak_memory`](crate::KeysetStore::peak_memory): the memory that sealing takes |
//! | `block` | [`KeysetStore::seal`](crate::KeysetStore::seal): a block builder as what takes them |

mod block;
mod memory;
mod order;
mod rows;
mod selection;
mod write;

pub use block::{SealError, Sealed};
