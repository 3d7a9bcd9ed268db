//! Parquet files and Arrow IPC: series of all types of columns, damaged and truncated files, other writers.

mod arrow_files;
#[path = "../canonical/mod.rs"]
mod canonical;
mod damage;
mod ipc;
mod layouts;
mod oracle;
mod parquet;
mod schema;
mod tables;
mod values;
mod writers;
