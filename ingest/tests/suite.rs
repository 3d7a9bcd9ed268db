//! Tests that share a program: see CONTRIBUTING.md.

mod blocks;
mod caches;
mod canonical;
mod captures;
mod clients;
mod compressed;
mod csv;
mod input_labels;
mod inputs;
mod otlp_proto;
mod prometheus_labels;
mod prometheus_proto;
mod prometheus_remote_write;
mod prometheus_series;
mod prometheus_text;
mod prometheus_tsdb;
mod prometheus_wal;
mod taken;
mod threads;
mod truncation;
mod tsdb_numbers;
