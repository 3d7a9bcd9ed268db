//! Tests that share a program: see CONTRIBUTING.md.

mod acceptance;
mod agreement;
mod block_set;
mod compaction;
mod corpus;
mod decoder;
mod extremes;
mod goldens;
mod memory_limits;
mod metrics;
mod otlp_proto;
mod planner_golden;
mod plans;
mod prometheus_matchers;
mod remap;
mod remap_files;
mod remap_targets;
mod resolve_many;
mod rule_classes;
mod sampled_plans;
mod select;
mod select_compacted;
mod select_forged;
mod select_rules;
mod spec;
mod split_lists;
