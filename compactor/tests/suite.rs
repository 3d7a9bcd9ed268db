//! Tests that share a program: see CONTRIBUTING.md.

mod block_set;
mod changing;
mod columns;
mod damaged_inputs;
mod merge;
mod remap;
mod rewrite;
mod sampled;
mod select_compacted;
mod shards;
mod strategy;
mod support;
