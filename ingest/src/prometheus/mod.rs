//! Formats of Prometheus: exposition formats, remote write, and blocks and heads of the TSDB.
//!
//! | module | contents |
//! | --- | --- |
//! | [`text`] | the exposition text formats, line by line |
//! | [`chunk_lists`] | chunk lists of series of the TSDB, as columns of a block |
//! | [`proto`] | the exposition format as protobuf, family by family |
//! | [`remote_write`] | remote-write requests |
//! | [`tombstones`] | deleted times of series of the TSDB |
//! | [`tsdb`] | blocks of the TSDB |
//! | [`wal`] | the head of the TSDB: its write-ahead log and head chunks |
//!
//! All decoders give their parts to a [`SeriesSink`]: labels as written, including empty values,
//! with the metric's name as `__name__`, and times in nanoseconds.

pub mod chunk_lists;
mod float;
mod kind;
mod label_pair;
pub mod proto;
pub mod remote_write;
pub mod text;
pub mod tombstones;
pub mod tsdb;
pub(crate) mod varint;
pub mod wal;

use crate::series::SeriesSink;

pub(crate) use float::open_metrics_float;
pub(crate) use kind::FamilyType;
pub(crate) use label_pair::label_pair;

/// Label with the name of the metric.
pub(crate) const NAME: &str = "__name__";

/// Nanoseconds per millisecond.
pub(crate) const MILLISECOND: i64 = 1_000_000;

/// Gives a point at this time to `sink`.
pub(crate) fn give_point<S: SeriesSink>(milliseconds: i64, sink: &mut S) -> Result<(), S::Error> {
    match milliseconds.checked_mul(MILLISECOND) {
        Some(time) => sink.points(time, time),
        // Senders that write microseconds or nanoseconds for milliseconds are frequent. Labels are not wrong with them.
        None => sink.point_without_time(),
    }
}
