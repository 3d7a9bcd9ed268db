//! The head of Prometheus's TSDB: the series and samples of the last hours, which no block has yet.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `folder` | [`HeadFiles`], the files of a head and their order |
//! | `segment` | [`Segment`], the records of one file of the write-ahead log |
//! | `record` | [`decode_wal_record`], the series, samples and metadata of one record |
//! | `fields` | the integers and texts of a record |
//! | `head_chunks` | [`HeadChunks`], the chunks of one file of `chunks_head` |
//! | `head` | [`Head`], which joins samples with the labels of their series |
//! | `error` | what can be wrong with these files |
//!
//! The write-ahead log of Prometheus 2 and 3 is read as [its format][wal] says: the newest checkpoint, then the segments with
//! higher numbers, then those of `wbl`, where out-of-order samples are. Records may be plain, snappy or zstd; all checksums are
//! checked. [Head chunks][head] extend the times of series. Series come from series records. A sample or chunk whose series no
//! record defines is counted, as Prometheus does; so is a series without samples, whose samples are in blocks already.
//!
//! Tombstones and exemplars are passed over, as are the snapshots of `chunk_snapshot.*`: the log holds what they hold.
//!
//! [wal]: https://github.com/prometheus/prometheus/blob/main/tsdb/docs/format/wal.md
//! [head]: https://github.com/prometheus/prometheus/blob/main/tsdb/docs/format/head_chunks.md

mod error;
mod fields;
mod folder;
mod head;
mod head_chunks;
mod record;
mod segment;

pub use error::{HeadError, RecordError, WalError, WalFileError};
pub use folder::{CHUNKS_FOLDER, HeadFile, HeadFiles, OUT_OF_ORDER_FOLDER, WAL_FOLDER, is_wal};
pub use head::{Head, HeadCounts};
pub use head_chunks::{HeadChunk, HeadChunks};
pub use record::{WalEntry, decode_wal_record};
pub use segment::Segment;
