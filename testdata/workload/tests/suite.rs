//! Tests that share a program: see CONTRIBUTING.md.

mod churn;
mod command;
mod formats;
mod frozen;
mod oracle;
mod properties;
mod size;
