//! From merged rows to blocks: what an output uses of the tables is renumbered, and its rows are written in these numbers.
//!
//! | module | what it is for |
//! |---|---|
//! | `chunk` | merged rows until all of them are there |
//! | `used` | what an output uses of symbols, dictionaries, tables and lists |
//! | `draft` | an output whose id is known, and its rows |
//! | `planned` | an output that is planned afresh |

mod chunk;
mod draft;
mod planned;
mod used;

pub(crate) use chunk::{Chunk, Columns, PackedChunk, Uses, pack, waiting_widths};
pub use draft::Draft;
pub(crate) use draft::OutputRows;
