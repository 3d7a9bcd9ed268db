//! Sessions of DataFusion that know tables of series and workers.

use std::sync::{Arc, LazyLock};

use chronoxide::OpenOptions;
use chronoxide_datafusion::{SeriesCodec, split, task_count};
use datafusion::error::Result;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionContext;
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedExt, DistributedLeafExec, ScaleUpLeafNodeEvent,
    ScaleUpLeafNodeEventResponse, SessionStateBuilderExt, WorkerQueryContext, WorkerResolver,
};
use url::Url;

/// The codec of this process. Blocks are read into memory: on machines with published blocks only, [`OpenOptions::map`]
/// needs less.
static CODEC: LazyLock<Arc<SeriesCodec>> = LazyLock::new(|| Arc::new(SeriesCodec::new(OpenOptions::new())));

/// Addresses of the workers.
#[derive(Debug)]
struct Workers(Vec<Url>);

impl WorkerResolver for Workers {
    fn get_urls(&self) -> Result<Vec<Url>> {
        Ok(self.0.clone())
    }
}

/// Returns a session that plans queries and sends parts of them to workers, if there are any.
pub(crate) fn coordinator(workers: Vec<Url>) -> SessionContext {
    let mut state = SessionStateBuilder::new().with_default_features();
    if !workers.is_empty() {
        state = state
            .with_distributed_worker_resolver(Workers(workers))
            .with_distributed_planner()
            .with_distributed_user_codec_arc(CODEC.clone())
            .with_distributed_desired_task_count_handler(desired_task_count)
            .with_distributed_scale_up_leaf_node_handler(scale_up);
    }
    let context = SessionContext::from(state.build());
    chronoxide_datafusion::register(&context);
    context
}

/// Returns the session of a worker for a part of a query.
pub(crate) async fn worker_session(query: WorkerQueryContext) -> Result<SessionState> {
    Ok(query.builder.with_distributed_user_codec_arc(CODEC.clone()).build())
}

fn desired_task_count(event: DesiredTaskCountEvent<'_>) -> Option<Result<DesiredTaskCountEventResponse>> {
    Some(Ok(DesiredTaskCountEventResponse::desired(task_count(&**event.plan)?)))
}

fn scale_up(event: ScaleUpLeafNodeEvent<'_>) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
    let parts = split(&**event.plan, event.task_count)?;
    let leaf = parts.and_then(|parts| DistributedLeafExec::try_new(Arc::clone(event.plan), parts));
    Some(leaf.map(|leaf| ScaleUpLeafNodeEventResponse::new(Arc::new(leaf))))
}
