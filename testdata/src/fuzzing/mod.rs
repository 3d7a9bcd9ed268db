//! What fuzzers call: a function from bytes for each target, which panics where a promise is broken.
//!
//! They are here and not in `fuzz/`, so that the corpus runs again in ordinary tests, without a fuzzer and its
//! toolchain.
//!
//! | module | what is in it |
//! |---|---|
//! | `block` | blocks: any bytes, mutated goldens with right checksums |
//! | `extremes` | every public function of a view, called with any numbers |
//! | `input` | inputs of ingest: a request of OTLP, a capture of series |
//! | `merge` | a few such blocks merged, with any options |
//! | `mutation` | goldens changed as a program of bytes says |
//! | `otlp_proto` | a request of OTLP as protobuf, beside a generated decoder |
//! | `program` | bytes read as choices and numbers |
//! | `prometheus` | what Prometheus writes: text, protobuf, requests of remote write, indices of blocks, write-ahead logs |
//! | `rebuild` | blocks built anew from what is read from them |
//! | `remap` | remaps: any bytes, and built ones that are changed, with right checksums |
//! | `select` | queries of blocks beside a plain filter |
//! | `sound` | what must hold for a block that verifies |

mod block;
mod extremes;
mod input;
mod merge;
mod mutation;
mod otlp_proto;
mod program;
mod prometheus;
pub mod rebuild;
mod remap;
mod select;
pub mod sound;

pub use block::{block_open, block_repaired, mutated_block};
pub use extremes::{CALLS, call_block, call_remap, extremes};
pub use input::{otlp_json, series_json};
pub use merge::merge;
pub use otlp_proto::{Parts, otlp_proto};
pub use prometheus::{prometheus_proto, prometheus_text, remote_write, tsdb_index, tsdb_wal};
pub use remap::remap;
pub use select::select;

/// Function that a fuzzer calls with any bytes. Panics if a promise is broken.
pub type Target = fn(&[u8]);

/// The targets by name. Each is also a file in `fuzz/fuzz_targets` and a folder of the corpus.
pub const TARGETS: [(&str, Target); 14] = [
    ("block_open", block_open),
    ("block_repaired", block_repaired),
    ("extremes", extremes),
    ("merge", merge),
    ("otlp_json", otlp_json),
    ("otlp_proto", otlp_proto),
    ("prometheus_proto", prometheus_proto),
    ("prometheus_text", prometheus_text),
    ("remap", remap),
    ("remote_write", remote_write),
    ("select", select),
    ("series_json", series_json),
    ("tsdb_index", tsdb_index),
    ("tsdb_wal", tsdb_wal),
];
