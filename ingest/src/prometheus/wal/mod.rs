//! Head of Prometheus's TSDB: series and samples of the last hours, which are not in a block yet.
//!
//! | module | contents |
//! | --- | --- |
//! | `folder` | [`HeadFiles`], the files of a head and their order |
//! | `segment` | [`Segment`], the records of one file of the write-ahead log |
//! | `record` | [`decode_wal_record`], the series, samples and metadata of a record |
//! | `fields` | integers and texts of a record |
//! | `head_chunks` | [`HeadChunks`], the chunks of one file of `chunks_head` |
//! | `head` | [`Head`], which joins samples with the labels of their series |
//! | `error` | errors of these files |
//!
//! The write-ahead log of Prometheus 2 and 3 is read by [its format][wal]: the newest checkpoint, then the segments
//! with higher numbers, then those of `wbl` with out-of-order samples. Records may be plain, snappy or zstd. All
//! checksums are checked. [Head chunks][head] extend the times of series. Samples and chunks whose series is not
//! defined are counted, as in Prometheus. Series without samples are counted too: their samples are in blocks.
//!
//! Series whose samples are all deleted are left out. Exemplars are skipped, and so are the snapshots of
//! `chunk_snapshot.*`, whose contents are in the log.
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
pub use folder::{CHUNKS_FOLDER, HeadFile, HeadFiles, OUT_OF_ORDER_FOLDER, SegmentGap, WAL_FOLDER, is_wal};
pub use head::{Head, HeadCounts};
pub use head_chunks::{HeadChunk, HeadChunks, find_chunk};
pub use record::{WalEntry, decode_wal_record, has_tombstones};
pub use segment::Segment;
