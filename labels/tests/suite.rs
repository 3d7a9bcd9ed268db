//! Tests that share a program: see CONTRIBUTING.md.

mod conformance;
mod insert_ids;
mod seal;
