//! Division of the plans that read series among machines.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;

use crate::label_counts::LabelCountsExec;
use crate::series_exec::SeriesExec;

/// Returns the number of machines that can share a plan that reads series, or `None` for another plan. More would get
/// too few series each.
#[must_use]
pub fn task_count(plan: &dyn ExecutionPlan) -> Option<usize> {
    let series = plan.downcast_ref::<SeriesExec>();
    Some(series.or_else(|| Some(plan.downcast_ref::<LabelCountsExec>()?.series()))?.task_count())
}

/// Divides a plan that reads series into plans for several machines, or returns `None` for another plan. Each series is
/// read by one of them, and all have the same number of partitions.
#[must_use]
pub fn split(plan: &dyn ExecutionPlan, plan_count: usize) -> Option<Result<Vec<Arc<dyn ExecutionPlan>>>> {
    fn shared<P: ExecutionPlan + 'static>(plans: Vec<P>) -> Vec<Arc<dyn ExecutionPlan>> {
        plans.into_iter().map(|plan| Arc::new(plan) as Arc<dyn ExecutionPlan>).collect()
    }
    if let Some(series) = plan.downcast_ref::<SeriesExec>() {
        return Some(series.split(plan_count).map(shared));
    }
    let counts = plan.downcast_ref::<LabelCountsExec>()?;
    Some(counts.split(plan_count).map(shared))
}
