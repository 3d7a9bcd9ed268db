//! All fuzz targets by name, and those that decode inputs of ingest.
//!
//! | module | contents |
//! |---|---|
//! | `input` | inputs of ingest: a request of OTLP, a capture of series |
//! | `otlp_proto` | a request of OTLP as protobuf, beside a generated decoder |
//! | `tables` | tables of series: Parquet files and Arrow IPC |
//! | `prometheus` | what Prometheus writes: text, protobuf, requests of remote write, indices of blocks, write-ahead logs |

mod input;
mod otlp_proto;
mod prometheus;
mod tables;

pub use chronoxide_merge_model::merge;
pub use chronoxide_select_model::select;
pub use chronoxide_testkit::fuzzing::{block_open, block_repaired, extremes, remap};
pub use input::{otlp_json, series_json};
pub use otlp_proto::{Parts, otlp_proto};
pub use prometheus::{prometheus_proto, prometheus_text, remote_write, tsdb_index, tsdb_wal};
pub use tables::{arrow, parquet};

/// Function that a fuzzer calls with any bytes. Panics if a promise is broken.
pub type Target = fn(&[u8]);

/// The targets by name. Each is also a file in `fuzz/fuzz_targets` and a folder of the corpus.
pub const TARGETS: [(&str, Target); 16] = [
    ("arrow", arrow),
    ("block_open", block_open),
    ("block_repaired", block_repaired),
    ("extremes", extremes),
    ("merge", merge),
    ("otlp_json", otlp_json),
    ("otlp_proto", otlp_proto),
    ("parquet", parquet),
    ("prometheus_proto", prometheus_proto),
    ("prometheus_text", prometheus_text),
    ("remap", remap),
    ("remote_write", remote_write),
    ("select", select),
    ("series_json", series_json),
    ("tsdb_index", tsdb_index),
    ("tsdb_wal", tsdb_wal),
];
