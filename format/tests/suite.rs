//! Tests that share a program: see CONTRIBUTING.md.

mod agreement;
mod decoder;
mod extremes;
mod goldens;
mod metrics;
mod plans;
mod remap;
mod remap_files;
mod remap_targets;
mod resolve_many;
mod rule_classes;
mod spec;
mod split_lists;
