//! From captures and generated workloads to merged blocks: series, sizes and plans.

#[path = "../../../ingest/tests/canonical/mod.rs"]
mod canonical;
mod compaction;
mod memory_limits;
mod planner_golden;
mod sampled_plans;
mod sizes;
