//! Parquet files and Arrow IPC: series of all types of columns, damaged and truncated files, other writers.

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../canonical/mod.rs"]
mod canonical;
mod command;
mod damage;
mod ipc;
mod oracle;
mod parquet;
mod schema;
mod tables;
