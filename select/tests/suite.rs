//! Tests that share a program: see CONTRIBUTING.md.

mod postings;
mod prometheus;
mod prometheus_matchers;
mod select;
mod select_forged;
mod select_rules;
