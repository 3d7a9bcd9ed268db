//! What Prometheus and its exporters write: text, requests of remote write, blocks and heads of its TSDB.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`text`] | the exposition text formats, line by line |
//! | [`proto`] | the exposition format as protobuf, family by family |
//! | [`remote_write`] | requests of remote write, one after the other |
//! | [`tsdb`] | blocks of the TSDB |
//! | [`wal`] | the head of the TSDB: its write-ahead log and head chunks |
//!
//! Each gives its parts to a [`SeriesSink`](crate::SeriesSink): labels as they are written, empty values included, with
//! the metric's name as `__name__`; and times in nanoseconds, of which Prometheus knows milliseconds.

mod float;
mod kind;
mod label_pair;
pub mod proto;
pub mod remote_write;
pub mod text;
pub mod tsdb;
pub mod wal;

pub(crate) use float::open_metrics_float;
pub(crate) use kind::FamilyType;
pub(crate) use label_pair::label_pair;

/// The label that holds the name of a metric.
pub(crate) const NAME: &str = "__name__";

/// Nanoseconds in a millisecond.
pub(crate) const MILLISECOND: i64 = 1_000_000;
