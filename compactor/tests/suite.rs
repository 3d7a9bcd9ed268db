//! Tests that share a program: see CONTRIBUTING.md.

mod changing;
mod claims;
mod command;
mod damaged_inputs;
mod external_labels;
mod folder;
mod follow;
mod merge;
mod read_only;
mod remap;
mod rewrite;
mod sampled;
mod shards;
mod strategy;
mod strategy_screen;
mod support;
