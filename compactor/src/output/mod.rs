//! Turns merged rows into blocks: renumbers what an output uses, and writes its rows with the new numbers.
//!
//! | module | what it is for |
//! |---|---|
//! | `chunk` | merged rows in the spool |
//! | `used` | symbols, values, table rows and lists that an output uses, and their new numbers |
//! | `rows` | merged rows of one output |
//! | `draft` | an output with its id, before its rows are written |
//! | `planned` | outputs that are planned afresh |

mod chunk;
mod draft;
mod planned;
mod rows;
mod used;

pub(crate) use chunk::{Chunk, PackedChunk, Uses, pack};
pub use draft::Draft;
pub(crate) use rows::OutputRows;
