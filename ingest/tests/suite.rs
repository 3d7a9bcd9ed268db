//! Tests that share a program: see CONTRIBUTING.md.

mod blocks;
mod caches;
mod canonical;
mod captures;
mod clients;
mod compressed;
mod damage;
mod inputs;
mod open_metrics_proto;
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
mod tsdb_damage;
mod tsdb_deletions;
mod tsdb_external_labels;
mod tsdb_folder;
mod tsdb_numbers;
mod wal_rescue;
