//! Schedules: jobs that run in any order, twice, or after a fault, and what readers see meanwhile.

#[path = "../support/mod.rs"]
mod support;

mod claims;
mod deletion;
mod faults;
mod forged;
mod reading;
mod scene;
mod whole;
