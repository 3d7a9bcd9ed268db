//! Sealing of a store into a block.
//!
//! | module | contents |
//! | --- | --- |
//! | `order` | used symbols, keys and values, and their ranks |
//! | `rows` | rows of one keyset, remapped to ranks and sorted |
//! | `selection` | the set of series to seal |
//! | `write` | the walk over a store in the order of a block |
//! | `plans` | [`Plans`]: the plan that the next block adopts |
//! | `memory` | [`KeysetStore::peak_memory`](crate::KeysetStore::peak_memory): the memory of sealing |
//! | `block` | [`KeysetStore::seal`](crate::KeysetStore::seal): the walk into a block builder |

mod block;
mod memory;
mod order;
mod plans;
mod rows;
mod selection;
mod write;

pub use block::{Prepared, SealError, Sealed};
pub use plans::Plans;
