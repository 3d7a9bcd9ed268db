//! Sealing: a store as a block.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `order` | which symbols, keys and values are used, and the ranks they get |
//! | `rows` | the rows of one keyset, remapped to ranks and sorted |
//! | `write` | the walk over both into whatever takes a block's parts |

#[allow(dead_code)]
mod order;
#[allow(dead_code)]
mod rows;
#[allow(dead_code)] // until the builder takes the parts
mod write;
