//! Plans: jobs that run in any order, twice, or after a fault, and what readers see meanwhile.

#[path = "../support/mod.rs"]
mod support;

mod command;
mod deletion;
mod faults;
mod forged;
mod kills;
mod reading;
mod scene;
mod whole;
