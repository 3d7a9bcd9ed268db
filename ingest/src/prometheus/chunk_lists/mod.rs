//! Lists of the chunks of series in columns of a block (CHUNKS.md): [`ChunkList`].
//!
//! | module | contents |
//! | --- | --- |
//! | `list` | [`ChunkList`], the chunks of a series as the values of four columns |
//! | `columns` | [`ChunkColumns`], these columns of a block of Prometheus |
//!
//! With them, a block replaces the index of a block of Prometheus's TSDB: it says which series there are, and where in
//! the chunk files their samples are.

mod columns;
mod list;

pub use columns::{CHUNK_DISTANCES, CHUNK_START, CHUNK_TIMES, CHUNKS, ChunkColumns, DELETIONS, PREFIXES};
pub use list::{ChunkList, ChunkListError, ChunkPlace, decode_deletions};
