//! The command `chronoxide-ingest`.

mod archives;
mod buckets;
#[path = "../../../ingest/tests/canonical/mod.rs"]
mod canonical;
mod cases;
mod chunks;
mod columns;
mod command;
mod compare;
mod exports;
mod folders;
mod hostile;
mod locations;
mod memory;
mod messages;
mod path_labels;
mod prometheus_damage;
mod prometheus_data;
#[allow(dead_code, reason = "each test program uses its part")]
#[path = "../../../ingest/tests/columns/tables.rs"]
mod tables;
mod times;
